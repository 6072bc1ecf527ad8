"""From turns to figures: outcomes, posteriors before and after, and a report that can be counted again by hand."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.engine import Engine
from memory_os.facts import Statement, trust
from memory_os.ground_truth.attribution import LineOutcome
from memory_os.ground_truth.outcomes import under_review, weight_of
from memory_os.ground_truth.turns import Turn, Turns
from memory_os.memory import Scope
from memory_os.recall.ledger import Missed
from memory_os.text import token_estimate
from memory_os_workers.plot import svg
from support.library import in_time, settings_of

ASKED = "Which port does the orchard gateway use?"
FACT = "The orchard gateway listens on port 8443"
NOW = time.time()


class Desk:
    """An engine without a model, and turns as the plugin tells of them."""

    def __init__(self, home: Path, config: str = "") -> None:
        self.engine = Engine.open(settings_of(home, config))
        self.engine.settings.spool_dir.mkdir(exist_ok=True)
        self.store = self.engine.store
        self.fact = self.engine.facts.state(Statement(FACT, Scope()), NOW - 100).fact
        self._turns = 0

    def turn(self, answer: str, *calls: dict[str, Any], question: str = ASKED) -> str:
        self._turns += 1
        turn_id = f"t{self._turns}"
        ids = {"turn_id": turn_id, "session_id": "s1", "user": "local", "profile": "default", "platform": "cli"}
        in_time(lambda: self.engine.recall({"v": 1, "user_message": question, **ids}), lambda recalled: str(recalled["reason"]))
        self.engine.recaller.ledger.wait_written()
        for one in calls:
            self.engine.observe({"event": "post_tool", **ids, **one})
        record = {"v": 1, "type": "turn", "at": NOW, "user_message": question, "assistant_response": answer, **ids}
        (self.engine.settings.spool_dir / f"{self._turns:020}-a.json").write_text(json.dumps(record), "utf-8")
        self.engine.drain_spool()
        return turn_id

    def mean(self) -> float:
        fact = self.engine.facts.get(self.fact.id, Scope())
        return self.engine.facts.posterior(fact, time.time()).mean

    def outcomes(self) -> list[str]:
        rows = self.store.rows("SELECT outcome FROM line_uses WHERE layer = 'facts' ORDER BY turn_id")
        return [row["outcome"] for row in rows]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.engine.close()


def search(query: str, result: str = "hits", **more: Any) -> dict[str, Any]:
    return {"tool": "session_search", "arguments": {"query": query}, "result": result, "milliseconds": 20.0, **more}


TERMINAL = {"tool": "terminal", "arguments": {"command": "ss"}, "result": "orchard gateway LISTEN port 9443"}


def test_a_used_line_raises_the_trust_a_little(desk: Desk) -> None:
    before = desk.mean()
    desk.turn("It listens on 8443.")
    assert desk.outcomes() == ["used"]
    expected = (trust.PRIOR_ALPHA + trust.OBSERVED_USE) / (trust.PRIOR_ALPHA + trust.PRIOR_BETA + trust.OBSERVED_USE)
    assert before == pytest.approx(0.5) and desk.mean() == pytest.approx(expected, abs=1e-4)


def test_an_ignored_line_moves_nothing(desk: Desk) -> None:
    before = desk.mean()
    desk.turn("I can't say.")
    assert desk.outcomes() == ["ignored"] and desk.mean() == pytest.approx(before)


def test_a_contradicted_fact_falls_and_waits_for_a_review(desk: Desk) -> None:
    before = desk.mean()
    desk.turn("The orchard gateway is on port 9443 now.", TERMINAL)
    assert desk.outcomes() == ["contradicted"] and desk.mean() < before
    (waiting,) = under_review(desk.store)
    assert waiting["handle"] == desk.fact.handle and "9443" in waiting["evidence"]
    health = desk.engine.status()["layers"]["7 ground truth"]
    assert "1 fact waits for a review" in health["detail"]
    desk.engine.facts.feedback(desk.fact, True, time.time() + 1)
    assert under_review(desk.store) == [], "somebody judged it since"


def test_an_explicit_verdict_in_the_turn_is_the_one_that_counts(desk: Desk) -> None:
    desk.engine.facts.feedback(desk.fact, False, time.time(), turn="t1")
    before = desk.mean()
    desk.turn("It listens on 8443.")
    assert desk.outcomes() == ["used"] and desk.mean() == pytest.approx(before, abs=1e-4)


def test_a_turn_that_has_its_answer_is_kept_in_memory_no_longer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[object] = []
    turns = desk.engine.ground_truth.watch.turns

    def get(turn_id: str, scope: str) -> Turn | None:
        known.append(Turns.get(turns, turn_id, scope))
        return Turns.get(turns, turn_id, scope)

    monkeypatch.setattr(turns, "get", get)
    answered = desk.turn("It listens on 8443.")
    assert known[-1] is not None, "its lines and what its tools said are used once more"
    monkeypatch.undo()
    assert turns.get(answered, Scope().key) is None


def test_a_turn_that_was_shown_nothing_is_kept_no_longer_than_till_its_answer(desk: Desk) -> None:
    turns = desk.engine.ground_truth.watch.turns
    seen = {"visible": {"handles": [desk.fact.handle]}}
    told = {"v": 1, "session_id": "s1", "user": "local", "profile": "default", "platform": "cli", **seen}
    for turn_id in ("found-nothing", "waits"):
        desk.engine.recall({"user_message": "Quel temps fait-il à Vienne?", "turn_id": turn_id, **told})
    desk.engine.recaller.ledger.wait_written()
    assert turns.running() == ["found-nothing", "waits"], "the window of each has a line that a look-up may be for"
    record = {"type": "turn", "at": NOW, "user_message": "?", "assistant_response": "Fine.", "turn_id": "found-nothing", **told}
    (desk.engine.settings.spool_dir / f"{1:020}-a.json").write_text(json.dumps(record), "utf-8")
    desk.engine.drain_spool()
    assert turns.running() == ["waits"]


def test_a_turn_is_looked_at_once(desk: Desk) -> None:
    desk.turn("It listens on 8443.")
    mean = desk.mean()
    assert desk.engine.ground_truth.judge_answered() == 0
    assert desk.mean() == pytest.approx(mean)


def test_turns_whose_lines_were_forgotten_are_not_in_the_way(desk: Desk) -> None:
    desk.turn("It listens on 8443.")
    with desk.store.write() as db:
        db.execute("DELETE FROM line_uses")
        db.execute("UPDATE recall_lines SET passage_id = 'gone'")
    assert desk.engine.ground_truth.judge_answered() == 0


def test_a_turn_whose_service_ended_is_looked_at_later(desk: Desk) -> None:
    desk.engine.ground_truth.outcomes.judge_answered = lambda now: 0  # type: ignore[method-assign]
    desk.turn("It listens on 8443.")
    assert desk.outcomes() == []
    del desk.engine.ground_truth.outcomes.judge_answered  # type: ignore[attr-defined]
    desk.engine.ground_truth.forgotten()
    assert desk.engine.ground_truth.judge_answered() == 1 and desk.outcomes() == ["used"]


@given(st.sampled_from([LineOutcome.USED, LineOutcome.CONTRADICTED]), st.integers(1, 500))
def test_all_observations_together_stay_below_one_verdict(outcome: LineOutcome, times: int) -> None:
    assert sum(weight_of(outcome, before) for before in range(times)) < trust.FEEDBACK


def test_what_is_forgotten_leaves_the_figures_too(desk: Desk) -> None:
    desk.turn("The orchard gateway is on port 9443 now.", TERMINAL)
    caller = {"user": "local", "profile": "default"}
    desk.engine.call_tool("memory_forget", {"id": desk.fact.handle}, caller)
    for table in ("fact_reviews", "trust_moves"):
        assert desk.store.value(f"SELECT count(*) FROM {table}") == 0, table
    assert desk.outcomes() == []


def test_the_figures_are_those_of_the_raw_ledger(desk: Desk) -> None:
    desk.turn("It listens on 8443.", search("orchard gateway port", "x" * 400))
    desk.turn("I can't say.", search("harvest festival"))
    desk.turn("The orchard gateway is on port 9443 now.", TERMINAL)
    desk.turn("You are welcome.", question="thanks!")
    desk.turn("Here.", search("orchard gateway port"), question="Search our sessions for the orchard gateway port.")
    desk.engine.recaller.ledger.too_late(Missed("went on", "s1", Scope().key, "cli", NOW, "timeout after 300 ms"))
    found = desk.engine.report({"since": 0, "everyone": True})
    raw = counted_by_hand(desk.store.path)
    assert {key: found["total"][key] for key in raw} == raw
    assert sum(day["turns"] for day in found["days"].values()) == found["total"]["turns"] == 6
    assert found["total"]["rediscoveries"] == 1 and found["total"]["checks"] == 1 and found["total"]["small_talk"] == 1
    assert found["total"]["late"] == 1
    assert (found["total"]["used"], found["total"]["contradicted"]) >= (1, 1)
    assert found["total"]["rediscovery_tokens"] == token_estimate("x" * 400) and found["total"]["rediscovery_ms"] == 20.0
    facts = found["total"]["layers"]["facts"]
    assert facts["lines"] == raw_lines(desk.store.path, "facts")
    assert facts["used"] + facts["ignored"] + facts["contradicted"] <= facts["lines"]
    moved = {one["handle"]: one for one in found["trust"]}[desk.fact.handle]
    assert moved["before"] == 0.5 and moved["after"] == pytest.approx(desk.mean(), abs=2e-3)
    json.dumps(found)


def counted_by_hand(path: Path) -> dict[str, float]:
    """The same figures, by plain loops over the raw tables."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        recalls = db.execute("SELECT * FROM recalls").fetchall()
        calls = db.execute("SELECT * FROM tool_calls").fetchall()
        uses = {(row["turn_id"], row["passage_id"]): row["outcome"] for row in db.execute("SELECT * FROM line_uses")}
        shown = [(row["turn_id"], row["passage_id"]) for row in db.execute("SELECT * FROM recall_lines") if row["shown"]]
        misses = db.execute("SELECT count(*) FROM misses").fetchone()[0]
    again = [row for row in calls if row["verdict"] == "rediscovery"]
    given_turns = [row for row in recalls if row["tokens"]]
    return {
        "turns": len(recalls),
        "injections": len(given_turns),
        "lines": len(shown),
        "tokens": sum(row["tokens"] for row in recalls),
        "late": len([row for row in recalls if row["outcome"] == "late"]),
        "small_talk": len([row for row in recalls if row["reason"] == "small talk"]),
        **{name: len([key for key in shown if uses.get(key) == name]) for name in ("used", "ignored", "contradicted")},
        "look_ups": len(calls),
        "rediscoveries": len(again),
        "rediscovery_tokens": sum(row["result_tokens"] for row in again),
        "rediscoveries_per_100": round(100 * len(again) / len(given_turns), 1),
        "misses": misses,
    }


