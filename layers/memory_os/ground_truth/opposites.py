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
from memory_os.ground_truth.values import named, values

# Of the units that name what the line is about, the output or what the tool was given must have; or both of them these.
_HEAD_SHARE = 0.5
_BOTH_SHARE = 1 / 3
# Where a thing is says nothing of which thing it is.
_PLACE = re.compile(r"(?:^|\s)(?:on|in|at|auf|im|in|am|bei|no|na|nos|nas|em|на|в|على|في)\s")
_COPULA = re.compile(r"\b(?:is|are|ist|sind|läuft|é|está)\s")
_SUBJECT_SHARE = 1 / 3
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
        if not _on_one_side(line, mine):
            continue
        found = _piece_against(mine, line, arguments, pieces)
        if found:
            return found
    return ""


def _on_one_side(line: str, mine: Pole) -> bool:
    """A line that says both ("off, but on at night") is no statement to contradict."""
    return all(other.pole == mine.pole for other in poles(line) if other.axis == mine.axis)


def opposed(line: str, answer: str) -> bool:
    """Whether an answer says nothing but the opposite of a line, on whatever it was found: it did not use that line."""
    said = {(one.axis, one.pole) for one in poles(answer)}
    mine = [one for one in poles(line) if (one.axis, -one.pole) in said or (one.axis, one.pole) in said]
    return bool(mine) and all((one.axis, one.pole) not in said for one in mine)


def _piece_against(mine: Pole, line: str, arguments: str, pieces: Sequence[str]) -> str:
    """A piece that has the opposite, of this subject, where no piece of this subject has the same."""
    head, paths = _head(line, mine), [value for value in values(line) if "." in value or "/" in value]
    asked = _has(head, arguments)
    found = ""
    for piece in pieces:
        said = {one.pole for one in poles(piece) if one.axis == mine.axis}
        if not said or not (asked or _has(head, piece) or _in_both(head, piece, arguments) or _of_a_path(paths, piece)):
            continue
        if mine.pole in said:
            return ""
        found = found or piece
    return found


def _head(line: str, mine: Pole) -> list[str]:
    """The units that name the subject: before the word that says how it is, or after it where it comes first."""
    normal = folded(line)
    before, after = normal[: mine.start], normal[mine.end :]
    place = _PLACE.search(before)
    if place and before[: place.start()].strip():
        before = before[: place.start()]
    elif place:  # "Auf dem Rechner ist das Programm …"
        before = before[copula.end() :] if (copula := _COPULA.search(before)) else before
    one, other = _specific(before), _specific(after)
    # "电脑已安装 ffmpeg": the Latin name in another script is the subject, on whichever side it stands.
    return other if not one or (_latin(other) and not _latin(one)) else one


def _specific(text: str) -> list[str]:
    """Without words for kinds of things; of a text in another script, the Latin names in it where it has any."""
    found = [unit for unit in units(text) if unit not in _KINDS]
    latin = [unit for unit in found if _latin([unit])]
    return latin if latin and not _latin(folded(text).split()) else found


def _latin(words: Sequence[str]) -> bool:
    return bool(words) and all(char < "\u0370" for word in words for char in word)


def _has(head: Sequence[str], text: str, least: float = _HEAD_SHARE) -> bool:
    found = len(head) - len(missing(head, units(text)))
    return found >= 1 and found >= least * len(head)


def _in_both(head: Sequence[str], piece: str, arguments: str) -> bool:
    """A name among other words of the line, which the command asked for and the piece speaks of."""
    return _has(head, piece, _BOTH_SHARE) and _has(head, arguments, _BOTH_SHARE)


def _of_a_path(paths: Sequence[str], piece: str) -> bool:
    return any(named(path, set(values(piece))) for path in paths)


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
