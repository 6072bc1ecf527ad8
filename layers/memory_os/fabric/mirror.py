"""The folder in our own index: what was added, changed, renamed or deleted since the last look, and nothing else.

A file is looked at by size and time; what differs is read and compared by SHA-256. No file of the index stands in the
shared folder: each instance keeps its own picture of it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass
from typing import Any

from memory_os.errors import FabricError
from memory_os.fabric.card import Card, card_of
from memory_os.fabric.entry import Entry, Parsed, fields_json, parse
from memory_os.fabric.folder import Folder, Found, Listing
from memory_os.fabric.passages import passages, source_of
from memory_os.fabric.standing import Standing
from memory_os.index import Index
from memory_os.redact import redact
from memory_os.store import Store

# File systems stamp times in steps of up to 2 s (FAT, some shares): a younger file may change again within its stamp.
SETTLED_S = 3.0
_UNSETTLED = -1


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a look at the folder changed. `skipped`: files that are no entries for us, all of them."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: int = 0


@dataclass(slots=True)
class _Pass:
    """One look: what it found, and which entries' standing it may have changed."""

    now: float
    gone: dict[str, dict[str, Any]]
    known: dict[str, dict[str, Any]]
    touched: set[str]
    added: int = 0
    changed: int = 0


class Mirror:
    """Keeps `fabric_entries` and the fabric's passages equal to the folder."""

    def __init__(self, store: Store, index: Index, folder: Folder, agent: str) -> None:
        self.store = store
        self.index = index
        self.folder = folder
        self.agent = agent
        self.standing = Standing(store, index, agent)
        self.problem: FabricError | None = None
        self._lock = threading.RLock()

    def refresh_soon(self, wait_s: float) -> Refreshed | None:
        """Follow the folder, unless another thread is at it for longer than `wait_s`: then what stands must do."""
        if not self._lock.acquire(timeout=wait_s):
            return None
        try:
            return self.refresh()
        finally:
            self._lock.release()

    def refresh(self) -> Refreshed:
        """Follow the folder. Raises FabricError, and leaves the index as it was, if the folder can't be listed."""
        with self._lock:
            try:
                listing = self._listing()
            except FabricError as error:
                if self.problem is None:
                    self.store.count("fabric.unreachable", reason=error.message)
                self.problem = error
                raise
            self.problem = None
            return self._follow(listing)

    def absorb(self, path: str, wait_s: float) -> Card | None:
        """Take one file that we just wrote. Raises FabricError if it can't be read back.

        None if another thread reads the folder for longer than `wait_s`: the next look takes the file.
        """
        if not self._lock.acquire(timeout=wait_s):
            return None
        try:
            found = self.folder.look(path)
            known = self._known((path,))
            look = _Pass(time.time(), {}, known, set())
            self._take(found, look)
            self.standing.reconsider(look.touched, look.now)
        finally:
            self._lock.release()
        row = self.store.row("SELECT * FROM fabric_entries WHERE path = ?", (path,))
        if row is None:
            raise FabricError(f"{path} was written but is no entry.", cure="Look at its front matter.")
        return card_of(row)

    def forget(self, card: Card, now: float) -> int:
        """Take an entry out of the index, and never take it in again. Returns how many passages left.

        One transaction and no lock of ours, so that it may run inside a caller's own transaction.
        """
        with self.store.write() as db:
            db.execute("INSERT OR REPLACE INTO fabric_forgotten(ref, at) VALUES(?, ?)", (card.ref, now))
            db.execute("DELETE FROM fabric_entries WHERE key = ?", (card.key,))
            removed = self.index.remove(source_of(card.key))
        self.standing.reconsider({card.revises, card.curates} - {""}, now)
        return removed

    def stand(self, key: str) -> None:
        """Work out again what an entry's value, tier and validity are, after its own row changed."""
        with self._lock:
            self.standing.reconsider({key}, time.time())

    # -- looking ---------------------------------------------------------------------------------------------------

    def _listing(self) -> Listing:
        entries = int(self.store.value("SELECT count(*) FROM fabric_entries"))
        if not entries and not self.folder.root.exists():
            return Listing()
        listing = self.folder.scan()
        place = f"{self.folder.root}\n{self.folder.mount_point()}"
        before = self.store.meta("fabric.place")
        if entries and not listing.files and before != place and before.startswith(f"{self.folder.root}\n"):
            raise FabricError(
                f"{self.folder.root} is empty and no longer on {before.rsplit(chr(10), 1)[-1]}.",
                cure="Mount the share.",
            )
        if listing.files and before != place:
            self.store.set_meta("fabric.place", place)
        return listing

    def _follow(self, listing: Listing) -> Refreshed:
        known = self._known()
        gone = {
            path: row for path, row in known.items() if path not in listing.files and not listing.unknown(path)
        }  # fmt: skip
        look = _Pass(time.time(), gone, known, set())
        passed_over = self._passed_over()
        refused = dict(listing.refused)
        states: dict[str, tuple[str, int, int]] = {path: (reason, -1, -1) for path, reason in refused.items()}
        for found in listing.files.values():
            row = known.get(found.path)
            if row is not None and (row["size"], row["modified_ns"]) == (found.size, found.modified_ns):
                continue
            state = passed_over.get(found.path)
            if row is None and state and state[1:] == (found.size, found.modified_ns):
                states[found.path] = state
                continue
            reason = self._take(found, look)
            if reason:
                stamp = _UNSETTLED if reason.startswith("can't be read") else self._stamp(found, look.now)
                states[found.path] = (reason, found.size, stamp)
        for row in look.gone.values():
            self._remove(row, look)
        self._note_skipped(states, passed_over)
        self.standing.reconsider(look.touched, look.now)
        return Refreshed(
            added=look.added,
            changed=look.changed,
            removed=len(look.gone),
            unchanged=len(known) - look.changed - len(look.gone),
            skipped=len(states),
        )

    def _take(self, found: Found, look: _Pass) -> str:
        """Read one file into the index. Returns why it is passed over, or nothing."""
        row = look.known.get(found.path)
        try:
            data = self.folder.read(found.path)
        except FabricError as error:
            return f"can't be read ({error.message})"
        digest = hashlib.sha256(data).hexdigest()
        stamp = self._stamp(found, look.now)
        if row is not None and row["sha256"] == digest:
            with self.store.write() as db:
                db.execute(
                    "UPDATE fabric_entries SET size = ?, modified_ns = ? WHERE path = ?",
                    (found.size, stamp, found.path),
                )
            return ""
        parsed = parse(data, path=found.path, modified=found.modified_ns / 1e9)
        if not parsed.excluded and self._put(found, stamp, digest, parsed, look):
            self._count_faults(parsed, found.path)
            return ""
        if row is not None:
            look.gone[found.path] = row
        return "excluded by `fabric: false`" if parsed.excluded else "forgotten here"

    # -- rows ------------------------------------------------------------------------------------------------------

    def _put(self, found: Found, stamp: int, digest: str, parsed: Parsed, look: _Pass) -> bool:
        """Write an entry's row and passages. False if it was forgotten here."""
        entry = parsed.entry
        row = look.known.get(found.path) or self._renamed(entry, look)
        with self.store.write() as db:
            if db.execute("SELECT 1 FROM fabric_forgotten WHERE ref = ?", (entry.ref,)).fetchone():
                return False
            if row is not None and row["ref"] != entry.ref:
                self._remove(row, look)
                row = None
            key = row["key"] if row is not None else self._free_key(entry.ref, found.path)
            values = {
                **_columns(entry), "path": found.path, "key": key, "problem": parsed.problem,
                "size": found.size, "modified_ns": stamp, "sha256": digest,
            }  # fmt: skip
            if row is not None:
                look.touched |= _targets(row) | {row["key"]}
                db.execute("DELETE FROM fabric_entries WHERE key = ?", (key,))
            names = ", ".join(values)
            marks = ", ".join(f":{name}" for name in values)
            db.execute(f"INSERT INTO fabric_entries({names}) VALUES({marks})", values)
            look.touched |= _targets(values) | {key}
            self._index(entry, values)
        if row is None:
            look.added += 1
        else:
            look.changed += 1
        return True

    def _index(self, entry: Entry, row: dict[str, Any]) -> None:
        """Curations are judgements, not memories: they have no passages."""
        found = [] if entry.curates else passages(
            entry, row["key"], tier=row["tier"], training_value=row["training_value"], retired_at=None,
            own=entry.agent == self.agent,
        )  # fmt: skip
        self.index.replace(source_of(row["key"]), found)

    def _renamed(self, entry: Entry, look: _Pass) -> dict[str, Any] | None:
        """The row of the same entry whose file is no longer where it was."""
        for path, row in look.gone.items():
            if row["ref"] == entry.ref:
                del look.gone[path]
                return row
        return None

    def _free_key(self, ref: str, path: str) -> str:
        """`agent:id`; a second file that claims the same (a sync tool's conflict copy) is kept beside it."""
        with self.store.write() as db:
            taken = db.execute("SELECT 1 FROM fabric_entries WHERE key = ?", (ref,)).fetchone()
        if taken is None:
            return ref
        self.store.count("fabric.duplicate", reason=f"{path} has the id of another file, {ref}")
        return f"{ref}~{hashlib.sha256(path.encode()).hexdigest()[:8]}"

    def _remove(self, row: dict[str, Any], look: _Pass) -> int:
        with self.store.write() as db:
            db.execute("DELETE FROM fabric_entries WHERE key = ?", (row["key"],))
            removed = self.index.remove(source_of(row["key"]))
        look.touched |= _targets(row)
        return removed

    # -- reading and counting --------------------------------------------------------------------------------------

    def _known(self, paths: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
        where = f" WHERE path IN ({','.join('?' * len(paths))})" if paths else ""
        columns = "path, key, ref, size, modified_ns, sha256, review_of, revises, curates"
        rows = self.store.rows(f"SELECT {columns} FROM fabric_entries{where}", paths)
        return {row["path"]: dict(row) for row in rows}

    def _passed_over(self) -> dict[str, tuple[str, int, int]]:
        rows = self.store.rows("SELECT path, reason, size, modified_ns FROM fabric_skipped")
        return {row["path"]: (row["reason"], row["size"], row["modified_ns"]) for row in rows}

    def _note_skipped(
        self, states: dict[str, tuple[str, int, int]], before: dict[str, tuple[str, int, int]]
    ) -> None:  # fmt: skip
        """Remember what was passed over, and count what is new in it."""
        if states == before:
            return
        with self.store.write() as db:
            for path in before.keys() - states.keys():
                db.execute("DELETE FROM fabric_skipped WHERE path = ?", (path,))
            for path, state in states.items():
                if before.get(path) == state:
                    continue
                db.execute(
                    "INSERT OR REPLACE INTO fabric_skipped(path, reason, size, modified_ns) VALUES(?, ?, ?, ?)",
                    (path, *state),
                )
                if path not in before or before[path][0] != state[0]:
                    self.store.count("fabric.skipped", reason=f"{path}: {state[0]}")

    def _count_faults(self, parsed: Parsed, path: str) -> None:
        if parsed.problem:
            self.store.count("fabric.front_matter", reason=f"{path}: {parsed.problem}")
        if parsed.replaced:
            self.store.count("fabric.invalid_utf8", reason=f"{path}: {parsed.replaced} places")

    @staticmethod
    def _stamp(found: Found, now: float) -> int:
        return found.modified_ns if now - found.modified_ns / 1e9 > SETTLED_S else _UNSETTLED


def card_to_be(entry: Entry, path: str) -> Card:
    """The card of an entry that is written and not indexed yet."""
    return card_of({**_columns(entry), "key": entry.ref, "path": path})


def body_hash(entry: Entry) -> str:
    """SHA-256 of what an entry says, without its properties."""
    return hashlib.sha256(f"{entry.summary}\n{entry.body}".encode()).hexdigest()


def _columns(entry: Entry) -> dict[str, Any]:
    return {
        "ref": entry.ref, "id": entry.id, "agent": entry.agent, "platform": entry.platform, "type": entry.type,
        "summary": redact(entry.summary)[0], "status": entry.status, "outcome": entry.outcome, "tier": entry.tier,
        "tags": fields_json(entry.tags), "project": entry.project, "session_id": entry.session,
        "review_of": entry.review_of, "revises": entry.revises, "curates": entry.curates,
        "customer_id": entry.customer_id, "assigned_to": entry.assigned_to, "training_value": entry.training_value,
        "verified": entry.verified, "source_tool": entry.source_tool, "created_at": entry.created_at,
        "body_hash": body_hash(entry),
    }  # fmt: skip


def _targets(row: dict[str, Any]) -> set[str]:
    return {row["revises"], row["curates"]} - {""}
