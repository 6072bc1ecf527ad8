"""What was read becomes memory: facts and conclusions, entries, lines of CREATIVE.md. Each passes the admission gate."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memory_os.errors import BadRequest, FabricError, HostError
from memory_os.fabric import Fabric
from memory_os.fabric.entry import Entry
from memory_os.fabric.passages import source_of
from memory_os.facts import Facts, Statement
from memory_os.memory import Author, Scope, content_hash
from memory_os.redact import redact
from memory_os.store import tombstones
from memory_os.understanding.admission import Evidence, refused, restates
from memory_os.understanding.change import Relation, place
from memory_os.understanding.person import PERSON_TAG
from memory_os.workspace import Workspace

if TYPE_CHECKING:
    from memory_os.understanding.transcript import Turn

ORIGIN = "extraction"
# Entries of our own that a new one may only say again.
_RECENT_ENTRIES = 200


@dataclass(slots=True)
class Kept:
    """One admitted item, as the ledger holds it."""

    turn_id: str
    kind: str
    outcome: str
    ref: str
    confidence: float


@dataclass(slots=True)
class Tally:
    """`kept`: what was admitted; `dropped`: how many by reason."""

    kept: list[Kept] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


class Keeping:
    """One delivery at a time."""

    def __init__(self, facts: Facts, fabric: Fabric, workspace: Workspace) -> None:
        self._facts = facts
        self._fabric = fabric
        self._workspace = workspace

    # -- files first: what is repeated after a crash changes nothing there ---------------------------------------------

    def keep_files(
        self,
        items: Sequence[Mapping[str, Any]],
        evidence: Mapping[str, Evidence],
        scope: Scope,
        session_id: str,
        tally: Tally,
    ) -> None:
        """Entries into the fabric, learnings and questions into CREATIVE.md.

        Both are read by others than their speaker: they are written from the sessions of the person at this machine only.
        """
        private = scope != self._workspace.scope
        written = 0
        for item in items:
            kind = item["item"]
            if kind not in ("entry", "learning", "question"):
                continue
            proof = evidence[item["turn"]]
            text = item["summary"] if kind == "entry" else item["text"]
            more = " ".join(item.get(key, "") for key in ("context", "action", "outcome"))
            reason = "private" if private else refused(text, proof, more=more, asks=kind == "question")
            if reason:
                tally.dropped[reason] += 1
                continue
            try:
                kept = self._entry(item, proof, session_id) if kind == "entry" else self._line(item, proof)
            except (FabricError, HostError, BadRequest) as error:
                tally.dropped[error.code] += 1
                continue
            tally.kept.append(kept)
            written += kept.kind in ("learning", "question") and kept.outcome == "added"
        if written:
            with suppress(HostError):  # the lines stand; how often some came is no memory
                self._workspace.count_cycle()

    def _entry(self, item: Mapping[str, Any], proof: Evidence, session_id: str) -> Kept:
        summary = item["summary"]
        told = [(name.capitalize(), item[name]) for name in ("context", "action", "outcome") if item[name]]
        body = "\n\n".join(f"## {name}\n\n{redact(text)[0]}" for name, text in told)
        for card in self._fabric.cards()[:_RECENT_ENTRIES]:
            if card.type == item["type"] and (restates(summary, card.summary) or restates(card.summary, summary)):
                source = source_of(card.key)
                self._fabric.index.used(one.id for one in self._fabric.index.of_source(source)[:1])
                return Kept(proof.turn.id, "entry", "strengthened", source, item["confidence"])
        entry = Entry(
            id="", agent="", type=item["type"], summary=summary, body=body or summary, created_at=round(proof.turn.at, 3),
            platform=proof.platform, status="completed" if item["type"] == "resolution" else "", outcome=item["outcome"],
            tier="hot", project=proof.project, session=session_id, training_value=item["training_value"],
            evidence=f"turn {proof.turn.id}", source_tool=ORIGIN,
        )  # fmt: skip
        card, new = self._fabric.write(entry)
        return Kept(proof.turn.id, "entry", "added" if new else "strengthened", source_of(card.key), item["confidence"])

    def _line(self, item: Mapping[str, Any], proof: Evidence) -> Kept:
        write = self._workspace.learn if item["item"] == "learning" else self._workspace.ask
        new = write(item["text"], proof.turn.at)
        found = self._workspace.passage_of(item["text"])
        outcome = "added" if new else "strengthened"
        return Kept(proof.turn.id, item["item"], outcome, "" if found is None else found.id, item["confidence"])

    # -- then facts, in the ledger's transaction -----------------------------------------------------------------------

    def keep_facts(
        self, db: sqlite3.Connection, items: Sequence[Mapping[str, Any]], evidence: Mapping[str, Evidence],
        known: Mapping[str, int], scope: Scope, session_id: str, tally: Tally,
    ) -> None:  # fmt: skip
        """Facts and conclusions, inside the caller's transaction. `known`: the facts the model was shown, label -> id."""
        for item in items:
            if item["item"] not in ("fact", "conclusion"):
                continue
            proof = evidence[item["turn"]]
            fact = item["item"] == "fact"
            text = item["statement"] if fact else item["text"]
            reason = refused(text, proof, subject=item["subject"] if fact else "")
            if not reason and tombstones.is_forgotten(db, scope.key, content_hash(text), proof.turn.at):
                reason = "forgotten"
            if reason:
                tally.dropped[reason] += 1
                continue
            statement = (
                _fact(item, proof.turn, scope, session_id) if fact else _conclusion(item, proof.turn, scope, session_id)
            )
            relation = Relation(item["subject"], item["relation"], item["several"]) if fact else Relation("", "")
            named = known.get(item["replaces"].strip().upper()) if fact else None
            placed = place(
                self._facts, statement, relation, at=proof.turn.at, confidence=item["confidence"], named=named
            )
            tally.kept.append(Kept(proof.turn.id, item["item"], placed.outcome, placed.fact.source, item["confidence"]))


def _fact(item: Mapping[str, Any], turn: Turn, scope: Scope, session_id: str) -> Statement:
    subject = item["subject"]
    entities = (subject,) if subject and subject.casefold() != "user" else ()
    return Statement(
        text=item["statement"], scope=scope, category=item["category"], entities=entities, author=Author.AGENT,
        evidence=turn.id, origin=ORIGIN, session_id=session_id, valid_from=day(item["valid_from"]),
        valid_to=day(item["valid_to"], end=True),
    )  # fmt: skip


def _conclusion(item: Mapping[str, Any], turn: Turn, scope: Scope, session_id: str) -> Statement:
    return Statement(
        text=item["text"], scope=scope, category="user_pref", tags=(PERSON_TAG, item["kind"]), author=Author.AGENT,
        evidence=turn.id, origin=ORIGIN, session_id=session_id,
    )  # fmt: skip


def day(text: str, *, end: bool = False) -> float | None:
    """An ISO date or time as epoch seconds (UTC), a mere day as its beginning or its `end`; None for what is none."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return seconds + 86_400.0 if end and len(text.strip()) <= len("2026-11-30") else seconds
