from __future__ import annotations

import pytest
from memory_os.errors import BadRequest
from memory_os.facts import TEXT_MAX_CHARS, Fact, Facts, Statement
from memory_os.facts.trust import FEEDBACK, MUTUAL_CONTRADICTION, OBSERVED_USE, RESTATEMENT
from memory_os.memory import Author, Layer, Scope, State
from memory_os.text import query_terms

from .conftest import DAY, ME, NOW, OTHER, remember

SEVEN = {
    "en": ("The staging database listens on port 6380", "which port does the staging database use?"),
    "de": ("Die Testdatenbank lauscht auf Anschluss 6380", "Auf welchem Anschluss lauscht die Testdatenbank?"),
    "pt": ("O banco de testes escuta na porta 6380", "qual é a porta do banco de testes?"),
    "ru": ("Тестовая база слушает порт 6380", "какой порт слушает тестовая база?"),
    "ar": ("قاعدة الاختبار تستمع على المنفذ 6380", "على أي المنفذ تستمع قاعدة الاختبار؟"),
    "zh": ("测试数据库监听端口6380", "测试数据库的端口是多少？"),
    "ja": ("テスト用データベースはポート6380で待ち受ける", "テスト用データベースのポートは？"),
}


def found(facts: Facts, words: str, scope: Scope = ME, now: float = NOW + 1) -> list[str]:
    """What full-text search over the shared index finds, as recall will ask it."""
    hits = facts.index.lexical(query_terms(words), scope.readable, layers=[Layer.FACTS], now=now)
    passages = facts.index.passages([hit.pk for hit in hits])
    return [passages[hit.pk].text for hit in hits]


@pytest.mark.parametrize("language", SEVEN)
def test_a_fact_is_searchable_at_once_in_its_language(facts, language):
    text, question = SEVEN[language]
    remember(facts, "An unrelated line about invoices")
    fact = remember(facts, text)
    assert found(facts, question)[0] == fact.text == text


def test_a_passage_says_what_recall_shows(facts):
    fact = remember(
        facts, "The build runs nightly", category="project", tags=["pipelines"], entities=["Alpha"], author=Author.USER
    )
    (passage,) = facts.index.of_source(fact.source)
    assert (passage.layer, passage.kind, passage.title, passage.author) == (Layer.FACTS, "project", "Alpha", Author.USER)
    assert (passage.scope, passage.trust, passage.created_at) == (ME.key, 0.5, NOW)
    assert passage.handle == fact.handle
    assert found(facts, "Alpha") == [fact.text]
    assert found(facts, "pipeline") == [fact.text]


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\0"])
def test_an_empty_fact_is_refused_and_counted(facts, text):
    with pytest.raises(BadRequest, match="needs text"):
        remember(facts, text)
    assert facts.store.value("SELECT value FROM counters WHERE name = 'facts_rejected'") == 1


def test_an_over_long_fact_is_refused_with_both_lengths(facts):
    assert remember(facts, "x" * TEXT_MAX_CHARS).text == "x" * TEXT_MAX_CHARS
    with pytest.raises(BadRequest, match=r"at most 4,000 characters; this one has 4,001"):
        remember(facts, "y" * (TEXT_MAX_CHARS + 1))


def test_an_unknown_category_is_refused(facts):
    with pytest.raises(BadRequest, match="user_pref, project, tool, general"):
        remember(facts, "A fact", category="misc")


def test_a_lone_surrogate_does_not_break_storing_or_asking(facts):
    fact = remember(facts, "broken \ud800 text about parsers", entities=["\ud800"], tags=["\udfff"], evidence="\ud800")
    assert "parsers" in fact.text
    assert facts.find("broken \ud800 text about parsers", ME) == fact


def test_a_secret_is_not_stored(facts):
    secret = "ghp_" + "a1B2" * 9
    kept = facts.state(Statement(f"The deploy token is {secret}", ME, entities=(secret,), tags=(secret,)), NOW)
    assert kept.redacted >= 1
    assert secret not in kept.fact.text
    for table in ("facts", "fact_entities", "fact_changes", "passages", "passages_fts"):
        rows = facts.store.rows(f"SELECT * FROM {table}")
        assert not any(secret in str(value) for row in rows for value in tuple(row))
    assert facts.store.value("SELECT value FROM counters WHERE name = 'facts_redacted'") >= 1


