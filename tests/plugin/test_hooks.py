from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memory_os_plugin import courier, hooks, offswitch, paths, state, window

from plugin.conftest import HANGS_S
from plugin.peer import Peer, reply

Spooled = Callable[[], list[dict[str, Any]]]

BLOCK = "<memory-context>\n[facts]\n- (f:abcdefgh) 2026-11-02: one\n</memory-context>"


def pre(text: Any = "Where is the key?", **more: Any) -> Any:
    given = {
        "session_id": "s1",
        "task_id": "t",
        "turn_id": "s1:t:1",
        "user_message": text,
        "conversation_history": [{"role": "user", "content": text}],
        "is_first_turn": True,
        "model": "m",
        "platform": "cli",
        "sender_id": "",
        "telemetry_schema_version": "hermes.observer.v1",
    }
    return hooks.pre_llm_call(**{**given, **more})


def post(text: Any = "Where is the key?", answer: Any = "In the drawer.", **more: Any) -> Any:
    given = {
        "session_id": "s1",
        "task_id": "t",
        "turn_id": "s1:t:1",
        "user_message": text,
        "assistant_response": answer,
        "conversation_history": [],
        "model": "m",
        "platform": "cli",
    }
    return hooks.post_llm_call(**{**given, **more})


# -- recall --------------------------------------------------------------------------------------------------------


def test_the_block_is_passed_on_as_it_came(peer: Peer) -> None:
    peer.context = BLOCK
    assert pre() == {"context": BLOCK}


