"""A host of 50 sessions of five people: its turns go through the plugin's hooks and into its state.db, as Hermes does it.

It runs in a process of its own, is killed like one, and writes down what it has promised: a turn whose hook returned, or
whose rows are committed, must be in memory in the end, once.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from sessions.host import HostDb

SESSIONS = 50
OWNERS = ("Quillon", "Brasko", "Vendra", "Ostrik", "Mallow")
PROMISED = "promised"
LEAKED = "leaked"
# Every so many turns of a session the host compacts it: rows are put away, the last ones written again.
COMPACTED_EVERY = 4
_KEPT = 4
# A turn in state.db is the hook's for a minute; these are older.
_AGO_S = 300.0
_SAID = (
    "{owner} put crate {n} into hall {hall}, behind the tall shelf.",
    "{owner} hat die Kiste {n} in Halle {hall} hinter das hohe Regal gestellt.",
    "{owner} pôs a caixa {n} no pavilhão {hall}, atrás da estante alta.",
    "{owner} поставил ящик {n} в зал {hall} за высокую полку.",
    "وضع {owner} الصندوق رقم {n} في القاعة {hall} خلف الرف العالي.",
    "{owner}把编号{n}的箱子放在{hall}号大厅的高架子后面。",
    "{owner}は番号{n}の箱を{hall}番ホールの高い棚の後ろに置いた。",
)
_ANSWERED = "So the crate numbered {n} stands in hall {hall}; {owner} has its key on the ring with {tag} keys."


def session_of(turn: int) -> str:
    return f"talk-{turn % SESSIONS}"


def owner_of(turn: int) -> str:
    return OWNERS[turn % SESSIONS % len(OWNERS)]


def said(turn: int) -> tuple[str, str]:
    """What the person and the agent say in a turn: no two alike, in seven languages."""
    words = {"owner": owner_of(turn), "n": 100_000 + turn, "hall": 1 + turn * 7 % 83, "tag": 3 + turn % 29}
    return _SAID[turn % len(_SAID)].format(**words), _ANSWERED.format(**words)


def make_state(home: Path) -> None:
    """The host's database with its sessions, nothing said yet."""
    host = HostDb(home / "state.db", schema=31)
    for number in range(SESSIONS):
        host.session(session_of(number), "telegram", user_id=owner_of(number))
    host.close()


def live(home: Path, first: int, turns: int) -> None:
    """Have these turns. Returns when all are promised; usually it is killed before."""
    from plugin import loading

    hooks = __import__(f"{loading.PACKAGE}.hooks", fromlist=["hooks"])
    rows = sqlite3.connect(home / "state.db", isolation_level=None, timeout=30)
    promises = os.open(home / PROMISED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for turn in range(first, first + turns):
        named = {
            "session_id": session_of(turn), "turn_id": f"{session_of(turn)}:turn-{turn}", "platform": "telegram",
            "sender_id": owner_of(turn), "user_message": said(turn)[0],
        }  # fmt: skip
        os.write(promises, b"began %d\n" % turn)
        _hear(home, turn, hooks.pre_llm_call(**named, conversation_history=[], is_first_turn=False))
        _write_rows(rows, turn)
        os.write(promises, b"stored %d\n" % turn)
        hooks.post_llm_call(**named, assistant_response=said(turn)[1], conversation_history=[], model="none")
        os.write(promises, b"captured %d\n" % turn)
        if turn // SESSIONS % COMPACTED_EVERY == COMPACTED_EVERY - 1:
            _compact(rows, session_of(turn))


def _hear(home: Path, turn: int, given: dict[str, str] | None) -> None:
    """Nothing of another may stand in what this one is given."""
    context = (given or {}).get("context", "")
    for other in OWNERS:
        if other != owner_of(turn) and other in context:
            with (home / LEAKED).open("a", encoding="utf-8") as stream:
                stream.write(f"turn {turn} of {owner_of(turn)} was given {other}'s: {context}\n")


def _write_rows(rows: sqlite3.Connection, turn: int) -> None:
    rows.execute("BEGIN IMMEDIATE")
    for role, text in zip(("user", "assistant"), said(turn), strict=True):
        uid = f"uid-{turn}-{role}" if turn % 2 else None
        _insert(rows, session_of(turn), role, text, time.time() - _AGO_S, uid)
    rows.execute("COMMIT")


def _compact(rows: sqlite3.Connection, session: str) -> None:
    rows.execute("BEGIN IMMEDIATE")
    live_rows = rows.execute(
        "SELECT role, content, timestamp, message_uid FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", (session,)
    ).fetchall()
    rows.execute("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active = 1", (session,))
    summary = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted."
    _insert(rows, session, "assistant", summary, live_rows[-1][2], None)
    for row in live_rows[-_KEPT:]:
        _insert(rows, session, *row)
    rows.execute("COMMIT")


def _insert(rows: sqlite3.Connection, session: str, role: str, text: str, at: float, uid: str | None) -> None:
    rows.execute(
        "INSERT INTO messages(session_id, role, content, timestamp, message_uid) VALUES(?, ?, ?, ?, ?)",
        (session, role, text, at, uid),
    )
