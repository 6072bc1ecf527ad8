"""The fabric's tools: arguments in Icarus' names, lean JSON out, errors that say what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memory_os.errors import BadRequest
from memory_os.fabric.card import Card, current
from memory_os.fabric.entry import TRAINING_VALUES, TYPES, Entry, clean, iso, one_line, word
from memory_os.fabric.finding import matches, recall, search
from memory_os.fabric.passages import source_of
from memory_os.fabric.pending import CLOSED, OPEN, STATUSES, answers, is_open
from memory_os.fabric.tiers import DAY_S
from memory_os.memory import SHARED_SCOPE, passage_id
from memory_os.redact import redact
from memory_os.tooling import Arguments, Caller, page

if TYPE_CHECKING:
    from memory_os.fabric.layer import Fabric

CONTENT_CHARS = 100_000
SUMMARY_CHARS = 400
_LABEL_CHARS = 200
_BRIEF_ITEMS = 5


class Verbs:
    """One method a tool; each takes (arguments, caller) and returns a JSON object. Raise BadRequest or FabricError."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric

    def tools(self) -> dict[str, Callable[[Arguments, Caller], dict[str, Any]]]:
        return {
            "fabric_recall": self.recall,
            "fabric_write": self.write,
            "fabric_search": self.search,
            "fabric_pending": self.pending,
            "fabric_curate": self.curate,
            "fabric_brief": self.brief,
            "fabric_report": self.report,
            "fabric_telemetry": self.telemetry,
            "fabric_init_obsidian": self.init_obsidian,
        }

    def recall(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """What the fabric knows of `query`, best first; `agent` and `project` narrow it."""
        query = arguments.text("query", required=True)
        most = arguments.integer("max_results", 5, low=1, high=50)
        agent, project = arguments.text("agent"), arguments.text("project")
        note = self.fabric.freshen()
        found = recall(self.fabric, query, caller, most, agent=agent, project=project)
        items = [
            {**self._state(one.card), "handle": one.passage.handle, "text": one.passage.text, **_project(one.card)}
            for one in found
        ]
        result = {"query": query, **page(items, arguments)}
        start = arguments.integer("cursor", 0, low=0, high=10**9)
        self.fabric.index.used(one.passage.id for one in found[start : start + len(result["results"])])
        return _noted(result, note)

    def search(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """Entries in which all words of `query` stand, with the places where they do."""
        query = arguments.text("query", required=True)
        note = self.fabric.freshen()
        found = list(search(self.fabric, query, caller))
        items = [{**self._state(card), "file": card.path, "matches": matches(text, query)} for card, text in found]
        result = {"query": query, **page(items, arguments)}
        start = arguments.integer("cursor", 0, low=0, high=10**9)
        shown = found[start : start + len(result["results"])]
        # The entry's first passage stands for it: the tier counts an entry's retrievals together.
        self.fabric.index.used(passage_id(source_of(card.key), 0, SHARED_SCOPE) for card, _ in shown)
        return _noted(result, note)

    def write(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """A new entry. Tasks are open unless `status` says otherwise; a review says what it is a review of."""
        kind = self._type(arguments)
        self.fabric.freshen()
        review_of, revises = self._reference(arguments, "review_of"), self._reference(arguments, "revises")
        if kind == "review" and review_of is None:
            raise BadRequest(
                "fabric_write: a review needs `review_of`.", cure="Give the agent:id of the reviewed entry."
            )
        texts = _Redacted()
        entry = Entry(
            id="",
            agent="",
            type=kind,
            summary=one_line(texts(_said(arguments, "summary", SUMMARY_CHARS))),
            body=clean(texts(_said(arguments, "content", CONTENT_CHARS))),
            created_at=round(caller.now, 3),
            platform=caller.platform,
            status=_status(arguments, kind),
            outcome=one_line(texts(arguments.text("outcome", longest=2000))),
            tier="hot",
            tags=tuple(dict.fromkeys(one_line(texts(tag))[:_LABEL_CHARS] for tag in arguments.strings("tags")[:30])),
            project=one_line(caller.project),
            session=caller.session_id,
            review_of=review_of.ref if review_of else "",
            revises=revises.ref if revises else "",
            customer_id=one_line(arguments.text("customer_id", longest=_LABEL_CHARS)),
            assigned_to=one_line(arguments.text("assigned_to", longest=_LABEL_CHARS)),
            training_value=_training_value(arguments, required=False),
            verified=one_line(_verified(arguments)),
            evidence=one_line(texts(arguments.text("evidence", longest=4000))),
            source_tool=one_line(arguments.text("source_tool", longest=_LABEL_CHARS)),
            artifact_paths=tuple(one_line(texts(path)) for path in arguments.strings("artifact_paths")[:50]),
        )
        card, new = self.fabric.write(entry)
        handle = self.fabric.handle(card)
        result: dict[str, Any] = {
            "status": "written" if new else "already written", "id": card.ref, "handle": handle, "path": card.path,
        }  # fmt: skip
        if not handle:
            del result["handle"]
            result["note"] = "The fabric is still being read; the entry is written, and is found once that is done."
        closed = [one.ref for one in (review_of, revises) if one and is_open(one) and answers(card, one)]
        return result | ({"closes": closed} if closed else {}) | ({"redacted": texts.count} if texts.count else {})

    def pending(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """What waits for this agent: open tasks, reviews of its work, customers' tickets; and what it waits for."""
        note = self.fabric.freshen()
        work = self.fabric.work(arguments.text("customer_id"))
        groups = (
            ("open_task", work.tasks), ("review_of_my_work", work.reviews), ("open_ticket", work.tickets),
            ("waiting_for_others", work.waiting),
        )  # fmt: skip
        items = [{"group": group, **_line(card), **_duty(card)} for group, cards in groups for card in cards]
        counts = {"open_tasks": len(work.tasks), "reviews_of_my_work": len(work.reviews),
                  "open_tickets": len(work.tickets), "waiting_for_others": len(work.waiting)}  # fmt: skip
        return _noted({"agent": self.fabric.agent, **counts, **page(items, arguments)}, note)

    def curate(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """Say how much an entry is worth. Another agent's file stays as it is; a small entry of ours judges it."""
        name = arguments.text("entry_id", required=True)
        value = _training_value(arguments, required=True)
        self.fabric.freshen()
        card = self._found(arguments.tool, "entry_id", name)
        written, own = self.fabric.curate(card, value, caller)
        how = "changed in its own file" if own else "kept in a curation entry; the file belongs to another agent"
        return {"id": card.ref, "training_value": value, "how": how, "path": written.path}

    def brief(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """What a new session needs: what waits, what was decided, what is hot, what others did."""
        note = self.fabric.freshen()
        work = self.fabric.work()
        waiting = {card.key for card in work.mine}
        cards = [card for card in current(self.fabric.cards()) if card.key not in waiting]
        decisions = [card for card in cards if card.type == "decision" and card.tier != "cold"]
        hot = [card for card in cards if card.tier == "hot" and card.type != "decision" and not is_open(card)]
        others = [card for card in hot if card.agent not in ("", self.fabric.agent)]
        own = [card for card in hot if card not in others]
        result = {
            "agent": self.fabric.agent,
            "pending": _lines(self.fabric.pending(caller)),
            "pending_total": len(waiting),
            "recent_decisions": _lines(decisions),
            "hot": _lines(own),
            "from_other_agents": _lines(others),
        }
        return _noted({key: value for key, value in result.items() if value != []}, note)

    def report(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """How many entries there are, by type, agent, status, tier and age; and which files are none, and why."""
        note = self.fabric.freshen()
        cards = self.fabric.cards()
        skipped = self.fabric.store.rows("SELECT path, reason FROM fabric_skipped ORDER BY path LIMIT 20")
        result: dict[str, Any] = {
            "folder": str(self.fabric.folder.root),
            "total": len(cards),
            "by_type": _counts(card.type for card in cards),
            "by_agent": _counts(card.agent or "(a person)" for card in cards),
            "by_status": _counts(card.status or "(none)" for card in cards),
            "by_tier": _counts(card.tier or "(not yet)" for card in cards),
            "by_age": _counts(_age(caller.now - card.created_at) for card in cards),
            "pending": len(self.fabric.work().mine),
        }
        if cards:
            result["newest"], result["oldest"] = iso(cards[0].created_at), iso(cards[-1].created_at)
        if skipped:
            result["skipped"] = [{"path": row["path"], "reason": row["reason"]} for row in skipped]
        return _noted(result, note)

    def telemetry(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """The caller's last recalls and tool calls, newest first, and what became of them."""
        last = arguments.integer("last_n", 50, low=1, high=500)
        read, scope = self.fabric.store.rows, caller.scope.own_listed
        own = "scope IN (SELECT value FROM json_each(?))"
        recalls = read(f"SELECT * FROM recalls WHERE {own} ORDER BY at DESC LIMIT ?", (scope, last))
        calls = read(f"SELECT * FROM tool_calls WHERE {own} ORDER BY at DESC LIMIT ?", (scope, last))
        events = [
            {"at": iso(row["at"]), "event": "recall", "outcome": row["outcome"], "reason": row["reason"],
             "tokens": row["tokens"], "milliseconds": round(row["milliseconds"], 1)}
            for row in recalls
        ] + [
            {"at": iso(row["at"]), "event": "tool", "tool": row["tool"], "query": row["query"],
             "verdict": row["verdict"]}
            for row in calls
        ]  # fmt: skip
        events = sorted(events, key=lambda one: str(one["at"]), reverse=True)[:last]
        shown = [{key: value for key, value in one.items() if value not in ("", None)} for one in events]
        totals = {
            "recalls": _counts(str(one["outcome"]) for one in events if one["event"] == "recall"),
            "tools": _counts(str(one["tool"]) for one in events if one["event"] == "tool"),
        }
        return {**totals, **page(shown, arguments)}

    def init_obsidian(self, arguments: Arguments, caller: Caller) -> dict[str, Any]:
        """Starter files for reading the fabric in Obsidian; nothing is overwritten."""
        return {"folder": str(self.fabric.folder.root), **self.fabric.init_obsidian()}

    def _state(self, card: Card) -> dict[str, Any]:
        """An entry's line, and what answered it if it was open."""
        answer = self.fabric.answer_to(card)
        return {**_line(card), "answered_by": answer} if answer else _line(card)

    # -- arguments -------------------------------------------------------------------------------------------------

    def _type(self, arguments: Arguments) -> str:
        kind = word(arguments.text("type", required=True, longest=60))
        if kind not in TYPES:
            raise BadRequest(f"fabric_write: `type` is {kind!r}; use one of {', '.join(TYPES)}.")
        return kind

    def _reference(self, arguments: Arguments, name: str) -> Card | None:
        text = arguments.text(name, longest=_LABEL_CHARS)
        return self._found(arguments.tool, name, text) if text else None

    def _found(self, tool: str, name: str, text: str) -> Card:
        card = self.fabric.find(text)
        if card is None:
            raise BadRequest(
                f"{tool}: `{name}` is {text!r}, and there is no such entry.",
                cure="Give an agent:id as fabric_search or fabric_pending shows it.",
            )
        return card


class _Redacted:
    """Redacts one text after another and counts what it took out."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, text: str) -> str:
        text, found = redact(text)
        self.count += found
        return text


def _said(arguments: Arguments, name: str, longest: int) -> str:
    """A required text that says something: white space alone is as missing."""
    text = arguments.text(name, required=True, longest=longest)
    if not text:
        raise BadRequest(f"{arguments.tool}: `{name}` is empty.", cure=f"Call again with {name}=<text>.")
    return text


def _status(arguments: Arguments, kind: str) -> str:
    status = word(arguments.text("status", longest=60))
    if status and status not in OPEN | CLOSED:
        raise BadRequest(f"fabric_write: `status` is {status!r}; use one of {', '.join(STATUSES)}.")
    return status or ("open" if kind == "task" else "")


def _training_value(arguments: Arguments, *, required: bool) -> str:
    value = word(arguments.text("training_value", required=required, longest=60))
    if value and value not in TRAINING_VALUES:
        raise BadRequest(f"{arguments.tool}: `training_value` is {value!r}; use one of {', '.join(TRAINING_VALUES)}.")
    return value


def _verified(arguments: Arguments) -> str:
    value = arguments.values.get("verified")
    if isinstance(value, bool):
        return "true" if value else "false"
    return arguments.text("verified", longest=_LABEL_CHARS)


def _line(card: Card) -> dict[str, Any]:
    """What every result says of an entry: the id to name it by, and what it is."""
    line = {
        "id": card.ref, "date": iso(card.created_at)[:10], "type": card.type, "status": card.status,
        "summary": card.summary,
    }  # fmt: skip
    return {key: value for key, value in line.items() if value}


def _lines(cards: Sequence[Card]) -> list[dict[str, Any]]:
    return [_line(card) for card in cards[:_BRIEF_ITEMS]]


def _project(card: Card) -> dict[str, str]:
    return {"project": card.project} if card.project else {}


def _duty(card: Card) -> dict[str, str]:
    found = {"assigned_to": card.assigned_to, "customer_id": card.customer_id, "review_of": card.review_of}
    return {key: value for key, value in found.items() if value}


def _noted(result: dict[str, Any], note: str) -> dict[str, Any]:
    return {**result, "note": note} if note else result


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common(40))


def _age(seconds: float) -> str:
    for days, name in ((7, "week"), (30, "month"), (90, "quarter"), (365, "year")):
        if seconds < days * DAY_S:
            return f"within a {name}"
    return "older"
