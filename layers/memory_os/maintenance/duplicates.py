"""The monthly search for facts that were stated twice: what differs only in writing merges, the rest is for a person.

A merge is the facts layer's own step: the duplicate stays as history, points to the fact that stands for it, and comes
back by undo. Never merged, whatever the texts say: a pair whose merge was taken back, that somebody called two facts, or
that is on record as a contradiction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from memory_os.errors import BadRequest
from memory_os.facts import Facts
from memory_os.facts.fact import CURRENT, FACT_SELECT, Fact, fact_of
from memory_os.facts.likeness import near_key
from memory_os.maintenance.duty import Report, Run, excerpt
from memory_os.maintenance.likeness import REVIEW_COSINE, keeper, numbers, restates, same_subject, worth_a_look, written
from memory_os.memory import Layer

# New pairs on the review list a run: a longer list is read by nobody.
REVIEWS_PER_RUN = 50
# Of each scope the newest so many are compared by meaning, in blocks of rows: 5,000 take a second.
_COMPARED = 5000
_BLOCK = 512
_LISTED = 40

_Pair = tuple[int, int]


class Duplicates:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._store = facts.store

    def act(self, run: Run) -> Report:
        """Merge what says the same, and put what may do so on the review list."""
        live = self._live(run.now)
        barred = self._barred()
        merges = list(_merges(live, barred))
        gone = {duplicate.id for duplicate, _ in merges}
        left = [fact for fact in live if fact.id not in gone]
        looks = self._alike(left, barred | self._listed(), run)
        if not run.dry_run:
            merges = [pair for pair in merges if not run.halted() and self._merge(*pair, run)]
            self._note(looks, run.now)
        line = f"{len(merges)} merged, {len(looks)} for review" if not run.dry_run else (
            f"{len(merges)} would merge, {len(looks)} would go to the review list"
        )  # fmt: skip
        details = [f"{one.handle} into {kept.handle}  {excerpt(one.text)}" for one, kept in merges[:_LISTED]]
        details += [f"review {one.handle} and {other.handle}  {excerpt(one.text, 60)} | {excerpt(other.text, 60)}"
                    for one, other, _ in looks[: _LISTED - len(details)]]  # fmt: skip
        return Report(line, tuple(details), figures={"merged": len(merges), "reviews": len(looks)})

    def undo(self, run_id: int, now: float) -> str:
        """Make the merged facts two again, and keep them so. One that was changed since stays as it is, and is named."""
        back, kept = 0, []
        for step in self._store.rows("SELECT fact_id, other_id FROM duty_steps WHERE run_id = ? ORDER BY rowid DESC", (run_id,)):
            try:
                back += self._separate(step["fact_id"], step["other_id"], now)
            except BadRequest as error:
                kept.append(error.message)
        return f"{back} merges taken back" + (f"; left: {' '.join(kept)}" if kept else "")

    # -- the review list -------------------------------------------------------------------------------------------

    def reviews(self, now: float) -> list[dict[str, object]]:
        """Open pairs whose facts both still stand, the most alike first."""
        rows = self._store.rows("SELECT * FROM reviews WHERE decision = '' ORDER BY likeness DESC, id")
        facts = {fact.id: fact for fact in self._live(now)}
        return [
            {
                "id": row["id"], "likeness": round(row["likeness"], 2), "scope": facts[row["a"]].scope,
                "facts": [{"id": facts[one].handle, "text": facts[one].text} for one in (row["a"], row["b"])],
            }
            for row in rows
            if row["a"] in facts and row["b"] in facts
        ]  # fmt: skip

    def decide(self, review: int, *, merge: bool, now: float) -> str:
        """Close a pair: merged into one, or two facts for good. Raises BadRequest for an unknown or closed one."""
        row = self._store.row("SELECT * FROM reviews WHERE id = ? AND decision = ''", (review,))
        facts = {fact.id: fact for fact in self._live(now)}
        if row is None or row["a"] not in facts or row["b"] not in facts:
            raise BadRequest(f"There is no open pair {review}.", cure="`memory-os maintain review` lists them.")
        pair = [facts[row["a"]], facts[row["b"]]]
        said = "two facts, for good"
        with self._store.write() as db:
            if merge:
                kept = keeper(pair)
                duplicate = next(fact for fact in pair if fact is not kept)
                self._facts.merge(duplicate, kept, now)
                said = f"{duplicate.handle} merged into {kept.handle}; `memory-os facts undo {duplicate.handle}` takes it back"
            values = ("merged" if merge else "apart", now, review)
            db.execute("UPDATE reviews SET decision = ?, decided_at = ? WHERE id = ?", values)
        return said

    def open_reviews(self) -> int:
        return int(self._store.value("SELECT count(*) FROM reviews WHERE decision = ''"))

    # -- parts -----------------------------------------------------------------------------------------------------

    def _live(self, now: float) -> list[Fact]:
        rows = self._store.rows(f"{FACT_SELECT} WHERE {CURRENT} ORDER BY f.scope, f.created_at DESC, f.id DESC", {"now": now})
        return [fact_of(row) for row in rows]

    def _barred(self) -> set[_Pair]:
        """Pairs that must stay two."""
        rows = self._store.rows(
            "SELECT a, b FROM fact_conflicts WHERE marked_at IS NOT NULL"
            " UNION SELECT a, b FROM reviews WHERE decision = 'apart'"
            " UNION SELECT fact_id, other_id FROM fact_changes"
            " WHERE action = 'supersede' AND undone_at IS NOT NULL AND other_id IS NOT NULL"
            # A restatement that was taken back became a fact of its own, with these words.
            " UNION SELECT c.fact_id, f.id FROM fact_changes c JOIN facts k ON k.id = c.fact_id"
            " JOIN facts f ON f.scope = k.scope AND f.text = json_extract(c.detail, '$.text') AND f.id <> k.id"
            " WHERE c.action = 'merge' AND c.undone_at IS NOT NULL"
        )
        return {_pair(row[0], row[1]) for row in rows}

    def _listed(self) -> set[_Pair]:
        return {(row["a"], row["b"]) for row in self._store.rows("SELECT a, b FROM reviews")}

    def _merge(self, duplicate: Fact, kept: Fact, run: Run) -> bool:
        try:
            with self._store.write() as db:
                self._facts.merge(duplicate, kept, run.now)
                db.execute(
                    "INSERT INTO duty_steps(run_id, fact_id, other_id) VALUES(?, ?, ?)", (run.id, duplicate.id, kept.id)
                )
        except BadRequest:  # corrected, removed or forgotten since it was read
            return False
        return True

    def _separate(self, fact_id: int, other_id: int, now: float) -> int:
        row = self._store.row(f"{FACT_SELECT} WHERE f.id = ?", (fact_id,))
        fact = None if row is None else fact_of(row)
        if fact is None or fact.superseded_by != other_id:
            return 0
        self._facts.undo(fact, now)
        return 1

    def _note(self, looks: Iterable[tuple[Fact, Fact, float]], now: float) -> None:
        with self._store.write() as db:
            db.executemany(
                "INSERT OR IGNORE INTO reviews(a, b, found_at, likeness) SELECT ?1, ?2, ?3, ?4"
                " WHERE (SELECT count(*) FROM facts WHERE id IN (?1, ?2)) = 2",
                [(*_pair(one.id, other.id), now, likeness) for one, other, likeness in looks],
            )

    def _alike(self, live: Sequence[Fact], known: set[_Pair], run: Run) -> list[tuple[Fact, Fact, float]]:
        """Pairs of one scope that a person may want to merge, the most alike first."""
        vectors = self._vectors()
        found: list[tuple[Fact, Fact, float]] = []
        for facts in _by_scope(live):
            for one, other, cosine in _near(facts[:_COMPARED], vectors):
                if run.halted():
                    return []
                if _pair(one.id, other.id) not in known and numbers(one.text) == numbers(other.text) and (
                    worth_a_look(one, other, cosine)
                ):  # fmt: skip
                    found.append((one, other, cosine))
        return sorted(found, key=lambda pair: (-pair[2], pair[0].id, pair[1].id))[:REVIEWS_PER_RUN]

    def _vectors(self) -> dict[int, NDArray[np.float32]]:
        rows = self._store.rows(
            "SELECT p.source, e.vector FROM passages p JOIN embeddings e ON e.hash = p.embed_hash AND e.fingerprint = ?"
            " WHERE p.layer = ? AND p.archived = 0",
            (self._facts.index.fingerprint, Layer.FACTS.value),
        )
        return {
            int(row["source"].removeprefix("fact:")): np.frombuffer(row["vector"], "<f2").astype(np.float32) for row in rows
        }


def _merges(live: Sequence[Fact], barred: set[_Pair]) -> Iterator[tuple[Fact, Fact]]:
    """(duplicate, the fact that stays) of all that say the same; nothing is merged twice in a run."""
    groups: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in live:
        for key in {near_key(fact.text), f"\n{written(fact.text)}"}:
            groups[fact.scope, key].append(fact)
    gone: set[int] = set()
    for group in groups.values():
        open_facts = [fact for fact in group if fact.id not in gone]
        while len(open_facts) > 1:
            kept = keeper(open_facts)
            open_facts.remove(kept)
            for fact in list(open_facts):
                if _pair(fact.id, kept.id) not in barred and restates(fact.text, kept.text) and same_subject(fact, kept):
                    gone.add(fact.id)
                    open_facts.remove(fact)
                    yield fact, kept


def _by_scope(live: Sequence[Fact]) -> Iterator[list[Fact]]:
    scopes: dict[str, list[Fact]] = defaultdict(list)
    for fact in live:
        scopes[fact.scope].append(fact)
    yield from scopes.values()


def _near(facts: Sequence[Fact], vectors: dict[int, NDArray[np.float32]]) -> Iterator[tuple[Fact, Fact, float]]:
    """Pairs whose embeddings are near, with their cosine. Facts without a vector wait for the next run."""
    have = [fact for fact in facts if fact.id in vectors]
    if len(have) < 2:
        return
    matrix = np.stack([vectors[fact.id] for fact in have])
    for start in range(0, len(have), _BLOCK):
        cosines = matrix[start : start + _BLOCK] @ matrix.T
        for row, column in zip(*np.nonzero(cosines >= _LOOKED_AT), strict=True):
            if start + row < column:
                yield have[start + row], have[column], float(cosines[row, column])


# Words alone never make a pair of what means something else.
_LOOKED_AT = REVIEW_COSINE - 0.2


def _pair(one: int, other: int) -> _Pair:
    return (one, other) if one < other else (other, one)
