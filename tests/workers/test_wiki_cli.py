"""`memory-os wiki` on a home with a real service and a scripted model."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

import pytest
from memory_os_workers.cli import main
from support.model_server import Endpoint, ModelServer, Say

from workers.running import Home


@pytest.fixture
def model() -> Iterator[Endpoint]:
    with ModelServer() as server:
        yield server.endpoint("wiki")


def _json(home: Home, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, object]:
    found = main(["--home", str(home.hermes_home), *arguments, "--json"])
    out, err = capsys.readouterr()
    assert found == code, (found, out, err)
    return dict(json.loads(out))


def _drop(home: Home, name: str, text: str) -> None:
    path = home.settings.vault / "wiki" / "raw" / name
    path.write_text(text, "utf-8")
    os.utime(path, (time.time() - 60, time.time() - 60))


def test_without_service_or_model_all_but_curation(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert _json(home, capsys, "wiki", "status", code=2)["there"] is False
    assert _json(home, capsys, "wiki", "lint", code=2)["code"] == "wiki"
    assert "SCHEMA.md" in _json(home, capsys, "wiki", "init")["made"]  # type: ignore[operator]
    assert _json(home, capsys, "wiki", "init")["made"] == []
    _drop(home, "a.md", "the file")
    status = _json(home, capsys, "wiki", "status")
    assert status["waiting"] == ["a.md"] and status["model"] is False
    assert _json(home, capsys, "wiki", "lint") == {"faults": 0, "findings": []}
    (home.settings.vault / "wiki/concepts/x.md").write_text("nothing")
    assert _json(home, capsys, "wiki", "lint", code=1)["faults"] != 0


@pytest.mark.timeout(600)
def test_curate_status_and_links_through_the_service(
    home: Home, model: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    home.settings.config_file.write_text(
        f"workers: {{embedded: false}}\nmodels: {{provider: openai, base_url: '{model.base_url}', model: scripted-model}}\n"
    )
    _json(home, capsys, "wiki", "init")
    _drop(home, "a.md", "the file")
    page = {
        "title": "Redis",
        "type": "entity",
        "summary": "A store.",
        "tags": ["software"],
        "statements": [{"text": "It stores."}],
    }
    model.script("the file", Say(json.dumps({"pages": [page]})))
    home.serve(ready=True)
    result = _json(home, capsys, "wiki", "curate")
    assert result["queued"] == [] and result["stopped"] is None and result["waiting"] == 0
    [told] = result["files"]  # type: ignore[misc]
    assert told["created"] == ["entities/redis.md"] and told["units"] > 0
    assert _json(home, capsys, "wiki", "curate")["files"] == []
    assert _json(home, capsys, "wiki", "curate", "nowhere.md", code=1)["files"][0]["status"] == "gone"  # type: ignore[index]
    model.script("the file", Say("I would rather not."))
    [again] = _json(home, capsys, "wiki", "curate", "--again", "a.md", code=1)["files"]  # type: ignore[misc]
    assert again["status"] == "failed"
    assert main(["--home", str(home.hermes_home), "wiki", "curate"]) == 1
    assert "1 failed; `memory-os wiki curate --again` tries" in capsys.readouterr().out
    layer = _json(home, capsys, "status", code=1)["layers"]["6 wiki"]  # type: ignore[index]
    assert layer["state"] == "degraded" and "could not be curated" in layer["detail"]
    assert _json(home, capsys, "wiki", "links", "--dry-run")["changed"] == []
    counters = _json(home, capsys, "status", code=1)["counters"]
    assert "wiki_not_curated" in counters  # type: ignore[operator]
    model.script("the file", Say(json.dumps({"pages": [page]})))
    bare = _json(home, capsys, "wiki", "curate", "--again")
    assert [one["status"] for one in bare["files"]] == ["done"] and bare["failed"] == []  # type: ignore[attr-defined]
