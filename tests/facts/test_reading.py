from __future__ import annotations

import pytest
from memory_os.errors import BadRequest
from memory_os.facts import Facts, Statement
from memory_os.memory import Layer
from memory_os.tooling import Caller

from .conftest import ME, NOW, OTHER, remember

AT = NOW + 100


def texts(found) -> list[str]:
    return [getattr(one, "fact", one).text for one in found]


@pytest.fixture
def web(facts: Facts) -> Facts:
    """Alpha - Redis - Berlin, and Gamma apart."""
    for position, (text, entities) in enumerate(
        [
            ("Alpha stores sessions in Redis", ["Alpha", "Redis"]),
            ("Redis is hosted in Berlin", ["Redis", "Berlin"]),
            ("Alpha is written in Rust", ["Alpha", "Rust"]),
            ("Gamma sends invoices", ["Gamma"]),
            ("The Rust compiler is pinned", ["Rust"]),
        ]
    ):
        remember(facts, text, scope=ME, entities=entities, now=NOW + position)
    return facts


def test_probe_gives_all_facts_on_an_entity_newest_first(web):
    assert texts(web.on_entity("redis", ME, AT)) == ["Redis is hosted in Berlin", "Alpha stores sessions in Redis"]


@pytest.mark.parametrize(
    ("named", "mention", "entity"),
    [
        ("A note", "robin lives by the harbour", "Robin"),
        ("Ein Hinweis", "wartung macht nordlicht am Montag", "Nordlicht"),
        ("Uma nota", "o projeto da alfa começa hoje", "Alfa"),
        ("Заметка", "проект ветер начинается сегодня", "Ветер"),
        ("ملاحظة", "يبدأ مشروع الشراع اليوم", "الشراع"),
        ("备注", "今天远航项目开始", "远航"),
        ("メモ", "今日は青空の作業を始める", "青空"),
    ],
)
def test_an_entity_is_found_by_link_and_by_mention_in_seven_languages(facts, named, mention, entity):
    before = remember(facts, mention, scope=ME, now=NOW)
    linked = remember(facts, named, scope=ME, entities=[entity], now=NOW + 1)
    after = remember(facts, f"{mention} …", scope=ME, tags=["x"], entities=["other"], now=NOW + 2)
    assert [fact.id for fact in facts.on_entity(entity, ME, AT)] == [after.id, linked.id, before.id]
    assert entity in after.entities, "a name once known is linked when it is mentioned"


def test_related_facts_share_entities_with_it(web):
    found = web.related("Alpha", ME, AT)
    assert {(one.fact.text, one.via) for one in found} == {
        ("Redis is hosted in Berlin", ("Redis",)),
        ("The Rust compiler is pinned", ("Rust",)),
    }
    assert web.related("Gamma", ME, AT) == []


def test_reason_finds_what_connects_several_entities(web):
    direct = web.connecting(["alpha", "redis"], ME, AT)
    assert (direct[0].fact.text, direct[0].via) == ("Alpha stores sessions in Redis", ("alpha", "redis"))


def test_reason_bridges_over_a_third_entity(web):
    found = web.connecting(["Alpha", "Berlin"], ME, AT)
    assert {(one.fact.text, one.via) for one in found} == {
        ("Alpha stores sessions in Redis", ("Redis",)),
        ("Redis is hosted in Berlin", ("Redis",)),
    }
    assert web.connecting(["Gamma", "Berlin"], ME, AT) == []


@pytest.mark.parametrize("entities", [[], ["Alpha"], ["Alpha", "alpha"]])
def test_reason_needs_two_entities(web, entities):
    with pytest.raises(BadRequest, match="two or more"):
        web.connecting(entities, ME, AT)


def test_search_uses_the_engines_searcher_when_there_is_one(web):
    asked = []

    def searcher(query, caller, layers, limit, sources=None):
        asked.append((query, caller.scope, list(layers), limit))
        rows = web.index.lexical(["invoices", "berlin"], caller.scope.readable, layers=layers, now=caller.now)
        return list(web.index.passages([hit.pk for hit in rows]).values())

    web.searcher = searcher
    assert set(texts(web.search("Rechnungen", Caller(ME, now=AT), 7))) == {
        "Gamma sends invoices",
        "Redis is hosted in Berlin",
    }
    assert asked == [("Rechnungen", ME, [Layer.FACTS], 7)]


