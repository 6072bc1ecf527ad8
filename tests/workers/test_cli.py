"""The command line as a person and a script meet it: exit codes, one-line errors, exact JSON, the service behind it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from memory_os.errors import (
    BadRequest,
    ConfigError,
    DocumentError,
    EmbeddingError,
    HostError,
    MemoryOSError,
    ServiceRunning,
    ServiceUnavailable,
    SocketPathTooLong,
    StoreCorrupt,
    VectorsError,
)  # fmt: skip
from memory_os_workers.cli import COMMANDS, cli, documents, main
from memory_os_workers.cli.invocation import exit_code
from memory_os_workers.cli.status import findings

from workers.running import Home, environment, wait_until


def _main(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    """Exit code, stdout, stderr of one command on this home."""
    monkeypatch.setenv("PYTHONPATH", environment(home.hermes_home)["PYTHONPATH"])
    code = main(["--home", str(home.hermes_home), *arguments])
    out, err = capsys.readouterr()
    return code, out, err


class Command:
    """`memory-os` on one home, in this process."""

    def __init__(self, home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts = (home, capsys, monkeypatch)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        return _main(*self.parts, *arguments)

    def json(self, *arguments: str, code: int = 0) -> Any:
        found, out, err = self(*arguments, "--json")
        assert found == code, (out, err)
        return json.loads(out)


@pytest.fixture
def command(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """On a new home without a service."""
    return Command(home, capsys, monkeypatch)


@pytest.fixture
def warm(served: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """On the module's home, whose service is ready."""
    return Command(served, capsys, monkeypatch)


# -- conventions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ServiceRunning, 3), (BadRequest, 2), (ConfigError, 2), (DocumentError, 2), (ServiceUnavailable, 4),
        (SocketPathTooLong, 4), (StoreCorrupt, 4), (EmbeddingError, 4), (VectorsError, 4), (HostError, 1),
    ],
)  # fmt: skip
def test_every_kind_of_error_has_its_exit_code(error: type[MemoryOSError], code: int) -> None:
    assert exit_code(error("x")) == code


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("status", "--nonsense"), ("recall",), ("facts", "nonsense"), ("facts", "add", " "), ("recall", "")],
)
def test_wrong_usage_is_2_without_a_traceback(command: Command, arguments: tuple[str, ...]) -> None:
    code, out, err = command(*arguments)
    assert code == 2
    assert "Traceback" not in err and "rror" in err
    assert out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ingst", "x"), "Did you mean ingest?"),
        (("facts", "serch", "x"), "Did you mean search?"),
        (("facts", "add", ""), "TEXT"),
        (("config", "set", "gate", "abc"), "gate is not a setting. `memory-os config` lists them."),
        (("config", "set", "max_tokens", "5"), "Perhaps recall.max_tokens"),
    ],
)
def test_wrong_input_is_told_in_the_words_of_the_command_line(command: Command, arguments: tuple[str, ...], said: str) -> None:
    code, _, err = command(*arguments)
    assert code == 2 and said in err and "fact_store" not in err


def test_an_alias_can_be_set_beside_another(command: Command) -> None:
    for name in ("telegram:1", "telegram:2"):
        command.json("config", "set", f"scopes.aliases.{name}", "local")
    assert command.json("config", "get", "scopes.aliases.telegram:2")["value"] == "local"


def test_a_home_that_is_not_there_is_said_and_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "nope"
    for arguments in (("status",), ("stop",), ("serve",), ("facts", "list")):
        assert main(["--home", str(home), *arguments]) == 2
        assert f"no Hermes home {home}" in capsys.readouterr().err
    assert not home.exists()


def test_an_error_is_one_line_and_exact_json(command: Command, home: Home) -> None:
    home.configure("recall:\n  max_tokens: many\n")
    code, out, err = command("config", "--json")
    assert code == 2
    assert err.startswith("error: ") and err.count("\n") == 1
    found = json.loads(out)
    assert found["code"] == "config" and "recall.max_tokens" in found["error"]
    home.configure("")


