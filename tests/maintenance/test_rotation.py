"""What only grows is cut: telemetry, the history of duties, the service's raw output."""

from __future__ import annotations

import os

from memory_os.engine import Engine
from memory_os.maintenance.rotation import OUTPUT, OUTPUT_MAX_BYTES

from .conftest import DAY, NOW


def test_old_recalls_tool_calls_and_runs_go(engine: Engine) -> None:
    with engine.store.write() as db:
        for age in (1, 400):
            at = NOW - age * DAY
            db.execute(
                "INSERT INTO recalls(turn_id, session_id, scope, at, outcome, milliseconds) VALUES(?, 's', 'x', ?, 'nothing', 1)",
                (f"t{age}", at),
            )
            db.execute("INSERT INTO tool_calls(at, session_id, tool) VALUES(?, 's', 'x')", (at,))
            db.execute("INSERT INTO duty_runs(duty, at, state) VALUES('decay', ?, 'ok')", (at,))
            db.execute("INSERT INTO canary_runs(at, state, detail, milliseconds) VALUES(?, 'ok', '', 1)", (at,))
    dry = engine.maintenance.run("rotation", NOW, dry_run=True)
    assert dry.result.startswith("1 recalls, 2 runs of duties")
    assert engine.maintenance.run("rotation", NOW).result.startswith("1 recalls, 2 runs of duties")
    for table in ("recalls", "tool_calls", "duty_runs", "canary_runs"):
        assert engine.store.value(f"SELECT count(*) FROM {table}") == 1, table


def test_the_output_is_cut_under_the_process_that_writes_it(engine: Engine) -> None:
    path = engine.settings.logs_dir / OUTPUT
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, b"x" * OUTPUT_MAX_BYTES + b"the end\n")
    assert "would go" in engine.maintenance.run("rotation", NOW, dry_run=True).result
    assert path.stat().st_size > OUTPUT_MAX_BYTES
    engine.maintenance.run("rotation", NOW)
    os.write(descriptor, b"and on\n")
    os.close(descriptor)
    assert path.read_bytes() == b"and on\n"
    earlier = path.with_name(f"{OUTPUT}.1")
    assert earlier.read_bytes().endswith(b"the end\n")
    assert earlier.stat().st_mode & 0o077 == 0


def test_a_short_output_stays(engine: Engine) -> None:
    path = engine.settings.logs_dir / OUTPUT
    path.parent.mkdir(exist_ok=True)
    path.write_text("a line\n")
    engine.maintenance.run("rotation", NOW)
    assert path.read_text() == "a line\n"
