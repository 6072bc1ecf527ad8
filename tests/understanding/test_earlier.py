"""Sessions from before memory-os are read a little a day, the newest first, and never before what is said now."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sessions.host import HostDb
from support.model_server import ModelServer

from understanding.conftest import LOCAL, MINUTE, NOW, Bench, answer, fact, settings_of

DAY = 86_400.0
WHO = {"user": "local", "profile": "default"}


def make(tmp_path: Path, model_server: ModelServer, **values: Any) -> Bench:
    endpoint = model_server.endpoint(tmp_path.name)
    return Bench(settings_of(tmp_path / "hermes", endpoint.base_url, **values), endpoint)


@pytest.fixture
def bench(tmp_path: Path, model_server: ModelServer) -> Iterator[Bench]:
    made = make(tmp_path, model_server)
    yield made
    made.engine.close()


def imported(bench: Bench, session: str, at: float, *turns: tuple[str, ...], standing: str = "indexed", scope: str = LOCAL.key) -> None:
    """Rows as the import leaves them: no turn, a place in state.db."""
    with bench.engine.store.write() as db:
        place = int(db.execute("SELECT coalesce(max(host_id), 0) FROM messages").fetchone()[0])
        for question, *said in turns:
            for role, text in (("user", question), *(("assistant", one) for one in said)):
                place += 1
                known = "narration" if text.startswith("…") else standing
                db.execute(
                    "INSERT INTO messages(session_id, lineage, role, text, content_hash, said_at, turn_id, host_id, host_ts, scope,"
                    " platform, project, model, context, standing) VALUES(?, ?, ?, ?, ?, ?, '', ?, ?, ?, 'cli', '', '', '', ?)",
                    (session, session, role, text, text, at + place, place, at + place, scope, known),
                )  # fmt: skip


def run(bench: Bench, now: float) -> list[dict[str, Any]]:
    """A look that hands out, and the next one that reads."""
    return [*bench.understand(now), *bench.understand(now)]


def test_the_newest_session_is_read_first_with_the_answers_and_once(bench: Bench) -> None:
    imported(bench, "old", NOW - 90 * DAY, ("The old gate is green.", "So it is."))
    imported(bench, "new", NOW - 3 * DAY, ("Which port has the gate?", "… looking", "The gate listens on port 7411."))
    bench.answers(answer(facts=[fact("The gate listens on port 7411.")]), answer())
    assert [one["kept"] for one in run(bench, NOW)] == [1]
    (prompt,) = bench.prompts
    assert "port 7411" in prompt and "looking" not in prompt and "green" not in prompt
    (kept,) = bench.facts(now=NOW)
    assert kept.evidence.startswith("history:")
    run(bench, NOW + MINUTE)
    run(bench, NOW + 60 * MINUTE)
    assert len(bench.prompts) == 2 and "old gate" in bench.prompts[1]
    assert bench.layer.status(NOW)["earlier"]["waiting_messages"] == 0


def test_what_is_said_now_goes_first_and_what_is_not_an_earlier_session_waits(bench: Bench) -> None:
    imported(bench, "old", NOW - 9 * DAY, ("The old gate is green.", "So it is."))
    imported(bench, "today", NOW - 60 * MINUTE, ("The new gate is red.", "So it is."))
    imported(bench, "group", NOW - 4 * DAY, ("The gate of others is white.", "So it is."), scope="default/telegram:7")
    imported(bench, "gone", NOW - 5 * DAY, ("The lost gate is blue.", "So it is."), standing="withdrawn")
    bench.said("The lamp is yellow this winter.", at=NOW - 30 * MINUTE)
    bench.answers(answer())
    bench.understand(NOW)
    assert ["lamp" in one for one in bench.prompts] == [True]
    run(bench, NOW)
    told = "\n".join(bench.prompts)
    assert "old gate" in told and "new gate" not in told and "lost gate" not in told and "of others" not in told


def test_a_days_share_is_kept_and_the_next_day_goes_on(tmp_path: Path, model_server: ModelServer) -> None:
    bench = make(tmp_path, model_server, understanding={"history_tokens": 120})
    imported(bench, "old", NOW - 9 * DAY, *((f"Gate {n} is painted green. {'It was so. ' * 12}", "Yes.") for n in range(6)))
    bench.answers(answer())
    for _ in range(3):
        run(bench, NOW)
    first = bench.layer.status(NOW)["earlier"]
    assert 0 < first["waiting_messages"] < 6 and first["tokens_a_day"] == 120 and first["tokens_today"] <= 160
    for day in range(1, 7):
        run(bench, NOW + day * DAY)
    assert bench.layer.status(NOW)["earlier"]["waiting_messages"] == 0
    assert sorted(bench.outcomes().values()) == ["read"] * 6
    bench.engine.close()


@pytest.mark.parametrize(("models", "understanding"), [({"budget_per_day": 99}, {}), ({}, {"history_tokens": 0})])
def test_a_small_budget_is_for_what_is_said_today(
    tmp_path: Path, model_server: ModelServer, models: dict[str, Any], understanding: dict[str, Any]
) -> None:
    bench = make(tmp_path, model_server, models=models, understanding=understanding)
    imported(bench, "old", NOW - 9 * DAY, ("The old gate is green.", "So it is."))
    run(bench, NOW)
    assert bench.prompts == [] and bench.layer.status(NOW)["earlier"]["tokens_a_day"] == 0
    bench.engine.close()


def test_what_is_forgotten_of_it_goes_with_what_was_read_in_it(bench: Bench) -> None:
    imported(bench, "old", NOW - 9 * DAY, ("The old gate of the mill is green.", "So it is."))
    bench.answers(answer(facts=[fact("The old gate of the mill is green.")]))
    run(bench, NOW)
    assert len(bench.facts(now=NOW)) == 1
    bench.engine.call_tool("memory_forget", {"session": "old", "confirm": True}, WHO)
    assert bench.facts(now=NOW) == [] and not bench.engine.store.rows("SELECT 1 FROM messages")


def test_it_is_history_to_what_was_said_since(bench: Bench) -> None:
    known = {"subject": "gate", "relation": "colour"}
    bench.said("The gate of the mill is red now.", at=NOW - 60 * MINUTE)
    bench.answers(answer(facts=[fact("The gate of the mill is red now.", **known)]))
    bench.understand(NOW)
    imported(bench, "old", NOW - 9 * DAY, ("The gate of the mill is green.", "So it is."))
    bench.answers(answer(facts=[fact("The gate of the mill is green.", **known)]))
    run(bench, NOW)
    assert bench.texts() == ["The gate of the mill is red now."]


def test_a_real_import_is_read(bench: Bench) -> None:
    host = HostDb(bench.settings.state_db)
    host.session("old", started_at=NOW - 9 * DAY)
    host.message("old", "user", "The lantern of the pier is lit at dusk.", NOW - 9 * DAY)
    host.message("old", "assistant", "Noted, at dusk.", NOW - 9 * DAY + 5)
    host.connection.close()
    bench.engine.sessions.import_history(now=NOW)
    bench.answers(answer(facts=[fact("The lantern of the pier is lit at dusk.")]))
    assert [one["kept"] for one in run(bench, NOW)] == [1]
    bench.engine.sessions.import_history(now=NOW + MINUTE)
    assert run(bench, NOW + 60 * MINUTE) == [] and isinstance(bench.engine.store.row("SELECT 1"), sqlite3.Row)