def test_status_imports_neither_the_server_nor_the_engine(tmp_path: Path) -> None:
    script = (
        "import sys; from memory_os_workers.cli import main; assert main(['status', '--json']) == 3;"
        "heavy = {'aiohttp', 'numpy', 'rich', 'sqlite_utils', 'onnxruntime'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], env=environment(tmp_path), check=True, capture_output=True)


def test_a_reader_that_goes_away_is_no_error(home: Home) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m memory_os_workers.cli config --json | true"],
        env=environment(home.hermes_home), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr


def test_every_command_can_be_loaded_and_has_help() -> None:
    context = cli.make_context("memory-os", ["status"], resilient_parsing=True)
    for name in COMMANDS:
        found = cli.get_command(context, name)
        assert found is not None and found.help, name


# -- without a service ---------------------------------------------------------------------------------------------


def test_status_works_without_a_service_and_starts_none(command: Command, home: Home) -> None:
    code, out, _ = command("status")
    assert code == 3
    assert "does not run" in out and "memory-os serve" in out and "Leaves this machine: nothing" in out
    found = command.json("status", code=3)
    assert found["running"] is False and found["spool_depth"] == 0
    assert home.client.health() is None


def test_a_service_that_was_killed_is_told_while_it_is_down_and_once_after(command: Command, home: Home) -> None:
    process = home.serve()
    process.kill()
    process.wait()
    code, out, _ = command("status")
    assert code == 3 and f"pid {process.pid}" in out and "without a clean stop" in out
    home.serve()
    assert f"pid {process.pid}" in command("status")[1]
    assert f"pid {process.pid}" not in command("status")[1]


def test_a_service_that_does_not_answer_is_not_called_dead(command: Command, home: Home) -> None:
    process = home.serve()
    process.send_signal(signal.SIGSTOP)
    try:
        code, out, _ = command("status")
    finally:
        process.send_signal(signal.SIGCONT)
    assert code == 3 and f"runs (pid {process.pid}) and does not answer" in out
    assert "does not run" not in out and "without a clean stop" not in out


def test_stop_without_a_service_is_3(command: Command) -> None:
    assert command.json("stop", code=3) == {"stopped": False, "pid": None}


def test_serve_detaches_once(command: Command) -> None:
    assert command.json("serve", "--detach")["ok"]
    code, _, err = command("serve", "--detach")
    assert code == 3 and "already runs" in err
    assert command.json("stop")["stopped"] is True


# -- configuration -------------------------------------------------------------------------------------------------


def test_config_shows_every_key_with_value_and_origin(command: Command, home: Home) -> None:
    found = command.json("config")
    assert found["recall.max_tokens"] == {"value": 1200, "origin": "default"}
    assert found["service.socket"]["value"] == str(home.settings.socket)
    assert command.json("config", "set", "recall.max_tokens", "900")["key"] == "recall.max_tokens"
    assert command.json("config", "get", "recall.max_tokens") == {
        "key": "recall.max_tokens", "value": 900, "origin": "config.yaml",
    }  # fmt: skip
    assert command("config", "get", "recall.max_tokens")[1] == "900\n"
    assert command("config", "path")[1] == f"{home.settings.config_file}\n"


def test_who_sends_texts_away_to_be_embedded_is_told_when_setting_it(command: Command) -> None:
    assert "bge-m3" not in command("config", "set", "embedding.engine", "endpoint")[1]
    assert "What leaves this machine" not in command("config", "set", "embedding.model", "bge-m3")[1]
    told = " ".join(command("config", "set", "embedding.base_url", "https://embed.example/v1")[1].split())
    assert "bge-m3 at https://embed.example" in told and "memory-os reindex" in told
    assert "What leaves this machine then: every text of this memory and every question" in told
    assert "What leaves" not in command("config", "set", "embedding.base_url", "http://127.0.0.1:11434/v1")[1]


def test_a_wrong_value_changes_nothing(command: Command, home: Home) -> None:
    assert command("config", "set", "recall.max_tokens", "5")[0] == 2
    code, _, err = command("config", "get", "recall.max_token")
    assert code == 2 and "recall.max_tokens" in err
    assert not home.settings.config_file.exists()


# -- with a service ------------------------------------------------------------------------------------------------


def test_status_shows_the_service_and_the_layers(warm: Command, served: Home) -> None:
    code, out, _ = warm("status")
    assert code in (0, 1)
    assert f"pid {served.health()['pid']}" in out
    for name in ("sessions", "facts", "fabric", "vectors"):
        assert name in out
    assert "Leaves this machine: nothing" in out
    found = warm.json("status", code=code)
    assert found["running"] is True and found["service"]["ready"] is True


def test_findings_name_what_is_degraded() -> None:
    found = findings(
        {
            "layers": {"facts": {"state": "ok"}, "fabric": {"state": "degraded", "detail": "gone", "cure": "mount it"}},
            "service": {"model_error": "no weights"},
            "background": {"note": "", "spool": {"failing": True, "last_error": "OSError"}, "spool_depth": 1},
        }
    )
    assert found == ["layer fabric: gone · mount it", "recall works by words only: no weights", "spool fails: OSError"]


def test_a_fact_goes_in_is_found_judged_removed_and_brought_back(warm: Command) -> None:
    added = warm.json("facts", "add", "The test relay opens at dawn", "--entity", "test relay", "--tag", "relay")
    handle = added["id"]
    assert handle in [one["id"] for one in warm.json("facts", "list")["results"]]
    assert warm.json("facts", "search", "relay", "dawn")["results"][0]["id"] == handle
    assert handle in warm("facts", "list")[1]
    trust = warm.json("facts", "feedback", handle, "helpful")["trust"]
    assert trust > added["trust"]
    assert warm.json("facts", "remove", handle)["status"] == "removed"
    assert handle not in [one["id"] for one in warm.json("facts", "list")["results"]]
    assert "removed" in warm("facts", "history", handle)[1]
    warm.json("facts", "undo", handle)
    assert handle in [one["id"] for one in warm.json("facts", "list")["results"]]
    warm.json("facts", "remove", handle)


def test_reindex_says_whether_search_by_meaning_is_whole(warm: Command, served: Home) -> None:
    wait_until(lambda: served.client.get("/v1/status")["pending_embeddings"] == 0)
    code, out, _ = warm("reindex")
    assert code == 0 and "in this version's form: " in out and out.rstrip().endswith("Search by meaning is whole."), out
    rebuilt = warm.json("reindex")
    assert set(rebuilt) == {"points", "left_out"} and rebuilt["left_out"] == {}


@pytest.mark.parametrize(("points", "left", "waiting", "said"), [
    (1, 0, 0, "1 point. Search by meaning is whole."),
    (2, 0, 1, "2 points. 1 passage still waits for its vector"),
    (0, 0, 2, "0 points. 2 passages still wait for their vector"),
    (5, 1, 0, "5 points. The model failed on 1 passage; their words find them, and they are tried again."),
    (5, 2, 1, "The model failed on 2 passages; their words find them, and they are tried again. 1 passage still waits"),
])  # fmt: skip
def test_what_a_reindex_could_not_embed_is_told(points: int, left: int, waiting: int, said: str) -> None:
    assert said in documents._rebuilt(points, left, waiting)


def test_facts_are_told_in_a_line_each(warm: Command) -> None:
    _, out, _ = warm("facts", "add", "The quay crane is yellow", "--entity", "quay crane", "--entity", "harbour")
    lines = out.splitlines()
    assert "trust: 0.50 (0.14–0.86)" in lines and "entities: quay crane, harbour" in lines, lines
    assert not any(line.startswith(("interval", " ")) for line in lines)
    handle = next(line.removeprefix("id: ") for line in lines if line.startswith("id: "))
    assert "0.50 (0.14–0.86)" in warm("facts", "list")[1]
    out = warm("facts", "remove", handle)[1]
    assert f"`memory-os facts undo {handle}`" in out and f"`memory-os forget {handle}`" in out and "action=" not in out
    assert "trust: 0.50 (0.14–0.86)" in warm("facts", "undo", handle)[1]
    warm.json("facts", "remove", handle)


def test_no_facts_are_a_sentence(warm: Command) -> None:
    nobody = ("--user", "telegram:nobody")
    assert warm("facts", "list", *nobody)[:2] == (0, "No facts are held true yet.\n")
    assert warm("facts", "list", "--category", "project", *nobody)[1] == "No facts of the category project are held true yet.\n"
    assert warm("facts", "list", "--as-of", "2026-01-01", *nobody)[1] == "No facts are held true at 2026-01-01.\n"
    assert warm("facts", "search", "zxqv", *nobody)[:2] == (1, "No fact matches.\n")


def test_another_user_sees_nothing_of_it(warm: Command) -> None:
    handle = warm.json("facts", "add", "The vault code is kept by the keeper")["id"]
    assert warm.json("facts", "search", "vault", "code", "--user", "telegram:7", code=1)["results"] == []
    code, _, err = warm("facts", "remove", handle, "--user", "telegram:7")
    assert code == 2 and "no fact" in err
    warm.json("facts", "remove", handle)


def test_holographic_facts_come_over_once(warm: Command, tmp_path: Path) -> None:
    import sqlite3

    database = tmp_path / "memory_store.db"
    with sqlite3.connect(database) as db:
        db.execute(
            "CREATE TABLE facts(fact_id INTEGER PRIMARY KEY, content TEXT UNIQUE, category TEXT, tags TEXT, trust_score REAL,"
            " retrieval_count INTEGER, helpful_count INTEGER, created_at TEXT, updated_at TEXT)"
        )
        db.execute("CREATE TABLE entities(entity_id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("CREATE TABLE fact_entities(fact_id INTEGER, entity_id INTEGER)")
        db.execute(
            "INSERT INTO facts VALUES(1, 'The beacon is repainted each spring', 'general', '', 0.5, 0, 0,"
            " '2026-01-02 03:04:05', '2026-01-02 03:04:05')"
        )
    first = warm.json("facts", "import-holographic", str(database))
    assert first["added"] == 1
    again = warm.json("facts", "import-holographic", str(database))
    assert (again["added"], again["unchanged"]) == (0, 1)


def test_a_document_goes_in_and_is_recalled(warm: Command, served: Home, tmp_path: Path) -> None:
    (tmp_path / "harbour.md").write_text("# Harbour\n\nThe harbour crane lifts forty tonnes on weekdays.\n", "utf-8")
    (tmp_path / "picture.md").write_bytes(b"\x00\x01\x02\xff" * 500)
    code, out, _ = warm("ingest", str(tmp_path), "--json")
    assert code == 1  # one file was skipped
    assert "picture.md" in out
    wait_until(lambda: served.client.get("/v1/status")["pending_embeddings"] == 0)
    code, out, _ = warm("recall", "how", "much", "does", "the", "harbour", "crane", "lift")
    assert code == 0 and "forty tonnes" in out
    # On a machine that is busy a recall may be over before it has looked.
    wait_until(lambda: warm.json("recall", "how much does the harbour crane lift")["outcome"] == "injected")


def test_a_path_that_is_gone_leaves_memory_and_one_never_known_is_an_error(warm: Command, tmp_path: Path) -> None:
    file = tmp_path / "quay.md"
    file.write_text("The quay is closed on Sundays.\n", "utf-8")
    warm("ingest", str(file))
    assert "quay" in warm("recall", "Which day is the quay closed?")[1]
    file.unlink()
    code, out, err = warm("ingest", str(file), "--json")
    # The service follows what was ingested, and may have seen that it is gone by itself.
    assert (code == 0 and json.loads(out)["removed"] == 1) or "nothing at" in err
    assert "quay" not in warm("recall", "Which day is the quay closed?")[1]
    code, out, err = warm("ingest", str(file))
    assert (code, out) == (2, "")
    assert "nothing at" in err


def test_recall_of_nothing_is_1(warm: Command) -> None:
    found = warm.json("recall", "zxqv wvutsr qqqq", code=1)
    assert found["context"] == ""


def test_explain_of_an_unknown_turn_is_a_clear_error(warm: Command) -> None:
    code, _, err = warm("explain", "no/such?turn")
    assert code == 2
    assert err.count("\n") == 1 and "no/such?turn" in err


@pytest.mark.parametrize("verb", [("brief",), ("pending",), ("report",)])
def test_the_fabric_answers(warm: Command, verb: tuple[str, ...]) -> None:
    assert isinstance(warm.json("fabric", *verb), dict)
    assert warm("fabric", *verb)[0] == 0


def test_a_fabric_search_without_a_hit_is_1(warm: Command) -> None:
    assert warm.json("fabric", "search", "zxqv", code=1)["results"] == []


def test_the_fabric_is_shown_as_text(warm: Command, served: Home) -> None:
    entry = {"type": "decision", "summary": "The pier gets a crane", "content": "Decided on the pier.", "status": "completed"}
    served.client.post("/v1/tools/fabric_write", {"arguments": entry, "caller": {}})
    task = {"type": "task", "summary": "Order the crane", "content": "By Friday."}
    served.client.post("/v1/tools/fabric_write", {"arguments": task, "caller": {}})
    brief = warm("fabric", "brief")[1]
    assert "1 waiting" in brief and "Decided" in brief and "The pier gets a crane" in brief
    assert "by type: " in warm("fabric", "report")[1] and "2 entries" in warm("fabric", "report")[1]
    assert "Order the crane" in warm("fabric", "pending")[1]
    found = warm("fabric", "search", "crane")[1]
    assert "The pier gets a crane" in found and "results" not in found
    assert warm("fabric", "search", "zxqv")[1] == "No entry has all these words.\n"


def test_ingest_names_what_needs_a_look_and_then_the_totals(warm: Command, tmp_path: Path) -> None:
    (tmp_path / "jetty.md").write_text("The jetty is swept daily.\n", "utf-8")
    (tmp_path / "blob.md").write_bytes(b"\x00\x01\x02\xff" * 500)
    lines = warm("ingest", str(tmp_path))[1].splitlines()
    assert not any("jetty.md" in line for line in lines) and sum("blob.md" in line for line in lines) == 1
    totals = next(number for number, line in enumerate(lines) if line.startswith("1 taken in, 1 skipped; 1 passage"))
    assert totals == 2, lines
    assert "pending_embeddings" in warm.json("ingest", str(tmp_path), code=1)


def test_forget_shows_what_would_go_and_says_what_went(warm: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = warm.json("facts", "add", "The buoy blinks twice")["id"]
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda *_: "y")
    code, out, err = warm("forget", handle)
    assert code == 0 and "The buoy blinks twice" in err and handle in err
    assert out.startswith(("Forgotten: 1 fact. The same search finds nothing any more.\n", "Forgotten: 1 fact, ")), out
    code, _, err = warm("forget", handle)
    assert code == 2 and "memory-os forget --query WORDS" in err and "query=" not in err


def test_forget_by_query_lists_in_the_words_of_the_command_line(warm: Command) -> None:
    handle = warm.json("facts", "add", "The gangway squeaks")["id"]
    code, out, _ = warm("forget", "--query", "gangway squeaks")
    assert code == 0 and handle in out and "--yes" in out and "confirm" not in out
    assert warm("forget", "--query", "zxqv wvutsr")[0] == 1
    code, out, _ = warm("forget", "--query", "gangway squeaks", "--yes")
    assert code == 0 and out.startswith("Forgotten: ")


def test_forget_reaches_documents_and_says_what_stays(warm: Command, tmp_path: Path) -> None:
    filler = "An ordinary sentence stands here. " * 25
    file = tmp_path / "stock.md"
    said = ("Shelf 20 of the Quarzlager holds felt.", "The Oakdoor jams.", "The roof is tin.")
    file.write_text("\n\n".join(f"# Part\n\n{one} {filler}" for one in said))
    warm("ingest", str(file))
    (listed,) = warm.json("forget", "--query", "Quarzlager")["would_forget"]
    code, out, _ = warm("forget", listed["id"], "--yes")
    assert code == 0 and out.startswith(f"Forgotten: 1 passage of {file}"), out
    assert "the rest of the document still answers" in out and "finds nothing" not in out
    assert f"2 passages of {file} remain" in out and f'--document "{file}"' in out
    assert warm("forget", "--query", "Quarzlager")[0] == 1
    code, out, _ = warm("forget", "--document", str(file), "--yes")
    assert code == 0 and out.startswith(f"Forgotten: 2 passages of {file}") and "finds nothing any more" in out, out
    assert warm("forget", "--query", "Oakdoor")[0] == 1
    assert warm("forget", "--document", str(file), "--yes")[0] == 2


def test_forget_wants_one_way_and_proves_it(warm: Command) -> None:
    assert warm("forget")[0] == 2
    assert warm("forget", "f:aaaaaaaa", "--all-mine")[0] == 2
    handle = warm.json("facts", "add", "The ferry bell is cracked")["id"]
    warm.json("forget", handle, "--yes")
    assert warm.json("facts", "search", "ferry", "bell", "cracked", code=1)["results"] == []


def test_forget_asks_and_no_means_no(warm: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = warm.json("facts", "add", "The ferry horn is loud")["id"]
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda *_: "n")
    assert warm("forget", handle)[0] == 130
    assert warm.json("facts", "search", "ferry", "horn")["results"]
    warm.json("forget", handle, "--yes")


def test_forget_without_anybody_to_ask_is_exact_json(warm: Command) -> None:
    handle = warm.json("facts", "add", "The ferry lamp is green")["id"]
    found = warm.json("forget", handle, code=2)
    assert found["code"] == "bad_request" and "--yes" in found["cure"]
    assert warm.json("facts", "search", "ferry", "lamp")["results"]


def test_reindex_keeps_everything_findable(warm: Command) -> None:
    handle = warm.json("facts", "add", "The lantern burns rapeseed oil")["id"]
    assert isinstance(warm.json("reindex"), dict)
    assert handle in [one["id"] for one in warm.json("facts", "search", "lantern", "oil")["results"]]
