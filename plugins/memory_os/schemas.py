"""What the model is told of each tool. Every word is paid for in every request, so each has to earn its place.

The first sentence carries the meaning in at most 60 characters: newer hosts show only that until the tool is loaded.
"""

from __future__ import annotations

from typing import Any

_LIMIT = {"type": "integer", "description": "Most results"}
_CURSOR = {"type": "string", "description": "From the last result, for more"}


def _text(description: str = "", *options: str) -> dict[str, Any]:
    field: dict[str, Any] = {"type": "string"}
    if options:
        field["enum"] = list(options)
    if description:
        field["description"] = description
    return field


def _list(description: str = "") -> dict[str, Any]:
    field: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    return {**field, "description": description} if description else field


def _tool(name: str, description: str, *required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": list(required)},
    }


_ENTRY_TYPES = ("task", "decision", "review", "resolution", "research", "code-session", "session", "note")
_CATEGORIES = ("user_pref", "project", "tool", "general")

SCHEMAS: tuple[dict[str, Any], ...] = (
    _tool(
        "fabric_recall",
        "Recall shared entries of all agents that fit a question.",
        "query",
        query=_text(),
        max_results={"type": "integer"},
        agent=_text("Only entries of this agent"),
        project=_text(),
        cursor=_CURSOR,
    ),
    _tool(
        "fabric_write",
        "Write a task, decision, review or note for all agents.",
        "type",
        "content",
        type=_text("", *_ENTRY_TYPES),
        content=_text("Markdown"),
        summary=_text("One line"),
        tags=_list(),
        status=_text("e.g. open, blocked, done"),
        outcome=_text(),
        review_of=_text("Id of the entry this reviews"),
        revises=_text("Id of the entry this replaces or completes"),
        customer_id=_text(),
        assigned_to=_text("Agent"),
        training_value=_text("", "high", "normal", "low"),
        verified={"type": "boolean"},
        evidence=_text(),
        source_tool=_text(),
        artifact_paths=_list(),
    ),
    _tool("fabric_search", "Search shared entries by exact words.", "query", query=_text(), cursor=_CURSOR),
    _tool(
        "fabric_pending",
        "List open shared tasks and requested reviews.",
        customer_id=_text(),
        cursor=_CURSOR,
    ),
    _tool(
        "fabric_curate",
        "Rate a shared entry's training value.",
        "entry_id",
        "training_value",
        entry_id=_text(),
        training_value=_text("", "high", "normal", "low"),
    ),
    _tool("fabric_brief", "Brief on shared work: open, recent, decided."),
    _tool("fabric_report", "Count shared entries by type, agent, status, tier and age."),
    _tool(
        "fabric_telemetry",
        "Show the last recalls: what was found and used.",
        last_n={"type": "integer"},
    ),
    _tool("fabric_init_obsidian", "Make the shared folder an Obsidian vault."),
    _tool(
        "fact_store",
        "Keep, find, correct and remove durable facts. "
        "add: content. search: query. probe, related: entity. reason: entities. contradict: facts that disagree. "
        "update: fact_id with content (the old text stays as history) or other fields. remove, undo, history: fact_id. "
        "list (as_of: what held then). contradict with fact_id, other_id, verdict judges a pair; replaces: the first is newer.",
        "action",
        action=_text(
            "", "add", "search", "probe", "related", "reason", "contradict", "update", "remove", "list", "history", "undo"
        ),
        content=_text("One fact, understandable alone"),
        query=_text(),
        entity=_text(),
        entities=_list(),
        fact_id=_text("f:… of a recalled line, or a number"),
        other_id=_text(),
        verdict=_text("", "contradiction", "consistent", "replaces"),
        category=_text("", *_CATEGORIES),
        tags=_list(),
        as_of=_text("Date"),
        valid_from=_text("Date"),
        valid_to=_text("Date"),
        trust_delta={"type": "number"},
        min_trust={"type": "number"},
        limit=_LIMIT,
        cursor=_CURSOR,
    ),
    _tool(
        "fact_feedback",
        "Say whether a recalled fact was right; trust follows.",
        "action",
        "fact_id",
        action=_text("", "helpful", "unhelpful"),
        fact_id=_text("f:… of a recalled line, or a number"),
    ),
    _tool(
        "qdrant_search",
        "Search documents, sessions, facts and entries by meaning.",
        "query",
        query=_text(),
        limit=_LIMIT,
        cursor=_CURSOR,
        layers={
            "type": "array",
            "items": _text("", "sessions", "facts", "fabric", "documents", "wiki", "workspace"),
            "description": "Default all",
        },
    ),
    _tool("peer_profile", "Show who this person is, in a few lines."),
    _tool("peer_search", "Search conclusions about this person.", "query", query=_text()),
    _tool("peer_context", "Gather profile, conclusions and quotes on a topic.", query=_text()),
    _tool(
        "peer_reasoning",
        "Ask what is known of this person; deeper takes longer.",
        "query",
        query=_text(),
        depth={"type": "integer", "description": "1-3"},
    ),
    _tool(
        "peer_conclude",
        "Keep or delete a conclusion about this person.",
        content=_text(),
        delete=_text("Its id"),
    ),
    _tool(
        "memory_forget",
        "Delete memories of this user everywhere, for good. "
        "Give id; or query, then again with confirm=true to delete what it listed; or session; or all_mine with confirm.",
        id=_text("Of a recalled line, e.g. s:…"),
        query=_text(),
        session=_text("Session id, or 'current'"),
        all_mine={"type": "boolean"},
        confirm={"type": "boolean"},
    ),
)

NAMES: tuple[str, ...] = tuple(schema["name"] for schema in SCHEMAS)