def raw_lines(path: Path, layer: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        sql = "SELECT count(*) FROM recall_lines l JOIN passages p ON p.id = l.passage_id WHERE l.shown = 1 AND p.layer = ?"
        return int(db.execute(sql, (layer,)).fetchone()[0])


def test_one_persons_report_has_nothing_of_another(desk: Desk) -> None:
    desk.turn("The orchard gateway is on port 9443 now.", TERMINAL)
    theirs = desk.engine.report({"since": 0, "user": "telegram:42", "profile": "default"})
    assert theirs["total"]["turns"] == 0 and theirs["reviews"] == theirs["trust"] == theirs["misses"] == []


def test_a_mode_is_proposed_after_its_week(desk: Desk) -> None:
    report = desk.engine.ground_truth.report
    began = report.begin(NOW - 8 * 86_400)
    assert report.begin(NOW) == began
    for _ in range(20):
        desk.turn("It listens on 8443.", search("orchard gateway port"))
    found = report.mode_figures(NOW + 60)
    assert found["mode"] == "observe" and "ground_truth.mode point" in found["proposal"]


def test_the_plot_is_well_formed_and_shows_empty_days(desk: Desk) -> None:
    import xml.etree.ElementTree as ElementTree

    desk.turn("It listens on 8443.")
    found = desk.engine.report({"since": time.time() - 6 * 86_400, "everyone": True})
    picture = ElementTree.fromstring(svg(found))
    texts = [element.text for element in picture.iter() if element.tag.endswith("text")]
    days = found["until"] // 86_400 - found["since"] // 86_400 + 1  # seven; eight where midnight came meanwhile
    assert len([text for text in texts if text and len(text) == 5 and text[2] == "-"]) == days >= 7
    ElementTree.fromstring(svg({**found, "days": {}, "since": 0.0, "until": 0.0}))
