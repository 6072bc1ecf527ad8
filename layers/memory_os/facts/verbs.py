"""What can be done to a fact: remember, correct, edit, remove, rate, mark, undo, forget.

Each verb is one transaction of memory.db, its passage in the index included. Inside one, rows are read on the writing
connection, since readers don't see what isn't committed.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_os.errors import BadRequest
from memory_os.facts import trust
from memory_os.facts.changes import Change, last_change, log_change, mark_undone, restated_texts
from memory_os.facts.fact import CURRENT, FACT_SELECT, Fact, Imported, Remembered, Statement, Undone, fact_of
from memory_os.facts.holographic import HolographicFact, read_holographic
from memory_os.facts.tools import FactTools
from memory_os.facts.writing import FactWriter
from memory_os.memory import Author, Scope, content_hash
from memory_os.store import Row, tombstones
from memory_os.tooling import Arguments, Caller

# A passage's trust is written again when it is off by more than what is shown (two decimals).
TRUST_STEP = 0.005


class Facts(FactWriter):
    """Layer 3. Constructed once by the engine; safe to call from many threads."""

    def tools(self) -> dict[str, Callable[[Arguments, Caller], dict[str, Any]]]:
        return FactTools(self).table()

    # -- stating ---------------------------------------------------------------------------------------------------

    def state(self, statement: Statement, now: float) -> Remembered:
        """Keep one fact; a restatement strengthens the fact there is.

        Says whether it merged, what was redacted, and which facts it may contradict. Raises BadRequest for bad text or
        category.
        """
        clean, redacted = self._prepared(statement)
        with self.store.write() as db:
            same = self._restated(db, clean, now)
            if same is not None:
                fact, _ = self._strengthen(db, same, clean, now)
                return Remembered(fact, merged=True, redacted=redacted)
            fact = self._insert(db, clean, now)
            log_change(db, Change("add", fact.id, turn=clean.evidence), now)
            return Remembered(fact, redacted=redacted, conflicts=self._compared(db, fact, now))

    def find_same(self, db: sqlite3.Connection, statement: Statement, now: float) -> Fact | None:
        """The live fact that this statement would only say again. Raises BadRequest for bad text or category."""
        clean, _ = self._prepared(statement)
        return self._restated(db, clean, now)

    def correct(self, fact: Fact, statement: Statement, now: float) -> Remembered:
        """Let a new statement take the place of a live fact, which is kept as history.

        The new fact's trust starts at the prior: evidence for the old text says nothing of the new one. The same text
        changes nothing. Raises BadRequest if `fact` is no longer live.
        """
        clean, redacted = self._prepared(statement)
        with self.store.write() as db:
            old = self._live(db, fact)
            if old.text == clean.text:
                return Remembered(old, merged=True, redacted=redacted)
            same = self._restated(db, clean, now, other_than=old.id)
            detail: dict[str, Any] = {"valid_to": old.valid_to, "created": same is None, "weight": 0.0}
            if same is None:
                new = self._insert(db, clean, now)
            else:
                new, detail["weight"] = self._strengthen(db, same, clean, now, log=False)
            db.execute("UPDATE facts SET superseded_by = ?, valid_to = ? WHERE id = ?", (new.id, now, old.id))
            self.index.update(old.passage_id, valid_to=now, archived=True)
            log_change(db, Change("supersede", old.id, new.id, clean.evidence, detail), now)
            conflicts = self._compared(db, new, now) if same is None else ()
            return Remembered(new, merged=same is not None, redacted=redacted, conflicts=conflicts)

    def edit(self, fact: Fact, now: float, *, turn: str = "", **changes: Any) -> Fact:
        """Change what isn't the text: category, tags, entities, valid_from, valid_to. Undoable."""
        with self.store.write() as db:
            old = self._live(db, fact)
            before = {key: getattr(old, key) for key in changes}
            log_change(db, Change("edit", old.id, turn=turn, detail=before), now)
            return self._changed(db, old.id, changes, now)

    def retire(self, fact: Fact, now: float, *, turn: str = "") -> Fact:
        """Remove a live fact from every answer. Undoable; `forget` is what deletes."""
        with self.store.write() as db:
            old = self._live(db, fact)
            log_change(db, Change("remove", old.id, turn=turn, detail={"valid_to": old.valid_to}), now)
            return self._retired(db, old.id, now)

    def merge(self, duplicate: Fact, kept: Fact, now: float) -> Fact:
        """Let a live fact stand for another of its scope that states the same; the other stays as history.

        It counts as a restatement, unless both came from one turn. Undoable on the duplicate. Raises BadRequest if either
        is no longer live, or they are not two facts of one scope.
        """
        if duplicate.id == kept.id or duplicate.scope != kept.scope:
            raise BadRequest("Only two facts of one person can be merged.")
        with self.store.write() as db:
            old, into = self._live(db, duplicate), self._live(db, kept)
            weight = trust.RESTATEMENT if not old.evidence or old.evidence != into.evidence else 0.0
            into = self._counted(db, into, weight, 0.0, now)
            db.execute("UPDATE facts SET superseded_by = ?, valid_to = ? WHERE id = ?", (into.id, now, old.id))
            self.index.update(old.passage_id, valid_to=now, archived=True)
            detail = {"valid_to": old.valid_to, "created": False, "weight": weight}
            log_change(db, Change("supersede", old.id, into.id, detail=detail), now)
            return into

    def supersede(self, old: Fact, new: Fact, at: float, *, turn: str = "", born: bool = False) -> Fact:
        """Let one live fact take the place of another of its scope from `at` on; the old one stays as history.

        `at` in epoch seconds. Undoable on either; `born`: the new one came by this step, and goes when it is undone.
        Returns the new one. Raises BadRequest if either is no longer live, or they are not two facts of one scope.
        """
        if old.id == new.id or old.scope != new.scope:
            raise BadRequest("A fact can't take its own place.", cure="Give two different ids: fact_id and other_id.")
        with self.store.write() as db:
            before, after = self._live(db, old), self._live(db, new)
            until = at if before.valid_to is None else min(at, before.valid_to)
            db.execute("UPDATE facts SET superseded_by = ?, valid_to = ? WHERE id = ?", (after.id, until, before.id))
            self.index.update(before.passage_id, valid_to=until, archived=True)
            detail = {"valid_to": before.valid_to, "created": born, "weight": 0.0}
            log_change(db, Change("supersede", before.id, after.id, turn, detail), at)
            return after

    # -- trust -----------------------------------------------------------------------------------------------------

    def feedback(self, fact: Fact, helpful: bool, now: float, *, turn: str = "") -> Fact:
        """Count an explicit verdict; the same verdict in the same turn counts once."""
        return self._weigh(fact, trust.FEEDBACK * helpful, trust.FEEDBACK * (not helpful), now, turn=turn)

    def adjust(self, fact: Fact, delta: float, now: float, *, turn: str = "") -> Fact:
        """Move the mean trust by `delta`, as far as `trust.weights_for_shift` goes."""
        support, against = trust.weights_for_shift(self.posterior(fact, now), delta)
        return self._weigh(fact, support, against, now, turn=turn)

    def observe_use(self, fact_id: int, used: bool, weight: float, now: float) -> None:
        """Count what an answer did with an injected fact: used it, or (used=False) went against it.

        `weight` is usually trust.OBSERVED_USE or OBSERVED_CONTRADICTION, and is held inside [0, FEEDBACK]: an
        observation never outweighs a verdict. An unknown id is ignored, the fact may have been forgotten meanwhile.
        """
        amount = min(max(weight, 0.0), trust.FEEDBACK)
        with self.store.write() as db:
            row = db.execute(f"{FACT_SELECT} WHERE f.id = ?", (fact_id,)).fetchone()
            if row is not None:
                self._counted(db, fact_of(row), amount * used, amount * (not used), now)

    def refresh_trust(self, now: float) -> int:
        """Write the faded means into the passages that show an older one. Returns how many changed."""
        stale = self.faded_trust(now)
        with self.store.write() as db:
            for row in stale:
                fresh = self._row(db, row["id"])
                if fresh is not None:
                    self._show_trust(db, fresh, now)
        return len(stale)

    def faded_trust(self, now: float) -> list[Row]:
        """The facts whose passages show an older mean than theirs at `now`."""
        rows = self.store.rows(f"{FACT_SELECT} WHERE f.support + f.against > 0 AND {CURRENT}", {"now": now})
        return [row for row in rows if abs(self.posterior(fact_of(row), now).mean - row["shown_trust"]) > TRUST_STEP]

    # -- disagreement ----------------------------------------------------------------------------------------------

    def mark(self, one: Fact, other: Fact, now: float, *, consistent: bool = False) -> bool:
        """Record that two facts contradict, or that they turned out consistent.

        A recorded contradiction stays recorded whatever is judged later. The first one weighs a little against both.
        Returns whether one is recorded now. Raises BadRequest for a fact with itself, or with one of another scope.
        """
        if one.id == other.id or one.scope != other.scope:
            raise BadRequest("A fact can't contradict itself.", cure="Give two different ids: fact_id and other_id.")
        pair = (min(one.id, other.id), max(one.id, other.id))
        with self.store.write() as db:
            known = db.execute("SELECT marked_at FROM fact_conflicts WHERE a = ? AND b = ?", pair).fetchone()
            db.execute("INSERT OR IGNORE INTO fact_conflicts(a, b, found_at) VALUES(?, ?, ?)", (*pair, now))
            column = "consistent_at" if consistent else "marked_at"
            db.execute(
                f"UPDATE fact_conflicts SET {column} = coalesce({column}, ?) WHERE a = ? AND b = ?",
                (now, *pair),
            )
            recorded = known is not None and known["marked_at"] is not None
            if not consistent and not recorded:
                for fact in (self._fresh(db, one), self._fresh(db, other)):
                    self._counted(db, fact, 0.0, trust.MUTUAL_CONTRADICTION, now)
            return recorded or not consistent

    def propose(self, one: Fact, other: Fact, now: float) -> None:
        """Note that one of two facts may have taken the other's place: both stand, until somebody says."""
        pair = (min(one.id, other.id), max(one.id, other.id))
        with self.store.write() as db:
            db.execute("INSERT OR IGNORE INTO fact_conflicts(a, b, found_at) VALUES(?, ?, ?)", (*pair, now))

    # -- taking back -----------------------------------------------------------------------------------------------

    def undo(self, fact: Fact, now: float) -> Undone:
        """Take back the latest step that concerned this fact; again, the one before.

        Raises BadRequest if there is none, or if a later step on the other fact stands in the way.
        """
        with self.store.write() as db:
            change = last_change(db, fact.id)
            if change is None:
                raise BadRequest(f"There is nothing to undo on {fact.handle}.")
            after = getattr(self, f"_undo_{change.action}")(db, change, now)
            mark_undone(db, change, now)
            return Undone(change.action, after)

    def forget(self, fact_id: int, now: float) -> list[Fact]:
        """Delete a fact and its earlier versions, everywhere in this layer and in the index; nothing to undo.

        Leaves hashes only, so that an import doesn't bring the text back. Returns what was deleted (empty if unknown).
        The caller has checked whose fact it is.
        """
        with self.store.write() as db:
            rows = db.execute(
                "WITH RECURSIVE gone(id) AS (VALUES(?) UNION SELECT f.id FROM facts f JOIN gone"
                f" ON f.superseded_by = gone.id) {FACT_SELECT} WHERE f.id IN (SELECT id FROM gone)",
                (fact_id,),
            ).fetchall()
            gone = [fact_of(row) for row in rows]
            for fact in gone:
                texts = [fact.text, *restated_texts(db, fact.id)]
                imports = db.execute("SELECT hash FROM fact_imports WHERE fact_id = ?", (fact.id,)).fetchall()
                hashes = [row["hash"] for row in imports] + [content_hash(text) for text in texts]
                # A clock that was set back must not make it seem said anew since.
                tombstones.bury(db, fact.scope, hashes, max(now, fact.created_at))
                self.index.remove(fact.source)
            db.executemany("UPDATE facts SET superseded_by = NULL WHERE id = ?", [(fact.id,) for fact in gone])
            db.executemany("DELETE FROM facts WHERE id = ?", [(fact.id,) for fact in gone])
            return gone

    # -- other databases -------------------------------------------------------------------------------------------

    def import_holographic(self, path: Path, scope: Scope) -> Imported:
        """Take over the facts of the host's holographic provider (`memory_store.db`), which is only read.

        Again it changes nothing: a fact is known by the hash of its text there. What was forgotten here is skipped. A
        missing file is empty. Raises HostError if it can't be read.
        """
        outcomes: Counter[str] = Counter()
        for record in read_holographic(path):
            with self.store.write() as db:
                outcome = self._taken_over(db, record, scope)
            outcomes[outcome] += 1
        added, unchanged = outcomes.pop("added", 0), outcomes.pop("unchanged", 0)
        return Imported(added, unchanged, dict(outcomes))

    def _taken_over(self, db: sqlite3.Connection, record: HolographicFact, scope: Scope) -> str:
        """`added`, `unchanged`, or why it was skipped."""
        key = (scope.key, content_hash(record.text))
        if db.execute("SELECT 1 FROM fact_imports WHERE scope = ? AND hash = ?", key).fetchone():
            return "unchanged"
        if tombstones.forgotten_of(db, scope.own, key[1]) is not None:
            return "forgotten"
        try:
            clean, _ = self._prepared(record.statement(scope))
        except BadRequest:
            return "empty or too long"
        same = self._restated(db, clean, record.created_at)
        fact = same or self._insert(db, clean, record.created_at, record.evidence)
        db.execute("INSERT INTO fact_imports(scope, hash, fact_id) VALUES(?, ?, ?)", (*key, fact.id))
        if same is None:
            self._compared(db, fact, fact.created_at)
        return "added" if same is None else "unchanged"

    # -- steps taken back ---------------------------------------------------------------------------------------------

    def _undo_add(self, db: sqlite3.Connection, change: Change, now: float) -> Fact:
        return self._retired(db, change.fact_id, now)

    def _undo_remove(self, db: sqlite3.Connection, change: Change, now: float) -> Fact:
        db.execute(
            "UPDATE facts SET removed_at = NULL, valid_to = ? WHERE id = ?", (change.detail["valid_to"], change.fact_id)
        )
        return self._reindexed(db, change.fact_id, now)

    def _undo_edit(self, db: sqlite3.Connection, change: Change, now: float) -> Fact:
        return self._changed(db, change.fact_id, change.detail, now)

    def _undo_feedback(self, db: sqlite3.Connection, change: Change, now: float) -> Fact:
        return self._uncounted(db, change.fact_id, change, now)

    def _undo_merge(self, db: sqlite3.Connection, change: Change, now: float) -> Fact:
        """The restatement becomes a fact of its own, and its weight leaves the other."""
        self._uncounted(db, change.fact_id, change, now)
        said = dict(change.detail)
        said_at = said.pop("said_at")
        del said["weight"]
        lists = {key: tuple(said[key]) for key in ("tags", "entities")}
        scope, author = Scope(**said["scope"]), Author(said["author"])
        return self._insert(db, Statement(**{**said, **lists, "scope": scope, "author": author}), said_at)

    def _undo_supersede(self, db: sqlite3.Connection, change: Change, now: float) -> Fact:
        """The old text stands again; the new one goes, if it came by this step."""
        if change.other_id is None:
            raise BadRequest("The fact that took its place is gone; state the old one again.")
        new = self._row(db, change.other_id)
        if new is None or not new.live:
            name = "the newer fact" if new is None else new.handle
            raise BadRequest(f"{name} was changed since.", cure="Undo its latest step first.")
        if change.detail["created"]:
            self._retired(db, new.id, now)
        else:
            self._uncounted(db, new.id, change, now)
        db.execute(
            "UPDATE facts SET superseded_by = NULL, valid_to = ? WHERE id = ?",
            (change.detail["valid_to"], change.fact_id),
        )
        return self._reindexed(db, change.fact_id, now)
