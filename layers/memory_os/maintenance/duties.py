"""Every duty, how often it comes and what it does, over one engine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from memory_os.maintenance.duty import DAY_S, HOUR_S, MONTH_S, WEEK_S, Duty, Report, Run, excerpt, simple

if TYPE_CHECKING:
    from memory_os.engine import Engine
    from memory_os.maintenance.canary import Canary
    from memory_os.maintenance.copies import Copies
    from memory_os.maintenance.decay import Decay
    from memory_os.maintenance.duplicates import Duplicates
    from memory_os.maintenance.full_backup import FullBackup
    from memory_os.maintenance.rotation import Rotation

# Rows of the host's history a round; the next round goes on. A batch takes some 100 ms.
_HISTORY_BATCH = 500
# The model is loaded by then, also on a slow machine.
_CANARY_AFTER_S = 600.0
_LISTED = 40

_FOLLOWS = "it follows what is on disk; change it there"
_AGAIN = "the next run decides again, by age and use; `fabric_curate` keeps an entry"


def heartbeat(canary: Canary) -> Duty:
    """Before all others: what waits must not make it late."""
    return Duty(
        "canary", 6 * HOUR_S, canary.act, "write, embed, search and recall a known answer", None, "it leaves nothing behind",
        _CANARY_AFTER_S,
    )  # fmt: skip


def followers(engine: Engine, halted: Callable[[], bool]) -> Iterable[Duty]:
    """What keeps up with files and databases of others, every few minutes."""
    yield Duty("history", 30.0, lambda run: _history(engine, run, halted), "take earlier sessions over", None, _FOLLOWS)
    yield Duty(
        "fabric", 60.0, simple(lambda now: _followed(engine), lambda now: "would read what changed in the fabric"),
        "follow the fabric folder", None, _FOLLOWS,
    )  # fmt: skip
    yield Duty(
        "documents", 600.0,
        simple(lambda now: _ingested(engine), lambda now: "would read what changed in the documents"),
        "follow ingested documents", None, _FOLLOWS,
    )  # fmt: skip


def keepers(engine: Engine, rotation: Rotation, copies: Copies) -> Iterable[Duty]:
    """The small duties of hours and days."""
    yield Duty(
        "trust", HOUR_S, simple(engine.facts.refresh_trust, lambda now: f"{len(engine.facts.faded_trust(now))} would change"),
        "let evidence for facts fade", None, "trust is computed from the evidence, which stays",
    )  # fmt: skip
    yield Duty("tiers", 6 * HOUR_S, lambda run: _tiers(engine, run), "move fabric entries hot, warm, cold", None, _AGAIN)
    yield Duty(
        "dead_letters", 6 * HOUR_S, lambda run: _dead_letters(engine), "report jobs that failed for good", None,
        "it only reports; `memory-os dlq` requeues and drops",
    )  # fmt: skip
    yield Duty(
        "wiki_links", DAY_S, simple(lambda now: _linked(engine, False), lambda now: _linked(engine, True)),
        "link pages of the wiki that are near by meaning", None, "the blocks are made anew by each run", HOUR_S,
    )  # fmt: skip
    yield Duty(
        "wiki_sources", 600.0, simple(lambda now: _settled(engine, now, False), lambda now: _settled(engine, now, True)),
        "take off pages of the wiki what rests on raw files that are gone", None,
        "the pages as they were are in wiki/_archive/pages", 600.0,
    )  # fmt: skip
    yield Duty("rotation", DAY_S, rotation.act, "cut telemetry, history and output", None, "what is older is deleted on purpose")
    yield Duty("backup", DAY_S, copies.act, "copy memory.db", None, "a copy changes nothing; delete it by hand")
    yield Duty(
        "rejected", DAY_S, simple(engine.intake.expire, lambda now: f"{len(engine.intake.expired(now))} would be deleted"),
        "delete rejected records a month old", None, "what is older is deleted on purpose",
    )  # fmt: skip


def carers(decay: Decay, duplicates: Duplicates, full: FullBackup) -> Iterable[Duty]:
    """What changes memory itself, and the backup that is made before it may."""
    yield Duty(
        "full_backup", WEEK_S, full.act, "copy everything and prove it by a restore", None,
        "a backup changes nothing; delete it by hand", DAY_S,
    )  # fmt: skip
    yield Duty("decay", WEEK_S, decay.act, "archive what is old, unimportant and an agent's", decay.undo, first_after_s=WEEK_S)
    yield Duty(
        "duplicates", MONTH_S, duplicates.act, "merge facts stated twice, list the rest", duplicates.undo, first_after_s=WEEK_S
    )


def _history(engine: Engine, run: Run, halted: Callable[[], bool]) -> Report:
    """Batches until nothing is left: a first start takes a whole past over."""
    if run.dry_run:
        return Report("would take over what is new in state.db")
    total = 0
    while True:
        imported = engine.sessions.import_history(_HISTORY_BATCH)
        total += imported.taken
        if not imported.more or halted():
            return Report(f"{total} messages{f', {imported.reason}' if imported.reason else ''}")


def _linked(engine: Engine, dry_run: bool) -> str:
    if not engine.wiki.tree.there:
        return "there is no wiki"
    found = engine.wiki_neighbours.link(dry_run=dry_run)
    told = "would be looked at" if dry_run else f"looked at, {len(found['changed'])} files changed"
    return f"{found['pages']} pages {told}"


def _settled(engine: Engine, now: float, dry_run: bool) -> str:
    if not engine.wiki.tree.there:
        return "there is no wiki"
    found = engine.wiki.follow_sources(now, dry_run=dry_run)
    for name in (*found["gone"], *found["renamed"]):
        if not dry_run:
            engine.dead_letters.supersede("curate", name)
    if dry_run:
        return f"{len(found['gone'])} raw files are gone or renamed"
    pages = len(found["changed"]) + len(found["archived"])
    return f"{len(found['gone'])} raw files gone, {len(found['renamed'])} renamed, {pages} pages changed"


def _followed(engine: Engine) -> str:
    seen = engine.fabric.refresh()
    return f"{seen.added} entries added, {seen.changed} changed, {seen.removed} removed"


def _ingested(engine: Engine) -> str:
    kinds = Counter(str(file.status) for file in engine.documents.refresh().files)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing followed"


def _tiers(engine: Engine, run: Run) -> Report:
    if not run.dry_run:
        return Report(f"{engine.fabric.tier(run.now)} entries moved")
    moves = engine.fabric.tier_moves(run.now)
    lines = [f"{card.ref}  {card.tier or 'new'} to {tier}  {excerpt(card.summary)}" for card, tier in moves[:_LISTED]]
    return Report(f"{len(moves)} entries would move", tuple(lines))


def _dead_letters(engine: Engine) -> Report:
    """Degraded while there are any: each is work that nobody does any more."""
    letters = engine.dead_letters.all()
    if not letters:
        return Report("none")
    kinds = Counter(f"{one.function}: {one.error}" for one in letters)
    oldest = time.strftime("%Y-%m-%d", time.gmtime(min(one.first_at for one in letters)))
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(3))
    line = f"{len(letters)} jobs failed for good since {oldest}: {named}. `memory-os dlq list` shows them."
    return Report(line, tuple(f"{one.id}  {one.function}  {one.error}" for one in letters[:_LISTED]), "degraded")