def test_the_service_is_told_who_asks_what_and_what_stands_in_the_window(home: paths.Home, peer: Peer) -> None:
    history = [
        {"role": "user", "content": "earlier", "api_content": f"earlier\n\n{BLOCK}"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": "now"},
    ]
    pre("now", conversation_history=history, is_first_turn=False, platform="telegram", sender_id=42)
    (asked,) = peer.asked("/v1/recall")
    assert asked["user"] == "telegram:42" and asked["profile"] == "default" and asked["platform"] == "telegram"
    assert asked["turn_id"] == "s1:t:1" and asked["session_id"] == "s1" and asked["first_turn"] is False
    assert asked["user_message"] == "now" and asked["v"] == 1 and abs(asked["at"] - time.time()) < 60
    assert asked["visible"] == {
        "hashes": [window.content_hash("earlier"), window.content_hash("answer")],
        "handles": ["f:abcdefgh"],
    }
    assert set(asked) == {
        "v", "turn_id", "session_id", "parent_session_id", "platform", "user", "profile", "project", "user_message",
        "first_turn", "visible", "before", "at",
    }  # fmt: skip
    assert asked["before"] == window.content_hash("earlier"), "what the person wrote before"


def test_nothing_found_is_nothing_said(peer: Peer, spooled: Spooled) -> None:
    assert pre() is None
    assert spooled() == []


@pytest.mark.parametrize(
    "more",
    [
        {"platform": "cron"},
        {"platform": "subagent", "parent_session_id": "p"},
        {"platform": "curator"},
        {"session_id": "cron_1_20261130_040000"},
        {"session_id": "bg_1", "platform": "telegram"},
        {"text": ""},
        {"text": None},
        {"text": [{"type": "image_url", "image_url": {}}]},
        {"text": "[CONTEXT COMPACTION — REFERENCE ONLY] x"},
    ],
)
def test_where_nobody_speaks_nothing_is_recalled_and_nothing_kept(
    peer: Peer, spooled: Spooled, more: dict[str, Any]
) -> None:
    peer.context = BLOCK
    assert pre(**more) is None
    post(**{key: value for key, value in more.items() if key != "parent_session_id"})
    assert peer.requests == [] and spooled() == []


def test_the_background_review_with_the_users_own_ids_is_left_out(peer: Peer, spooled: Spooled) -> None:
    peer.context = BLOCK
    found: list[Any] = []
    review = threading.Thread(target=lambda: found.extend([pre(), post()]), name="bg-review")
    review.start()
    review.join()
    assert found == [None, None] and peer.requests == [] and spooled() == []


def test_an_image_message_is_recalled_for_and_kept_by_its_text(peer: Peer, spooled: Spooled) -> None:
    parts = [{"type": "text", "text": "Whose dog is this?"}, {"type": "image_url", "image_url": {"url": "data:…"}}]
    pre(parts)
    post(parts)
    assert peer.asked("/v1/recall")[0]["user_message"] == "Whose dog is this?"
    assert spooled()[0]["user_message"] == "Whose dog is this?"


def test_a_message_of_megabytes_is_cut_for_the_question_and_kept_whole_up_to_a_million(
    peer: Peer, spooled: Spooled
) -> None:
    pre("鍵" * 900_000)
    post("鍵" * 900_000)
    assert len(peer.asked("/v1/recall")[0]["user_message"].encode()) <= 1_000_000
    assert len(spooled()[0]["user_message"]) == 900_000


@pytest.mark.usefixtures("promised")
@pytest.mark.parametrize("conduct", ["hang", "garbage", "close", "status", "not_ours"])
def test_a_service_in_any_state_does_not_touch_the_turn(peer: Peer, spooled: Spooled, conduct: str) -> None:
    conducts: dict[str, Callable[[socket.socket, str, dict[str, Any]], None]] = {
        "hang": peer.hang,
        "garbage": lambda connection, path, body: connection.sendall(b"\x00\xff garbage\r\n\r\n"),
        "close": lambda connection, path, body: None,
        "status": lambda connection, path, body: reply(connection, {"error": "x"}, 500),
        "not_ours": lambda connection, path, body: reply(connection, {"context": {"not": "text"}}),
    }
    peer.conduct = conducts[conduct]
    started = time.monotonic()
    assert pre() is None
    assert time.monotonic() - started < HANGS_S
    missed = [record for record in spooled() if record["type"] == "missed"]
    assert len(missed) == (conduct != "not_ours")
    assert all(record["what"] == "recall" and record["reason"] and record["milliseconds"] >= 0 for record in missed)
    whose = {"turn_id": "s1:t:1", "session_id": "s1", "platform": "cli", "user": "local", "profile": "default"}
    assert all(whose.items() <= record.items() for record in missed)


def test_a_miss_is_told_at_once_and_lies_before_its_turn(home: paths.Home, peer: Peer, spooled: Spooled) -> None:
    peer.conduct = lambda connection, path, body: None if path == "/v1/recall" else reply(connection, {})
    assert pre() is None
    assert courier.wait_empty(60)
    assert peer.asked("/v1/spool") == [{}]
    post()
    assert [record["type"] for record in spooled()] == ["missed", "turn"]


# -- capture -------------------------------------------------------------------------------------------------------


def test_a_turn_is_on_disk_when_the_hook_returns_and_the_service_is_nudged(
    peer: Peer, spooled: Spooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_SESSION_KEY", "agent:main:telegram:42")
    pre(platform="telegram", sender_id="42", parent_session_id="p0")
    post(platform="telegram")
    (record,) = spooled()
    assert abs(record.pop("at") - time.time()) < 60
    assert record == {
        "v": 1,
        "type": "turn",
        "turn_id": "s1:t:1",
        "session_id": "s1",
        "session_key": "agent:main:telegram:42",
        "parent_session_id": "p0",
        "platform": "telegram",
        "user": "telegram:42",
        "profile": "default",
        "project": "",
        "model": "m",
        "before": "",
        "user_message": "Where is the key?",
        "assistant_response": "In the drawer.",
    }
    peer.wait_for("/v1/spool")


def test_it_is_kept_once_however_often_the_callback_repeats(spooled: Spooled) -> None:
    pre()
    threads = [threading.Thread(target=post) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(spooled()) == 1 + 1  # the turn, and the recall that nobody answered
    post(turn_id="s1:t:2")
    assert [record["turn_id"] for record in spooled() if record["type"] == "turn"] == ["s1:t:1", "s1:t:2"]


def test_a_turn_that_failed_leaves_nothing_behind(home: paths.Home, peer: Peer, spooled: Spooled) -> None:
    pre()
    assert len(state.shared().turns) == 1
    hooks.on_session_end(session_id="s1", turn_id="s1:t:1", completed=False, interrupted=True, platform="cli")
    assert len(state.shared().turns) == 0 and spooled() == []


def test_a_turn_whose_beginning_was_not_seen_is_kept(spooled: Spooled) -> None:
    post(turn_id="other")
    assert [record["user"] for record in spooled()] == ["local"]


def test_two_senders_in_one_process_stay_apart(peer: Peer, spooled: Spooled) -> None:
    def talk(sender: str) -> None:
        for number in range(5):
            ids = {"session_id": f"s{sender}", "turn_id": f"{sender}:{number}", "platform": "telegram"}
            pre(f"from {sender}", sender_id=sender, **ids)
            post(f"from {sender}", **ids)

    threads = [threading.Thread(target=talk, args=(sender,)) for sender in ("1", "2", "3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turns = [record for record in spooled() if record["type"] == "turn"]
    assert len(turns) == 15
    assert all(record["user_message"] == f"from {record['user'].removeprefix('telegram:')}" for record in turns)
    assert all(body["user_message"] == f"from {body['user'][9:]}" for body in peer.asked("/v1/recall"))


def test_a_home_that_cannot_be_written_costs_the_turn_nothing_and_is_told_later(
    home: paths.Home, caplog: pytest.LogCaptureFixture
) -> None:
    home.root.write_text("a file where the folder should be")
    for number in range(3):
        pre(turn_id=str(number))
        assert post(turn_id=str(number)) is None
    courier.wait_empty(60)
    assert len([record for record in caplog.records if "spool_turn" in record.getMessage()]) == 1
    home.root.unlink()
    peer = Peer(home.run / "service.sock")
    try:
        post(turn_id="0")
        assert len(list(home.spool.glob("*.json"))) == 1, "what the disk refused may be tried again"
        told = next(body for body in peer.wait_for("/v1/observe") if body["event"] == "plugin_faults")
        assert {name.partition(":")[0]: n for name, n in told["counts"].items() if "turn" in name} == {"spool_turn": 3}
    finally:
        peer.close()


def test_capture_takes_little_time(peer: Peer, home: paths.Home) -> None:
    post(turn_id="warm-up")
    taken = []
    for number in range(40):
        started = time.perf_counter()
        post(turn_id=str(number), answer="x" * 5000)
        taken.append(time.perf_counter() - started)
    assert min(taken) < 0.05, "a machine with other work only adds to it; `memory-os bench` measures the aim"


# -- the off switch ------------------------------------------------------------------------------------------------


def test_a_chat_that_is_off_is_neither_recalled_for_nor_kept(home: paths.Home, peer: Peer, spooled: Spooled) -> None:
    peer.context = BLOCK
    offswitch.turn_off(home, "s1")
    assert pre() is None
    post()
    assert spooled() == [] and peer.asked("/v1/recall") == []
    assert pre(session_id="s2") == {"context": BLOCK}
    offswitch.turn_on(home, "s1")
    assert pre() == {"context": BLOCK}


def wrote(**more: Any) -> None:
    given = {"tool_name": "memory", "session_id": "s1", "turn_id": "s1:t:1", "args": {"action": "add", "content": "x"}}
    hooks.post_tool_call(**{**given, "status": "ok", "result": '{"success": true}', **more})


def searched(**more: Any) -> None:
    given = {"tool_name": "session_search", "session_id": "s1", "turn_id": "s1:t:1", "args": {"query": "my salary"}}
    hooks.post_tool_call(**{**given, "status": "ok", "result": "", **more})


@pytest.mark.parametrize("name", ["s1", "agent:main:telegram:42"])
def test_in_a_chat_that_is_off_no_write_is_mirrored_and_no_search_told(
    home: paths.Home, peer: Peer, spooled: Spooled, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A gateway's chat is off by the host's key, a terminal's by its session id."""
    monkeypatch.setenv("HERMES_SESSION_KEY", "agent:main:telegram:42")
    offswitch.turn_off(home, name)
    pre(platform="telegram", sender_id="42")
    wrote()
    searched()
    monkeypatch.delenv("HERMES_SESSION_KEY")  # a thread without the session's context
    wrote()
    searched()
    courier.wait_empty(60)
    assert spooled() == [] and peer.asked("/v1/observe") == []
    offswitch.turn_on(home, name)
    wrote()
    searched()
    assert len(spooled()) == 1 and len(peer.wait_for("/v1/observe")) == 1


def test_a_chat_stays_off_when_compaction_renames_its_session(home: paths.Home, peer: Peer, spooled: Spooled) -> None:
    offswitch.turn_off(home, "s1")
    pre()
    wrote(session_id="s1-compacted")
    searched(session_id="s1-compacted")
    post(session_id="s1-compacted")
    pre("next", session_id="s1-compacted", turn_id="s1:t:2")
    post("next", session_id="s1-compacted", turn_id="s1:t:2")
    courier.wait_empty(60)
    assert spooled() == [] and peer.asked("/v1/observe") == [] and peer.asked("/v1/recall") == []


def test_a_turn_stays_its_senders_when_compaction_renames_its_session(peer: Peer, spooled: Spooled) -> None:
    pre(platform="telegram", sender_id="42")
    wrote(session_id="s1-compacted")
    post(session_id="s1-compacted", platform="telegram")
    wrote(session_id="s1-compacted", turn_id="")
    assert [record["user"] for record in spooled()] == ["telegram:42"] * 3


def test_a_new_session_of_a_chat_stays_its_senders(peer: Peer, spooled: Spooled) -> None:
    pre(platform="telegram", sender_id="42")
    hooks.on_session_reset(session_id="s2", platform="telegram", old_session_id="s1", new_session_id="s2")
    wrote(session_id="s2", turn_id="")
    assert [record["user"] for record in spooled()] == ["telegram:42"]


# -- the other hooks -----------------------------------------------------------------------------------------------


def test_what_the_hosts_memory_tool_wrote_is_mirrored(
    peer: Peer, spooled: Spooled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_SESSION_KEY", "agent:main:telegram:42")
    pre(platform="telegram", sender_id="42")
    given = {"tool_name": "memory", "session_id": "s1", "status": "ok", "args": {"action": "add", "content": "a fact"}}
    hooks.post_tool_call(**given, result='{"success": true}')
    hooks.post_tool_call(**given, result='{"success": true, "staged": true}')
    hooks.post_tool_call(**{**given, "status": "error"}, result='{"success": true}')
    (record,) = spooled()
    record.pop("at")
    assert record == {
        "v": 1,
        "type": "memory_write",
        "session_id": "s1",
        "session_key": "agent:main:telegram:42",
        "platform": "telegram",
        "user": "telegram:42",
        "profile": "default",
        "action": "add",
        "target": "memory",
        "content": "a fact",
        "old_text": "",
    }


def test_searches_are_reported_and_nothing_else(peer: Peer) -> None:
    pre()
    more = {"session_id": "s1", "turn_id": "s1:t:1", "tool_call_id": "c", "api_request_id": "r"}
    for name, args in [
        ("session_search", {"query": "key"}),
        ("terminal", {"command": "ls"}),
        ("fact_store", {"action": "search", "query": "key"}),
        ("fact_store", {"action": "add", "content": "x"}),
        ("read_file", None),
    ]:
        assert hooks.pre_tool_call(tool_name=name, args=args, **more) is None
        hooks.post_tool_call(tool_name=name, args=args, result="12345", status="ok", duration_ms=3, **more)
    courier.wait_empty(60)
    events = [(body["event"], body["tool"]) for body in peer.wait_for("/v1/observe", 3)]
    assert events == [("post_tool", tool) for tool in ("session_search", "fact_store", "read_file")], "once each"
    first = peer.asked("/v1/observe")[0]
    assert first["arguments"] == {"query": "key"} and first["turn_id"] == "s1:t:1"
    assert first["result"] == "12345" and first["milliseconds"] == 3 and first["tool_call_id"] == "c"


def test_the_service_is_woken_by_a_session_and_told_when_it_is_over(peer: Peer) -> None:
    hooks.on_session_start(session_id="s1", model="m", platform="cli")
    hooks.on_session_reset(session_id="s2", platform="cli", old_session_id="s1", new_session_id="s2")
    hooks.on_session_finalize(session_id="s1", platform="cli")
    hooks.on_session_start(session_id="cron_1_2", platform="cron")
    hooks.on_session_finalize(session_id="cron_1_2", platform="cron")
    hooks.on_session_finalize(session_id=None, platform="gateway")
    courier.wait_empty(60)
    assert peer.asked("/v1/spool") == [{}]
    over = [(body["event"], body["session_id"]) for body in peer.asked("/v1/observe")]
    assert over == [("session_over", "s1"), ("session_over", "s1")], "what is told twice changes nothing"
    assert len(peer.requests) == 3


def test_session_hooks_return_at_once_even_when_the_service_hangs(peer: Peer) -> None:
    peer.conduct = peer.hang
    started = time.monotonic()
    for _ in range(20):
        assert hooks.on_session_start(session_id="s", model="m", platform="cli") is None
        assert hooks.on_session_finalize(session_id=None, platform="gateway", reason="shutdown") is None
        assert hooks.on_session_reset(session_id="s2", platform="cli", reason="new_session") is None
        assert hooks.on_session_end(session_id="s", completed=True, interrupted=False) is None
    assert time.monotonic() - started < HANGS_S
    peer.conduct = peer.polite
    peer.close()


@pytest.mark.parametrize("hook", hooks.HOOKS.values(), ids=list(hooks.HOOKS))
@pytest.mark.parametrize(
    "rubbish",
    [
        {},
        {"session_id": object(), "turn_id": 7, "user_message": object(), "conversation_history": 5, "platform": None},
        {"session_id": "../../etc/x", "turn_id": "a/b", "tool_name": ["x"], "args": "no", "result": b"\xff"},
        {"tool_name": "memory", "status": "ok", "args": {"action": []}, "result": '{"success": true}'},
    ],
)
def test_no_arguments_make_a_hook_raise_or_print(
    hook: Any, rubbish: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    assert hook(**rubbish) is None
    assert capfd.readouterr() == ("", "")


def test_no_fault_of_ours_gets_out(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for fault in (ValueError("x"), SystemExit(7)):

        def broken(fault: BaseException = fault) -> Any:
            raise fault

        monkeypatch.setattr(hooks, "current_home", broken)
        for hook in hooks.HOOKS.values():
            assert hook(session_id="s", tool_name="read_file", platform="cli") is None
    assert state.shared().counts.take()["hook:pre_llm_call:SystemExit"] == 1
    assert any("hook:pre_llm_call:ValueError" in record.getMessage() for record in caplog.records)


def test_ctrl_c_stays_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed() -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(hooks, "current_home", pressed)
    with pytest.raises(KeyboardInterrupt):
        pre()


def test_a_session_id_with_slashes_is_only_ever_data(home: paths.Home, spooled: Spooled) -> None:
    offswitch.turn_off(home, "../../outside")
    post(session_id="../../outside", turn_id="x")
    post(session_id="a/../../b", turn_id="y")
    assert [record["session_id"] for record in spooled()] == ["a/../../b"]
    assert {path.parent for path in home.hermes.rglob("*") if path.is_file()} <= {
        home.spool, home.root / "off", home.run, home.logs
    }  # fmt: skip


def test_another_profile_has_a_home_and_a_name_of_its_own(
    tmp_path: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "profiles" / "work"
    other.mkdir(parents=True)
    monkeypatch.setattr(paths, "_hermes_home", lambda: other)
    post()
    (record,) = [json.loads(path.read_bytes()) for path in (other / "memory-os" / "spool").glob("*.json")]
    assert record["profile"] == "work"
