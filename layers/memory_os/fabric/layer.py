"""Layer 4, the fabric: Markdown entries shared by several Hermes instances, written, read, judged and tiered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memory_os.config import Settings
from memory_os.errors import BadRequest, FabricError
from memory_os.fabric import names, obsidian
from memory_os.fabric.card import Card, card_of
from memory_os.fabric.entry import CURATION, Entry, render
from memory_os.fabric.folder import Folder
from memory_os.fabric.frontmatter import set_field
from memory_os.fabric.mirror import Mirror, Refreshed, body_hash, card_to_be
from memory_os.fabric.passages import source_of
from memory_os.fabric.pending import PendingWork, answers, is_open, pending, unfinished
from memory_os.fabric.tiers import tier_of
from memory_os.fabric.verbs import Verbs
from memory_os.index import Index
from memory_os.memory import Health, Layer, State
from memory_os.store import Store
from memory_os.tooling import Arguments, Caller, Searcher

Tool = Callable[[Arguments, Caller], dict[str, Any]]

# A tool waits this long for a first look at a large folder; past it, it answers from what is indexed so far.
TOOL_REFRESH_WAIT_S = 1.5
# The same entry written again within this time is a repeated call, not a second entry.
REPEAT_S = 600.0
# A short id is taken for a whole one from here on, as Icarus did.
_PREFIX_MIN = 4


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What `forget` did: passages taken from the index, and whether the file itself was ours to delete."""

    key: str
    passages: int
    file_deleted: bool


