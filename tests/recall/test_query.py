"""What a hook sends becomes one question."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.constants import FENCE_CLOSE, FENCE_OPEN
from memory_os.errors import BadRequest
from memory_os.memory import Layer, Scope
from memory_os.recall import Query, query_of, scope_of
from memory_os.recall.query import TURN_DEPTH, layers_of
from support.library import real_embedder

NOW = 1_790_000_000.0
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=10,
)
FIELDS = (
    "user_message", "user", "profile", "turn_id", "session_id", "platform", "visible", "at", "first_turn", "layers",
)  # fmt: skip


def test_a_body_becomes_a_query() -> None:
    query = query_of(
        {
            "user_message": "Wo liegen die Backups?", "user": "telegram:42", "profile": "work", "turn_id": "t1",
            "session_id": "s1", "platform": "telegram", "first_turn": True, "at": 5.0, "layers": ["facts", "documents"],
            "visible": {"hashes": ["aa", 7], "handles": ["f:abcdefgh"]},
        },
        {},
    )  # fmt: skip
    assert (query.text, query.language, query.terms) == ("Wo liegen die Backups?", "de", ("liegen", "backups"))
    assert query.scope == Scope("telegram:42", "work")
    assert (query.turn_id, query.session_id, query.platform, query.first_turn) == ("t1", "s1", "telegram", True)
    assert query.layers == (Layer.FACTS, Layer.VECTORS, Layer.WIKI)
    assert (query.depth, query.sources) == (TURN_DEPTH, ()), "a body says neither how deep nor what alone"
    assert query.visible.hashes == {"aa"}
    assert query.visible.handles == {"f:abcdefgh"}
    assert abs(query.now - time.time()) < 60, "a clock of the caller's doesn't decide what is valid"


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_any_body_is_a_query_or_a_bad_request(body: dict[str, Any]) -> None:
    try:
        query = query_of(body, {})
    except BadRequest:
        return
    assert query.scope.user
    assert query.scope.profile


def test_a_message_of_parts_is_its_text() -> None:
    parts = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "data:…"}}]
    assert query_of({"user_message": parts}, {}).text == "what is this?"


def test_a_megabyte_is_cut_to_its_ends() -> None:
    query = Query.of(f"Look at this log: {'x 1 ' * 250_000} why does the importer crash?", Scope(), now=NOW)
    assert len(query.text) < 2000
    assert query.text.startswith("Look at this log")
    assert query.text.endswith("why does the importer crash?")
    assert {"log", "importer", "crash"} <= set(query.terms)


@pytest.mark.parametrize(
    ("filling", "asked"),
    [
        ("The importer wrote another line about nothing in particular. ", "Why does the importer crash?"),
        ("2026-09-21T14:13:07.221 INFO [pool-3] id=8f3c:19 took=0.221\n", "Why does the importer crash?"),
        ("{'a': [1, 2], 'b': None}, ", "Why does the importer crash?"),
        ("本番サーバーのログは九十日間保存してから自動的に削除します。", "京都ではどこに泊まりますか？"),
        ("部署只能在周二和周四进行，需要两个人批准。", "项目周会是什么时候？"),
        ("Кэш каталога очищается автоматически каждые шесть часов. ", "Когда выйдет релиз?"),
        ("ينتهي عقد إيجار المكتب في نهاية شهر يونيو. ", "متى ينتهي العقد؟"),
    ],
)
def test_the_encoder_reads_all_of_a_long_message_that_is_kept(filling: str, asked: str) -> None:
    text = Query.of(f"{filling * 200}{asked}", Scope(), now=NOW).text
    assert text.endswith(asked)
    watched: Any = real_embedder()._encoder
    encoder = watched._encoder
    (tokens,) = encoder._tokens([f"query: {text}"])
    assert 100 < len(tokens) < encoder._weights.positions - 4


def test_our_own_block_in_a_message_is_no_question() -> None:
    block = f'{FENCE_OPEN}\n[facts]\n- (f:abcdefgh) 2026-11-02, agent noted: "tea"\n{FENCE_CLOSE}'
    assert Query.of(f"{block}\nWhich port?", Scope(), now=NOW).text == "Which port?"
    assert Query.of(block, Scope(), now=NOW).text == ""


def test_aliases_join_the_senders_of_one_person() -> None:
    aliases = {"telegram:42": "local"}
    assert scope_of({"user": "telegram:42"}, aliases) == Scope("local", "default")
    assert scope_of({"user": "telegram:7"}, aliases) == Scope("telegram:7", "default")
    assert scope_of({}, aliases) == Scope("local", "default")


def test_layers_by_name() -> None:
    assert layers_of(["qdrant", "documents", "facts"]) == (Layer.VECTORS, Layer.WIKI, Layer.FACTS)
    assert (layers_of(["vectors"]), layers_of(["wiki"])) == ((Layer.VECTORS,), (Layer.WIKI,))
    with pytest.raises(BadRequest, match="'dreams'") as caught:
        layers_of(["dreams"])
    assert "sessions" in caught.value.cure