# -- merging -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", SEVEN)
def test_a_restatement_strengthens_the_fact_there_is(facts, language):
    text, _ = SEVEN[language]
    first = remember(facts, text, evidence="turn-1")
    again = remember(facts, f"{text}.", NOW + 60, evidence="turn-2")
    assert again.id == first.id
    assert again.counts.support == pytest.approx(RESTATEMENT, rel=1e-4)
    assert again.text == text
    assert len(facts.current(ME, NOW + 61)) == 1


@pytest.mark.parametrize("language", SEVEN)
def test_another_number_stays_another_fact_and_both_are_noted(facts, language):
    text, _ = SEVEN[language]
    one = remember(facts, text)
    two = facts.state(Statement(text.replace("6380", "6390"), ME), NOW + 1)
    assert not two.merged
    assert [other.id for other in two.conflicts] == [one.id]
    assert {fact.id for fact in facts.current(ME, NOW + 2)} == {one.id, two.fact.id}


def test_the_same_words_on_another_subject_stay_apart(facts):
    one = remember(facts, "prefers tea", entities=["Alpha team"])
    two = remember(facts, "prefers tea", NOW + 1, entities=["Beta team"])
    again = remember(facts, "Prefers tea.", NOW + 2, entities=["beta team"])
    assert one.id != two.id
    assert again.id == two.id


def test_the_same_words_for_another_time_stay_apart(facts):
    one = facts.state(Statement("The on-call desk is room 4", ME, valid_to=NOW + DAY), NOW)
    two = facts.state(Statement("The on-call desk is room 4", ME, valid_to=NOW + 9 * DAY), NOW + 1)
    assert one.fact.id != two.fact.id


def test_a_replay_of_the_same_turn_counts_once(facts):
    remember(facts, "The user prefers tea", evidence="turn-1", origin="memory:user")
    for later in range(3):
        again = remember(facts, "The user prefers tea", NOW + later, evidence="turn-1", origin="fact_store")
    assert again.counts.support == 0
    for _ in range(3):
        again = remember(facts, "The user prefers tea", NOW + 50, origin="memory:user")
    assert again.counts.support == pytest.approx(RESTATEMENT)


def test_a_fact_of_another_user_is_never_merged_with(facts):
    mine = remember(facts, "The user prefers tea")
    theirs = remember(facts, "The user prefers tea", scope=OTHER)
    assert mine.id != theirs.id
    assert theirs.counts.support == 0


# -- correcting --------------------------------------------------------------------------------------------------------


def test_a_correction_keeps_the_old_text_as_history(facts):
    old = remember(facts, "The server has 4 GB")
    facts.feedback(old, True, NOW)
    new = facts.correct(old, Statement("The server has 8 GB", ME), NOW + DAY).fact
    assert [fact.text for fact in facts.current(ME, NOW + DAY + 1)] == ["The server has 8 GB"]
    assert found(facts, "server GB", now=NOW + DAY + 1) == ["The server has 8 GB"]
    assert [fact.id for fact in facts.history(new)] == [old.id, new.id] == [fact.id for fact in facts.history(old)]
    assert facts.get(old.id, ME).valid_to == NOW + DAY
    assert new.counts.support == 0, "evidence for the old text says nothing of the new one"


def test_the_same_text_is_no_correction(facts):
    fact = remember(facts, "The server has 4 GB")
    assert facts.correct(fact, Statement("The server has 4 GB", ME), NOW + 1).fact.id == fact.id


def test_a_correction_into_a_known_fact_strengthens_that(facts):
    known = remember(facts, "The server has 8 GB")
    old = remember(facts, "The server has 4 GB")
    kept = facts.correct(old, Statement("the server has 8 GB", ME), NOW + 1)
    assert (kept.fact.id, kept.merged) == (known.id, True)
    assert kept.fact.counts.support == pytest.approx(RESTATEMENT)
    facts.undo(kept.fact, NOW + 2)
    assert {fact.id for fact in facts.current(ME, NOW + 3)} == {known.id, old.id}
    assert facts.get(known.id, ME).counts.support == pytest.approx(0, abs=1e-9)