def test_a_searcher_that_returns_anothers_fact_leaks_nothing(web):
    secret = remember(web, "A private matter", scope=OTHER, now=NOW)
    web.searcher = lambda *_: web.index.of_source(secret.source)
    assert web.search("private", Caller(ME, now=AT), 5) == []


def test_a_question_without_a_match_finds_nothing(web):
    assert web.search("volcano", Caller(ME, now=AT), 5) == []
    assert web.search("", Caller(ME, now=AT), 5) == []


def test_two_users_interleaved_see_only_their_own(facts):
    for turn in range(4):
        for scope, owner in ((ME, "first"), (OTHER, "second")):
            remember(facts, f"Redis number {turn} of the {owner}", scope=scope, entities=["Redis"], now=NOW + turn)
            remember(facts, f"Redis number {turn} of the {owner} in Berlin", scope=scope, entities=["Berlin"], now=NOW)
    for scope, owner, foreign in ((ME, "first", "second"), (OTHER, "second", "first")):
        pairs = facts.conflicts(scope, AT)
        seen = [
            *texts(facts.current(scope, AT)),
            *texts(facts.search("Redis number first second", Caller(scope, now=AT), 50)),
            *texts(facts.on_entity("Redis", scope, AT)),
            *texts(facts.related("Redis", scope, AT)),
            *texts(facts.connecting(["Redis", "Berlin"], scope, AT)),
            *[fact.text for pair in pairs for fact in (pair.a, pair.b)],
        ]
        assert any(owner in text for text in seen)
        assert not any(foreign in text for text in seen)
    theirs = facts.current(OTHER, AT)[0]
    for reference in (theirs.id, theirs.handle, theirs.source):
        with pytest.raises(BadRequest, match="There is no fact"):
            facts.get(reference, ME)
    assert facts.find(theirs.text, ME) is None


def test_another_profile_is_another_scope(facts):
    fact = remember(facts, "Redis is used", scope=ME, now=NOW)
    with pytest.raises(BadRequest):
        facts.get(fact.id, type(ME)("local", "work"))


@pytest.mark.parametrize("reference", ["", "0", "-1", "f:aaaaaaaa", "' OR 1=1 --", "9" * 40, "\ud800", "fact:x"])
def test_a_reference_to_nothing_says_where_ids_come_from(web, reference):
    with pytest.raises(BadRequest, match="search or list"):
        web.get(reference, ME)


def test_all_forms_of_a_reference(web):
    fact = web.current(ME, AT)[0]
    for reference in (fact.id, str(fact.id), f"#{fact.id}", fact.source, fact.handle, f"({fact.handle.upper()})"):
        assert web.get(reference, ME).id == fact.id


def test_find_is_by_statement_not_by_similarity(web):
    fact = web.find("alpha is written in Rust!", ME)
    assert fact is not None
    assert web.find("Alpha is written in Go", ME) is None
    web.retire(fact, AT)
    assert web.find("Alpha is written in Rust", ME) is None


def test_conflicts_of_one_entity(facts):
    remember(facts, "Alpha has 4 workers", scope=ME, entities=["Alpha"], now=NOW)
    remember(facts, "Alpha has 8 workers", scope=ME, entities=["Alpha"], now=NOW)
    remember(facts, "Beta has 2 disks", scope=ME, entities=["Beta"], now=NOW)
    remember(facts, "Beta has 3 disks", scope=ME, entities=["Beta"], now=NOW)
    assert len(facts.conflicts(ME, AT)) == 2
    assert [{pair.a.text, pair.b.text} for pair in facts.conflicts(ME, AT, "beta")] == [
        {"Beta has 2 disks", "Beta has 3 disks"}
    ]


def test_many_alike_rows_do_not_become_a_list_of_disputes(facts):
    for port in range(40):
        kept = facts.state(Statement(f"Service number {port} listens on port {9000 + port}", ME), NOW + port)
        assert len(kept.conflicts) <= 3