class Fabric:
    """The shared folder of one instance. `searcher` is the engine's recall, where there is one. Thread-safe."""

    def __init__(self, store: Store, index: Index, settings: Settings) -> None:
        self.store = store
        self.index = index
        self.settings = settings
        self.agent = names.agent_name(settings.agent)
        self.folder = Folder(settings.fabric_dir)
        self.mirror = Mirror(store, index, self.folder, self.agent)
        self.searcher: Searcher | None = None
        self._writing = threading.Lock()

    def tools(self) -> dict[str, Tool]:
        return Verbs(self).tools()

    # -- reading ---------------------------------------------------------------------------------------------------

    def refresh(self) -> Refreshed:
        """Bring the index up to the folder. Raises FabricError if the folder can't be read; the index then stays."""
        return self.mirror.refresh()

    def freshen(self) -> str:
        """Refresh for a tool call. Returns why that was not possible, or nothing: the index answers either way."""
        try:
            done = self.mirror.refresh_soon(TOOL_REFRESH_WAIT_S)
        except FabricError as error:
            return str(error)
        return "" if done else "The fabric is still being read; newer entries may be missing."

    def cards(self) -> list[Card]:
        """All entries but curations, newest first."""
        rows = self.store.rows("SELECT * FROM fabric_entries WHERE curates = '' ORDER BY created_at DESC, key")
        return [card_of(row) for row in rows]

    def cards_of(self, keys: Sequence[str]) -> dict[str, Card]:
        marks = ",".join("?" * len(keys))
        rows = self.store.rows(f"SELECT * FROM fabric_entries WHERE key IN ({marks})", tuple(keys))
        return {row["key"]: card_of(row) for row in rows}

    def keys_of(self, *, agent: str = "", project: str = "") -> list[str]:
        """The keys of the entries of an agent, of a project, of both; in any case of letters."""
        rows = self.store.rows("SELECT key, agent, project FROM fabric_entries")
        wanted = agent.casefold(), project.casefold()
        return [
            row["key"] for row in rows
            if all(not want or want == have.casefold() for want, have in zip(wanted, (row["agent"], row["project"]), strict=True))
        ]  # fmt: skip

    def find(self, name: str) -> Card | None:
        """The entry meant by a key, `agent:id`, an id, its first characters, or a handle. Raises BadRequest if several."""
        rows = self.store.rows(
            "SELECT * FROM fabric_entries WHERE key = ? OR ref = ? OR id = ? ORDER BY key", (name, name, name)
        )
        exact = [row for row in rows if name in (row["key"], row["ref"])]
        rows = exact[:1] or rows
        if not rows and name.startswith("b:"):
            passage = self.index.by_handle(name, Caller().scope.readable)
            key = passage.source.removeprefix("fabric:") if passage else ""
            rows = self.store.rows("SELECT * FROM fabric_entries WHERE key = ?", (key,))
        if not rows and len(names.reference(name)[1]) >= _PREFIX_MIN:
            rows = self.store.rows(
                "SELECT * FROM fabric_entries WHERE substr(id, 1, length(?1)) = ?1 OR substr(ref, 1, length(?1)) = ?1",
                (name,),
            )
        if len(rows) > 1:
            meant = ", ".join(row["ref"] for row in rows[:5])
            raise BadRequest(f"{name!r} may be any of {meant}.", cure="Name one as agent:id.")
        return card_of(rows[0]) if rows else None

    def work(self, customer_id: str = "") -> PendingWork:
        """What waits for this instance's agent."""
        return pending(self.cards(), self.agent, customer_id=customer_id)

    def pending(self, caller: Caller) -> list[Card]:
        """Open work and unanswered reviews for this agent: the caller's project first, then newest first."""
        mine = self.work().mine
        return sorted(mine, key=lambda card: bool(caller.project) and card.project != caller.project)

    def answer_to(self, card: Card) -> str:
        """The `agent:id` of what closed an open entry, or nothing."""
        if not is_open(card):
            return ""
        rows = self.store.rows(
            "SELECT * FROM fabric_entries WHERE review_of IN (:ref, :id) OR revises IN (:ref, :id) ORDER BY created_at",
            {"ref": card.ref, "id": card.id},
        )
        return next((one.ref for one in map(card_of, rows) if answers(one, card)), "")

    def handle(self, card: Card) -> str:
        found = self.index.of_source(source_of(card.key))
        return found[0].handle if found else ""

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, entry: Entry) -> tuple[Card, bool]:
        """A new entry of ours; `id`, `agent` and links are set here. False: the same was just written, and is given back.

        While a large folder is being read the entry is indexed after that. Raises FabricError if the folder can't take
        it; then nothing of it stands anywhere.
        """
        with self._writing:
            earlier = self._repeated(entry)
            if earlier is not None:
                return earlier, False
            entry = replace(entry, id=names.new_id(), agent=self.agent, links=self._links(entry))
            name = names.file_name(self.agent, entry.type, entry.summary, entry.id)
            self._refuse_unmounted()
            path = self.folder.create(name, render(entry))
            return self.mirror.absorb(path, TOOL_REFRESH_WAIT_S) or card_to_be(entry, path), True

    def curate(self, card: Card, training_value: str, caller: Caller) -> tuple[Card, bool]:
        """Give an entry a value: in its own file if it is ours, else by a small entry of ours that judges it.

        Returns the entry that was written, and whether it is the judged one itself. Raises FabricError.
        """
        if card.agent == self.agent:
            return self._rewrite(card, "training_value", training_value), True
        row = self.store.row(
            "SELECT * FROM fabric_entries WHERE agent = ? AND curates IN (?, ?)", (self.agent, card.ref, card.id)
        )
        if row is not None:
            return self._rewrite(card_of(row), "training_value", training_value), False
        written, _ = self.write(
            Entry(
                id="",
                agent="",
                type=CURATION,
                summary=f"{training_value}: {card.summary}"[:300],
                body="",
                created_at=caller.now,
                platform=caller.platform,
                curates=card.ref,
                training_value=training_value,
            )
        )
        return written, False

    def tier(self, now: float) -> int:
        """Move each entry to the tier it belongs in at `now`; returns how many moved.

        Our own entries say so in their files (one line changes); other instances' files are theirs, and only our index
        follows. A file that can't be changed now stays where it is, is counted, and is tried again next time.
        """
        return sum(self._move(card, wanted) for card, wanted in self.tier_moves(now))

    def tier_moves(self, now: float) -> list[tuple[Card, str]]:
        """The entries that lie in another tier than they belong in at `now`, each with that tier."""
        cards = self.cards()
        open_keys = unfinished(cards)
        uses = self._uses()
        moves = []
        for card in cards:
            used, last = uses.get(source_of(card.key), (0, None))
            value = self.mirror.standing.value_of(card)
            wanted = tier_of(now, card.created_at, last, used, value, unfinished=card.key in open_keys)
            if wanted != card.tier:
                moves.append((card, wanted))
        return moves

    def forget(self, key: str) -> Forgotten:
        """Take an entry out of this instance for good; the file goes too if it is ours. Raises BadRequest, FabricError.

        The index is cleared first, so that a folder that can't be written still leaves nothing to recall.
        """
        card = self.find(key.removeprefix("fabric:"))
        if card is None:
            raise BadRequest(f"There is no fabric entry {key!r}.", cure="fabric_search finds the id of an entry.")
        removed = self.mirror.forget(card, time.time())
        deleted = card.agent == self.agent and self.folder.remove(card.path)
        return Forgotten(card.key, removed, deleted)

    def init_obsidian(self) -> dict[str, list[str]]:
        """Starter files for reading the folder in Obsidian; what is there stays. Raises FabricError."""
        self._refuse_unmounted()
        return obsidian.start(self.folder)

    # -- health ----------------------------------------------------------------------------------------------------

    def health(self) -> Health:
        entries = int(self.store.value("SELECT count(*) FROM fabric_entries WHERE curates = ''"))
        figures: dict[str, float | int | str] = {
            "entries": entries,
            "passages": self.index.count(Layer.FABRIC),
            "skipped": int(self.store.value("SELECT count(*) FROM fabric_skipped")),
            "folder": str(self.folder.root),
            "agent": self.agent,
        }
        problem = self.mirror.problem
        if problem is not None:
            return Health(State.DEGRADED, problem.message, problem.cure, figures)
        if self.folder.root.exists() and not self.folder.root.is_dir():
            return Health(
                State.DEGRADED, f"{self.folder.root} is not a folder.", "Set FABRIC_DIR to a folder.", figures
            )
        if entries and not self.folder.root.is_dir():
            return Health(
                State.DEGRADED, f"{self.folder.root} is not there.", "Mount the share, or set FABRIC_DIR.", figures
            )
        if self.folder.root.is_dir() and not self.folder.writable():
            return Health(
                State.DEGRADED, f"{self.folder.root} can be read but not written.", "Check its owner and mode.", figures
            )
        if not entries:
            return Health(State.EMPTY, f"no entries in {self.folder.root}", "", figures)
        return Health(State.OK, f"{entries} entries", "", figures)

    # -- parts -----------------------------------------------------------------------------------------------------

    def _repeated(self, entry: Entry) -> Card | None:
        rows = self.store.rows(
            "SELECT * FROM fabric_entries WHERE agent = ? AND type = ? AND summary = ? AND status = ? AND review_of = ?"
            " AND revises = ? AND curates = ? AND session_id = ? AND created_at > ?",
            (
                self.agent, entry.type, entry.summary, entry.status, entry.review_of, entry.revises, entry.curates,
                entry.session, entry.created_at - REPEAT_S,
            ),
        )  # fmt: skip
        wanted = body_hash(entry)
        return next((card_of(row) for row in rows if row["body_hash"] == wanted), None)

    def _links(self, entry: Entry) -> tuple[str, ...]:
        """Wiki links to the files of the entries this one points at, so that Obsidian's graph shows them."""
        found = [self.find(ref) for ref in (entry.review_of, entry.revises, entry.curates) if ref]
        return tuple(f"[[{card.path.removesuffix('.md')}]]" for card in found if card)

    def _rewrite(self, card: Card, name: Literal["tier", "training_value"], value: str) -> Card:
        data = self.folder.read(card.path)
        self.folder.replace(card.path, set_field(data, name, value), expected=data)
        to_be = replace(card, tier=value) if name == "tier" else replace(card, training_value=value)
        return self.mirror.absorb(card.path, TOOL_REFRESH_WAIT_S) or to_be

    def _move(self, card: Card, tier: str) -> bool:
        if card.agent == self.agent:
            try:
                self._rewrite(card, "tier", tier)
            except FabricError as error:
                self.store.count("fabric.tier_kept", reason=f"{card.path}: {error.message}")
                return False
            return True
        with self.store.write() as db:
            db.execute("UPDATE fabric_entries SET tier = ? WHERE key = ?", (tier, card.key))
        self.mirror.stand(card.key)
        return True

    def _uses(self) -> Mapping[str, tuple[int, float | None]]:
        rows = self.store.rows(
            "SELECT source, sum(uses) AS uses, max(last_used_at) AS last FROM passages WHERE layer = ? GROUP BY source",
            (Layer.FABRIC.value,),
        )
        return {row["source"]: (int(row["uses"]), row["last"]) for row in rows}

    def _refuse_unmounted(self) -> None:
        """Nothing is written below a mount point whose share is missing: it would vanish when the share comes back."""
        before = self.store.meta("fabric.place")
        root, _, mount = before.rpartition("\n")
        if root == str(self.folder.root) and self.folder.mount_point() != mount and not self.folder.populated():
            raise FabricError(f"{self.folder.root} is no longer on {mount}.", cure="Mount the share.")
