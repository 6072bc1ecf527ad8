"""The weekly archival: what is old, unimportant, unasked for and an agent's own words leaves recall. Undoable.

Never archived: what a person said, documents, the fabric (it has tiers), what somebody rated important, a fact that was
confirmed, and a preference. Archived is not deleted: the text stays, `forget` finds it, and undo brings it back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from memory_os.maintenance.duty import DAY_S, Report, Run, excerpt
from memory_os.memory import Author, Layer
from memory_os.recall.decay import retention, retention_after
from memory_os.store import Row, Store

# Above this somebody, or a rule of a layer, said that it matters.
IMPORTANCE_MAX = 0.5
# A fact nobody confirmed stands at the prior's mean of .5; whatever spoke for it lifts it above.
TRUST_MAX = 0.5
_PAGE = 2000
_LISTED = 20
_AUTHORS = (Author.AGENT.value, Author.DERIVED.value)
_LAYERS = (Layer.SESSIONS.value, Layer.FACTS.value)

_CANDIDATES = f"""
    SELECT p.pk, p.id, p.handle, p.text, p.created_at, p.uses, p.last_used_at, p.importance FROM passages p
    LEFT JOIN facts f ON p.source = 'fact:' || f.id
    WHERE p.pk > :after AND p.archived = 0 AND p.created_at < :before AND p.importance <= {IMPORTANCE_MAX}
      AND p.author IN {_AUTHORS} AND p.layer IN {_LAYERS} AND (p.valid_to IS NULL OR p.valid_to > :now)
      AND (f.id IS NULL OR (f.shown_trust <= {TRUST_MAX} AND f.category <> 'user_pref' AND f.support <= 0))
    ORDER BY p.pk LIMIT {_PAGE}
"""


class Decay:
    """`days`: the age at which an ordinary memory that nobody asked for is archived; 0 archives nothing."""

    def __init__(self, store: Store, days: float) -> None:
        self._store = store
        self._days = days

    def act(self, run: Run) -> Report:
        """Archive what has less left than an ordinary memory after `days`."""
        if self._days <= 0:
            return Report("off: maintenance.archive_after_days is 0")
        back = 0 if run.dry_run else self._taken_back(run.now)
        archived = 0
        listed: list[str] = []
        for rows in self._faded(run.now):
            if run.halted():
                break
            archived += len(rows)
            listed += [_line(row) for row in rows[: _LISTED - len(listed)]]
            if not run.dry_run:
                self._archive([row["id"] for row in rows], run.id)
        verb = "would be archived" if run.dry_run else "archived"
        told = f"; {back} are back, which a clock that was ahead had archived" if back else ""
        return Report(f"{archived} memories {verb}{told}", tuple(listed), figures={"archived": archived})

    def undo(self, run_id: int, now: float) -> str:
        """Bring back what a run archived, unless it was corrected, removed or forgotten since."""
        return f"{self._bring_back(run_id)} memories are back"

    def _taken_back(self, now: float) -> int:
        """Undo runs of the future: the clock was ahead, by which everything was old. Returns how many memories are back."""
        back = 0
        for row in self._store.rows("SELECT id FROM duty_runs WHERE duty = 'decay' AND at > ? AND undone_at IS NULL", (now,)):
            with self._store.write() as db:
                back += self._bring_back(row["id"])
                db.execute("UPDATE duty_runs SET undone_at = ? WHERE id = ?", (now, row["id"]))
        return back

    def _bring_back(self, run_id: int) -> int:
        with self._store.write() as db:
            return db.execute(
                "UPDATE passages SET archived = 0 WHERE archived = 1"
                " AND id IN (SELECT passage_id FROM duty_steps WHERE run_id = ?)"
                " AND NOT EXISTS(SELECT 1 FROM facts f WHERE passages.source = 'fact:' || f.id"
                " AND (f.superseded_by IS NOT NULL OR f.removed_at IS NOT NULL))",
                (run_id,),
            ).rowcount

    def _faded(self, now: float) -> Iterator[list[Row]]:
        least, after = retention_after(self._days), 0
        while True:
            # The least important has half the half-life: what is younger than half the days has more left, whatever it is.
            values = {"after": after, "before": now - self._days * DAY_S / 2, "now": now}
            rows = self._store.rows(_CANDIDATES, values)
            if not rows:
                return
            after = rows[-1]["pk"]
            yield [row for row in rows if _left(row, now) < least]

    def _archive(self, ids: list[str], run_id: int) -> None:
        with self._store.write() as db:
            db.executemany("UPDATE passages SET archived = 1 WHERE id = ?", [(one,) for one in ids])
            db.executemany("INSERT INTO duty_steps(run_id, passage_id) VALUES(?, ?)", [(run_id, one) for one in ids])


def _left(row: Row, now: float) -> float:
    return retention(
        row["created_at"], now, uses=row["uses"], last_used_at=row["last_used_at"], importance=row["importance"]
    )


def _line(row: Row) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(row["created_at"]))
    return f"{row['handle']}  {day}  {excerpt(row['text'])}"
