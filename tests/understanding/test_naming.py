"""Extraction with a small model: it names subject and relation, the sentence is the fact."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_os.errors import ModelContent
from memory_os.llm import Answer, ModelClient, Request, StoreUsage
from memory_os.understanding.asking import delivery_of
from memory_os.understanding.change import SURE
from memory_os.understanding.naming import CALLS, NamedSentence, item_of, read_by_sentence, statements
from memory_os.understanding.reading import Read, Reading
from memory_os.understanding.transcript import Turn
from support.model_server import ModelServer, Say

from understanding.conftest import LOCAL, MINUTE, NOW, Bench, settings_of


def named(subject: str, relation: str) -> Say:
    return Say(json.dumps({"subject": subject, "relation": relation}, ensure_ascii=False))


@pytest.fixture
def small(tmp_path: Path, model_server: ModelServer) -> Iterator[Bench]:
    endpoint = model_server.endpoint(tmp_path.name)
    bench = Bench(settings_of(tmp_path / "home", endpoint.base_url, models={"small": True}), endpoint)
    yield bench
    bench.engine.close()


def understand(bench: Bench, now: float) -> None:
    for due in bench.layer.due(now):
        reading = bench.layer.reading(due.scope, due.session_id, due.watermark, now)
        assert reading is not None
        bench.layer.deliver(asyncio.run(_delivered(bench, reading)), now)


async def _delivered(bench: Bench, reading: Reading) -> dict[str, Any]:
    model = ModelClient.open(bench.settings, StoreUsage(bench.engine.store))
    try:
        return await delivery_of(model, reading)
    finally:
        await model.close()


def facts(bench: Bench, now: float) -> list[str]:
    return sorted(one.text for one in bench.engine.facts.as_of(LOCAL, now))


def test_a_later_number_replaces_and_the_old_one_is_readable_as_of(small: Bench) -> None:
    small.model.script("PostgreSQL", named("orders database", "runs on"))
    small.said("The orders database runs on PostgreSQL 16. Is that new?")
    understand(small, NOW + 60 * MINUTE)
    small.said("The orders database runs on PostgreSQL 17.", at=NOW + 90 * MINUTE, session="s2")
    understand(small, NOW + 150 * MINUTE)
    assert facts(small, NOW + 150 * MINUTE) == ["The orders database runs on PostgreSQL 17."]
    assert facts(small, NOW + 30 * MINUTE) == ["The orders database runs on PostgreSQL 16."]
    assert len(small.model.requests) == 2  # a question is no statement
    assert "JSON schema" not in small.model.requests[0].system


def test_a_value_without_a_number_is_only_proposed(small: Bench) -> None:
    small.model.script("lake house", named("spare key", "is kept in"), named("spare key", "is kept in"))
    small.said("The spare key is kept in the lake house.")
    small.said("The spare key is kept in the garage of the lake house.", at=NOW + MINUTE)
    understand(small, NOW + 60 * MINUTE)
    assert len(facts(small, NOW + 60 * MINUTE)) == 2


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("The collector listens on port 7411.", "collector"),
        ("Die Sitzung beginnt um 10 Uhr.", "Sitzung"),
        ("O servidor Tejo fica em Lisboa.", "servidor Tejo"),
        ("Сервер Байкал стоит в Иркутске.", "Сервер Байкал"),
        ("خادم النيل يعمل في القاهرة.", "خادم النيل"),
        ("灯塔项目使用消息队列。", "灯塔项目"),
        ("ランタンは三十日間保存します。", "ランタン"),
    ],
    ids=["en", "de", "pt", "ru", "ar", "zh", "ja"],
)
def test_a_subject_is_one_the_sentence_has(sentence: str, subject: str) -> None:
    item = item_of(NamedSentence(subject=subject, relation="no such word"), sentence)
    assert item is not None
    assert (item.subject, item.relation, item.statement) == (subject, "", sentence)
    assert item.confidence < SURE
    assert item_of(NamedSentence(subject="Redis", relation=""), sentence) is None
    assert item_of(NamedSentence(subject=sentence, relation=""), sentence) is None
    assert list(statements(Turn("t", 0.0, sentence, "A sentence of the agent."))) == [sentence]


def test_what_is_said_of_a_pronoun_replaces_nothing() -> None:
    item = item_of(NamedSentence(subject="I", relation="have"), "I have 2 laptops at home.")
    assert item is not None and (item.subject, item.relation) == ("", "")


def test_useless_answers_are_dropped_and_raised_if_there_are_no_others() -> None:
    async def ask(request: Request) -> Answer:
        said = request.messages[-1].content
        if "prose" in said:
            raise ModelContent("prose")
        return Answer(text="", parsed=NamedSentence(subject=said.split()[0]), units=1.0)

    def read(*texts: str) -> Read:
        turns = tuple(Turn(f"t{number}", 0.0, text, "") for number, text in enumerate(texts))
        return asyncio.run(read_by_sentence(ask, Reading("default/local", "s", turns)))

    done = read("prose it is. Redis listens on 6380.")
    assert (done.dropped, [one["subject"] for one in done.items], done.turns) == (1, ["Redis"], ["t0"])
    with pytest.raises(ModelContent):
        read("prose it is.")
    many = read(*["Redis listens on 6380. Valkey does too."] * (CALLS // 2 + 3))
    assert (many.calls, len(many.turns)) == (CALLS, CALLS // 2)