def test_a_corrected_or_removed_fact_names_what_to_do(facts):
    old = remember(facts, "The server has 4 GB")
    new = facts.correct(old, Statement("The server has 8 GB", ME), NOW + 1).fact
    with pytest.raises(BadRequest, match=new.handle):
        facts.retire(old, NOW + 2)
    facts.retire(new, NOW + 2)
    with pytest.raises(BadRequest, match="Undo the removal"):
        facts.edit(new, NOW + 3, tags=("x",))


# -- validity ----------------------------------------------------------------------------------------------------------


def test_a_fact_is_shown_only_within_its_time(facts):
    facts.state(Statement("The desk is in room 4", ME, valid_from=NOW + DAY, valid_to=NOW + 2 * DAY), NOW)
    seen = [len(facts.current(ME, NOW + days * DAY)) for days in (0.5, 1.5, 2.5)]
    searched = [len(found(facts, "desk room", now=NOW + days * DAY)) for days in (0.5, 1.5, 2.5)]
    assert seen == searched == [0, 1, 0]


def test_a_removed_fact_stays_away_when_the_clock_goes_back(facts):
    fact = remember(facts, "The desk is in room 4")
    facts.retire(fact, NOW + DAY)
    assert facts.current(ME, NOW + 1) == []
    assert found(facts, "desk room", now=NOW + 1) == []


# -- undoing -----------------------------------------------------------------------------------------------------------


def test_a_merge_can_be_undone(facts):
    fact = remember(facts, "The user prefers tea", evidence="turn-1")
    remember(facts, "the user prefers tea!", NOW + 10 * DAY, evidence="turn-2", author=Author.USER, tags=["drinks"])
    undone = facts.undo(fact, NOW + 20 * DAY)
    assert undone.action == "merge"
    assert (undone.fact.text, undone.fact.author) == ("the user prefers tea!", Author.USER)
    assert (undone.fact.evidence, undone.fact.tags, undone.fact.created_at) == ("turn-2", ("drinks",), NOW + 10 * DAY)
    assert undone.fact.id != fact.id
    assert facts.get(fact.id, ME).counts.support == pytest.approx(0, abs=1e-9)
    assert len(found(facts, "user prefers tea", now=NOW + 21 * DAY)) == 2


def test_steps_are_taken_back_one_by_one(facts):
    first = remember(facts, "The server has 4 GB", tags=["a"])
    facts.edit(first, NOW + 1, tags=("b",), category="project", entities=("Alpha",), valid_to=NOW + 100 * DAY)
    second = facts.correct(first, Statement("The server has 8 GB", ME), NOW + 2).fact
    third = facts.correct(second, Statement("The server has 16 GB", ME), NOW + 3).fact
    facts.retire(third, NOW + 4)
    assert facts.current(ME, NOW + 5) == []

    assert facts.undo(third, NOW + 5).action == "remove"
    assert found(facts, "server GB", now=NOW + 6) == ["The server has 16 GB"]
    assert facts.undo(third, NOW + 6).fact.text == "The server has 8 GB"
    assert found(facts, "server GB", now=NOW + 7) == ["The server has 8 GB"]
    back = facts.undo(second, NOW + 7).fact
    assert (back.id, back.tags, back.category, back.valid_to) == (first.id, ("b",), "project", NOW + 100 * DAY)
    plain = facts.undo(first, NOW + 8).fact
    assert (plain.tags, plain.category, plain.entities, plain.valid_to) == (("a",), "general", (), None)
    assert facts.undo(first, NOW + 9).action == "add"
    assert facts.current(ME, NOW + 10) == []
    with pytest.raises(BadRequest, match="nothing to undo"):
        facts.undo(first, NOW + 11)


def test_an_older_step_waits_for_the_newer(facts):
    first = remember(facts, "The server has 4 GB")
    second = facts.correct(first, Statement("The server has 8 GB", ME), NOW + 1).fact
    third = facts.correct(second, Statement("The server has 16 GB", ME), NOW + 2).fact
    with pytest.raises(BadRequest, match="Undo its latest step first"):
        facts.undo(first, NOW + 3)
    assert [fact.id for fact in facts.current(ME, NOW + 4)] == [third.id]


