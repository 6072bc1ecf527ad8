"""A memo of functions of a text that is bounded by what it holds: of long texts it keeps fewer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Remembered", "remembered"]

_T = TypeVar("_T")


class Remembered(Generic[_T]):
    """Thread-safe. Keeps the results for the texts asked for last: at most `most` of them, and of `characters` together."""

    def __init__(self, work: Callable[[str], _T], most: int, characters: int) -> None:
        self.characters = 0
        self._work = work
        self._most = most
        self._characters_most = characters
        self._known: OrderedDict[str, _T] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> _T:
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
                return self._known[text]
        result = self._work(text)
        with self._lock:
            if text not in self._known:
                self.characters += len(text)
            self._known[text] = result
            while len(self._known) > self._most or (self.characters > self._characters_most and len(self._known) > 1):
                self.characters -= len(self._known.popitem(last=False)[0])
        return result

    def __len__(self) -> int:
        return len(self._known)


def remembered(*, most: int, characters: int) -> Callable[[Callable[[str], _T]], Remembered[_T]]:
    """`functools.lru_cache` for a function of one text, with a bound in characters too."""
    return lambda work: Remembered(work, most, characters)
