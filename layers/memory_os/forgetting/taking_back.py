"""A person says "forget that": what is said of it to the agent in that turn, and the forgetting, in the background."""

from __future__ import annotations

import time
from collections.abc import Callable

from memory_os.constants import FENCE_CLOSE, FENCE_OPEN
from memory_os.forgetting.forget import Forget
from memory_os.index import Index
from memory_os.recall import Query, Recalled
from memory_os.recall.ledger import Ledger, Record
from memory_os.recall.rendering import PREAMBLE
from memory_os.sessions.archive import source_of
from memory_os.sessions.taken_back import done, preceding, waiting
from memory_os.store import Store
from memory_os.text import token_estimate
from memory_os.text.withdrawal import orders_forgetting, takes_back
from memory_os.understanding.scopes import scope_of_key

_GOES = "what was said just before this message leaves memory-os with this turn; Hermes's own history keeps its copy"
_ASK = "what was said just before this message; if the person means that, memory_forget with these ids deletes it"


class TakingBack:
    """Thread-safe."""

    def __init__(self, store: Store, index: Index, forgetting: Forget, ledger: Ledger) -> None:
        self._store = store
        self._index = index
        self._forgetting = forgetting
        self._ledger = ledger
        self.forgotten: Callable[[], None] = lambda: None

    def told(self, query: Query, before: str) -> Recalled | None:
        """What a turn gets in which something is taken back, recorded in the ledger; None in all others.

        It names ids, and quotes nothing: no line of it counts as given.
        """
        started = time.perf_counter()
        handles = self._meant(query, before) if before and takes_back(query.text) else []
        if not handles:
            return None
        line = f"- ({') ('.join(handles)}) {_GOES if orders_forgetting(query.text) else _ASK}"
        context = f"{FENCE_OPEN}\n{PREAMBLE}\n[sessions]\n{line}\n{FENCE_CLOSE}"
        reason = f"something is taken back: {', '.join(handles)}"
        milliseconds, tokens = (time.perf_counter() - started) * 1e3, token_estimate(context)
        self._ledger.write(Record(query, "injected", reason, milliseconds, tokens, {}, ()))
        return Recalled(context, "injected", reason, milliseconds=milliseconds, tokens=tokens)

    def _meant(self, query: Query, before: str) -> list[str]:
        """The ids of what was said in the turn directly before."""
        meant = preceding(self._store.row, query.session_id, query.scope.key, before)
        if meant is None:
            return []
        turn = (meant["turn_id"], query.scope.key)
        rows = self._store.rows("SELECT id FROM messages WHERE turn_id = ? AND scope = ? ORDER BY id", turn)
        return [one.handle for row in rows for one in self._index.of_source(source_of(row["id"]))[:1]]

    def carry_out(self, now: float) -> int:
        """Forget what was taken back, everywhere. Returns how many turns. Raises what memory.db raises."""
        found = waiting(self._store)
        for one in found:
            self._forgetting.turn(one.turn_id, scope_of_key(one.scope), now)
            done(self._store, one)
            self._store.count("taken_back", reason=one.turn_id)
        if found:
            self.forgotten()
        return len(found)