def test_undoing_keeps_the_retrieval_count(facts):
    fact = remember(facts, "The server has 4 GB")
    facts.index.used([fact.passage_id, fact.passage_id])
    facts.retire(fact, NOW + 1)
    facts.undo(fact, NOW + 2)
    assert facts.store.value("SELECT uses FROM passages WHERE id = ?", (fact.passage_id,)) == 2


# -- trust -------------------------------------------------------------------------------------------------------------


def trust_of(facts: Facts, fact: Fact, now: float) -> float:
    return facts.posterior(facts.get(fact.id, ME), now).mean


def test_feedback_moves_trust_and_the_passage_with_it(facts):
    fact = remember(facts, "The server has 4 GB")
    rated = facts.feedback(fact, True, NOW)
    assert rated.counts.support == FEEDBACK
    assert facts.index.of_source(fact.source)[0].trust == pytest.approx(0.6)
    facts.feedback(fact, False, NOW)
    assert facts.index.of_source(fact.source)[0].trust == pytest.approx(0.5)


def test_the_same_verdict_in_one_turn_counts_once(facts):
    fact = remember(facts, "The server has 4 GB")
    for _ in range(5):
        rated = facts.feedback(fact, True, NOW, turn="turn-1")
    assert rated.counts.support == FEEDBACK
    assert facts.feedback(fact, True, NOW, turn="turn-2").counts.support == 2 * FEEDBACK


def test_feedback_can_be_undone(facts):
    fact = remember(facts, "The server has 4 GB")
    facts.feedback(fact, False, NOW)
    facts.undo(fact, NOW + 30 * DAY)
    assert trust_of(facts, fact, NOW + 30 * DAY) == pytest.approx(0.5)


def test_observation_weighs_less_than_a_verdict_however_it_is_called(facts):
    fact = remember(facts, "The server has 4 GB")
    facts.observe_use(fact.id, True, OBSERVED_USE, NOW)
    used = trust_of(facts, fact, NOW)
    assert 0.5 < used < 0.6
    facts.observe_use(fact.id, False, 1000.0, NOW)
    assert facts.get(fact.id, ME).counts.against == FEEDBACK
    facts.observe_use(10**6, True, OBSERVED_USE, NOW)  # forgotten meanwhile


def test_trust_fades_into_the_passages(facts):
    half_life = facts.half_life_days * DAY
    fact = remember(facts, "The server has 4 GB")
    other = remember(facts, "Invoices go out on Mondays")
    for turn in range(4):
        facts.feedback(fact, True, NOW, turn=str(turn))
    assert facts.refresh_trust(NOW) == 0
    assert facts.refresh_trust(NOW + half_life) == 1
    assert facts.index.of_source(fact.source)[0].trust == pytest.approx((2 + 2) / (4 + 2))
    assert facts.refresh_trust(NOW + 60 * half_life) == 1
    assert facts.index.of_source(fact.source)[0].trust == pytest.approx(0.5, abs=1e-3)
    assert facts.index.of_source(other.source)[0].trust == 0.5


def test_a_trust_change_keeps_the_vector(facts):
    fact = remember(facts, "The server has 4 GB")
    facts.index.embeddings.mark_indexed([pending.pk for pending in facts.index.embeddings.pending(10)])
    facts.feedback(fact, True, NOW)
    assert facts.index.embeddings.pending_count() == 0


# -- contradictions ----------------------------------------------------------------------------------------------------


def test_a_recorded_contradiction_outlives_a_consistent_verdict(facts):
    one = remember(facts, "Redis is used in staging")
    two = remember(facts, "Redis is not used in staging", NOW + 1)
    assert [pair.state for pair in facts.conflicts(ME, NOW + 2)] == ["possible"]
    assert facts.mark(one, two, NOW + 3)
    assert facts.mark(two, one, NOW + 4, consistent=True), "still recorded"
    (pair,) = facts.conflicts(ME, NOW + 5)
    assert (pair.state, pair.marked_at, pair.consistent_at) == ("contradiction", NOW + 3, NOW + 4)
    assert facts.contradicted([one.id, two.id]) == {one.id: [two.id], two.id: [one.id]}
    assert len(facts.current(ME, NOW + 5)) == 2, "both are kept"


