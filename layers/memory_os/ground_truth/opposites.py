"""Contradiction by words: a tool's output says of a line's subject that it is otherwise, without a digit or a path. Pure.

Shy, because a fact's trust falls by it: the output speaks of the same subject, says the opposite on the same axis
(`polarity`) or another word in the same place, nothing in that output says what the line says, and the answer took it over.
Measured on tests/fixtures/attribution*.json (figures in docs/layers/7-ground-truth.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_os.ground_truth.polarity import Pole, Slot, assigned, folded, poles, slots_named, stated
from memory_os.ground_truth.units import missing, units

# Of the units that name what the line is about, the output (or what the tool was given) must have.
_HEAD_SHARE = 0.5
_SUBJECT_SHARE = 0.4
# A heading stands this many lines above, at most.
_ABOVE = 2
_LONE_WORD = re.compile(r"[*\s]*([A-Za-z][\w./-]{1,40})\s*")
# What says only of which kind a thing is: two services are not one because both are services.
_KINDS = frozenset(
    """service services server file files folder directory machine host computer process program tool package feature flag
    setting database site page system branch status state dienst dienste datei ordner verzeichnis rechner maschine programm
    paket schalter datenbank seite serviço servidor ficheiro arquivo pasta máquina programa pacote página sistema ramo estado
    служба сервис сервер сервере файл папка папке машина программа пакет сайт ветка خدمة خادم ملف مجلد برنامج حزمة موقع
    服 务 文 件 器 夹""".split()  # noqa: SIM905
)


def says_otherwise(line: str, answer: str, arguments: str, pieces: Sequence[str]) -> str:
    """The piece of an output that says otherwise than the line and whose saying the answer took over, or ""."""
    return _opposite(line, answer, arguments, pieces) or _other_word(line, answer, arguments, pieces)


def _opposite(line: str, answer: str, arguments: str, pieces: Sequence[str]) -> str:
    for mine in poles(line):
        against = [one for one in poles(answer) if one.axis == mine.axis]
        if not against or any(one.pole == mine.pole for one in against):
            continue
        head = _head(line, mine)
        if not head or not _on_one_side(line, mine):
            continue
        found = _piece_against(mine, head, arguments, pieces)
        if found:
            return found
    return ""


def _on_one_side(line: str, mine: Pole) -> bool:
    """A line that says both ("off, but on at night") is no statement to contradict."""
    return all(other.pole == mine.pole for other in poles(line) if other.axis == mine.axis)


def _piece_against(mine: Pole, head: Sequence[str], arguments: str, pieces: Sequence[str]) -> str:
    """A piece that has the opposite, of this subject, where no piece of this subject has the same."""
    asked = _has(head, arguments)
    found = ""
    for piece in pieces:
        said = {one.pole for one in poles(piece) if one.axis == mine.axis}
        if not said or not (asked or _has(head, piece)):
            continue
        if mine.pole in said:
            return ""
        found = found or piece
    return found


def _head(line: str, mine: Pole) -> list[str]:
    """The units that name the subject: before the word that says how it is, or after it where it comes first."""
    normal = folded(line)
    before = _specific(normal[: mine.start])
    return before or _specific(normal[mine.end :])


def _specific(text: str) -> list[str]:
    """Without words for kinds of things; of a text in another script, the Latin names in it where it has any."""
    found = [unit for unit in units(text) if unit not in _KINDS]
    latin = [unit for unit in found if all(char < "\u0370" for char in unit)]
    return latin if latin and len(latin) < len(found) else found


def _has(head: Sequence[str], text: str) -> bool:
    found = len(head) - len(missing(head, units(text)))
    return found >= 1 and found >= _HEAD_SHARE * len(head)


# -- another word in the same place --------------------------------------------------------------------------------------


def _other_word(line: str, answer: str, arguments: str, pieces: Sequence[str]) -> str:
    mine = stated(line)
    if not mine:
        return ""
    said = folded(answer)
    for at, piece in enumerate(pieces):
        for other in _given_in(piece, arguments, pieces):
            own = {slot.value for slot in mine if slot.name == other.name}
            if not own or _word_in(other.value, folded(line)) or not _word_in(other.value, said):
                continue
            if any(_word_in(value, said) for value in own):
                continue  # the answer weighs the two; who is right stays open
            context = " ".join((*pieces[max(0, at - _ABOVE) : at + 1], arguments))
            if _of_the_subject(line, other, own, context) and not missing(units(other.between), units(line)):
                return piece
    return ""


def _given_in(piece: str, arguments: str, pieces: Sequence[str]) -> Sequence[Slot]:
    """What a piece gives; of an output that is one word, what the command asked for (`git branch --show-current`)."""
    lone = _LONE_WORD.fullmatch(piece) if len(pieces) == 1 else None
    if lone:
        return [Slot(name, lone[1].casefold()) for name in sorted(slots_named(arguments))]
    return assigned(piece)


def _of_the_subject(line: str, other: Slot, own: set[str], context: str) -> bool:
    about = [unit for unit in units(line) if unit not in _KINDS and unit not in own and other.name not in slots_named(unit)]
    found = len(about) - len(missing(about, units(context)))
    return found >= 1 and found >= _SUBJECT_SHARE * len(about)


def _word_in(word: str, normal: str) -> bool:
    return bool(re.search(rf"(?<![a-z0-9_]){re.escape(word)}(?![a-z0-9_])", normal))
