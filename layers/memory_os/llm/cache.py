"""Answers of this process by their input: what is used when no model can be reached."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict

from memory_os.llm.messages import Answer, Request
from memory_os.llm.wording import json_schema

ENTRIES = 256
MAX_CHARS = 4_000_000
# Memory goes on; an answer about it of last week is no answer.
KEEP_S = 86_400.0


class AnswerCache:
    """In memory only: what is forgotten elsewhere must not live on in a file here."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._chars = 0

    def put(self, request: Request, answer: Answer, now: float) -> None:
        key = _key(request)
        self._drop(key)
        self._answers[key] = (now, answer)
        self._chars += len(answer.text)
        while self._answers and (len(self._answers) > ENTRIES or self._chars > MAX_CHARS):
            self._drop(next(iter(self._answers)))

    def get(self, request: Request, now: float) -> Answer | None:
        found = self._answers.get(_key(request))
        if found is None or now - found[0] > KEEP_S:
            return None
        return found[1]

    def clear(self) -> None:
        self._answers.clear()
        self._chars = 0

    def _drop(self, key: str) -> None:
        found = self._answers.pop(key, None)
        self._chars -= len(found[1].text) if found else 0


def _key(request: Request) -> str:
    schema = "" if request.schema is None else json.dumps(json_schema(request.schema), sort_keys=True)
    told = [request.job, schema, *((one.role, one.content) for one in request.messages)]
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()