def test_a_contradiction_counts_once_against_both(facts):
    one = remember(facts, "Redis is used in staging")
    two = remember(facts, "Redis is not used in staging")
    for _ in range(3):
        facts.mark(one, two, NOW)
    for fact in (one, two):
        assert facts.get(fact.id, ME).counts.against == MUTUAL_CONTRADICTION


def test_a_consistent_verdict_settles_a_mere_candidate(facts):
    one = remember(facts, "Redis is used in staging")
    two = remember(facts, "Redis is often used in staging")
    assert len(facts.conflicts(ME, NOW)) == 1
    assert not facts.mark(one, two, NOW, consistent=True)
    assert facts.conflicts(ME, NOW) == []


def test_a_correction_settles_a_contradiction_and_undo_brings_it_back(facts):
    one = remember(facts, "Redis is used in staging")
    two = remember(facts, "Redis is not used in staging")
    facts.mark(one, two, NOW)
    facts.retire(two, NOW + 1)
    assert facts.conflicts(ME, NOW + 2) == []
    assert facts.contradicted([one.id]) == {}
    facts.undo(two, NOW + 3)
    assert [pair.state for pair in facts.conflicts(ME, NOW + 4)] == ["contradiction"]


def test_a_fact_cannot_contradict_itself_or_another_users(facts):
    one = remember(facts, "Redis is used in staging")
    theirs = remember(facts, "Redis is not used in staging", scope=OTHER)
    for other in (one, theirs):
        with pytest.raises(BadRequest):
            facts.mark(one, other, NOW)


# -- forgetting --------------------------------------------------------------------------------------------------------


def test_forgetting_leaves_no_word_behind(facts):
    first = remember(facts, "The zebra code is alpha-one")
    remember(facts, "the zebra code is alpha-one!", NOW + 1)
    second = facts.correct(first, Statement("The zebra code is alpha-two", ME), NOW + 2).fact
    other = remember(facts, "The zebra code is not alpha-one", NOW + 3)
    facts.mark(second, other, NOW + 4)
    kept = remember(facts, "Invoices go out on Mondays")

    gone = facts.forget(second.id, NOW + 100)
    assert {fact.id for fact in gone} == {first.id, second.id}, "earlier versions go with it"
    assert [fact.id for fact in facts.forget(other.id, NOW + 100)] == [other.id]
    tables = facts.store.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'passages_fts%'")
    for table in [row["name"] for row in tables]:
        rows = facts.store.rows(f"SELECT * FROM {table}")
        assert not any("zebra" in str(value) for row in rows for value in tuple(row)), table
    assert found(facts, "zebra code") == []
    assert [fact.id for fact in facts.current(ME, NOW + 9)] == [kept.id]
    assert facts.forget(second.id, NOW + 100) == []


def test_an_earlier_version_can_be_forgotten_alone(facts):
    first = remember(facts, "The zebra code is alpha-one")
    second = facts.correct(first, Statement("The zebra code is alpha-two", ME), NOW + 1).fact
    assert [fact.id for fact in facts.forget(first.id, NOW + 100)] == [first.id]
    assert [fact.id for fact in facts.current(ME, NOW + 2)] == [second.id]


def test_the_id_of_a_forgotten_fact_is_not_given_again(facts):
    fact = remember(facts, "The zebra code is alpha-one")
    facts.forget(fact.id, NOW + 100)
    assert remember(facts, "Something else").id > fact.id


# -- health ------------------------------------------------------------------------------------------------------------


def test_health_tells_empty_from_ok(facts):
    assert facts.health().state is State.EMPTY
    fact = remember(facts, "Redis is used in staging", entities=["Redis"])
    health = facts.health()
    assert (health.state, health.figures["live"], health.figures["entities"]) == (State.OK, 1, 1)
    facts.retire(fact, NOW)
    assert facts.health().state is State.EMPTY


def test_ids_of_a_scope_and_of_a_session(facts):
    one = remember(facts, "Redis is used in staging", session_id="a/b")
    two = remember(facts, "Invoices go out on Mondays", session_id="c")
    remember(facts, "Not mine", scope=OTHER, session_id="a/b")
    assert facts.ids(ME) == [one.id, two.id]
    assert facts.ids(ME, session_id="a/b") == [one.id]
