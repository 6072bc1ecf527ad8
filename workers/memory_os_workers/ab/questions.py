"""The question sets of `memory-os ab`: what is stored first, what is asked, and when an answer is right. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_os.errors import BadRequest
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

STARTER = Path(__file__).with_name("starter.yaml")


@dataclass(frozen=True, slots=True)
class Question:
    """`accept`: one of them must stand in the answer; `required`: every one; `exact`: one must be all of it.
    `free` questions need no memory, and must not get worse with it."""

    ask: str
    accept: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    free: bool = False

    @property
    def expected(self) -> str:
        return " and ".join(self.required) or " or ".join(self.accept or self.exact)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    project: str
    memories: tuple[str, ...]
    questions: tuple[Question, ...]


def load(path: Path) -> QuestionSet:
    """Read a set. Raises BadRequest for one that can't be used."""
    try:
        data = YAML(typ="safe").load(path.read_text("utf-8"))
    except OSError as error:
        raise BadRequest(f"{path} can't be read: {error.strerror}.") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise BadRequest(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(data, dict):
        raise BadRequest(f"{path} must hold `memories`, `questions` and `free`.")
    questions = [_question(one, free=False) for one in data.get("questions") or []]
    questions += [_question(one, free=True) for one in data.get("free") or []]
    if not questions:
        raise BadRequest(f"{path} holds no questions.", cure=f"{STARTER} shows the form.")
    return QuestionSet(str(data.get("project") or path.stem), _texts(data.get("memories")), tuple(questions))


def is_right(question: Question, answer: str) -> bool:
    """By the question's stated rule; case, width and accents don't count, whole words do."""
    said = _folded(answer)
    if question.exact:
        return said.strip(" .!") in {_folded(one) for one in question.exact}
    if question.required:
        return all(_stands(one, said) for one in question.required)
    return any(_stands(one, said) for one in question.accept)


def _stands(wanted: str, said: str) -> bool:
    """A number or a short word only as a whole; a longer one may go on (`wader` in `waders`)."""
    folded = re.escape(_folded(wanted))
    end = r"(?![\w])" if len(wanted) < 4 or wanted[-1:].isdigit() else ""
    return bool(re.search(rf"(?<![\w]){folded}{end}", said)) or (not wanted.isascii() and _folded(wanted) in said)


def _question(data: Any, *, free: bool) -> Question:
    ask = data.get("ask") if isinstance(data, dict) else None
    rules = {name: _texts(data.get(name)) for name in ("accept", "all", "exact")} if isinstance(data, dict) else {}
    if not isinstance(ask, str) or not any(rules.values()):
        raise BadRequest(f"A question needs `ask` and one of `accept`, `all`, `exact`: {str(data)[:80]}.")
    return Question(ask, rules["accept"], rules["all"], rules["exact"], free)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else (str(value),) if value else ()


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return " ".join("".join(char for char in decomposed if not unicodedata.combining(char)).split())
