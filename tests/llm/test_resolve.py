"""From settings to endpoints, and what may leave the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from memory_os.config import Settings, Values
from memory_os.llm import allows
from memory_os.llm.endpoint import Endpoint, Unresolved, public_address
from memory_os.llm.report import models_egress, models_line, models_status
from memory_os.llm.resolve import resolve
from memory_os.llm.usage import Call, StoreUsage
from memory_os.store import open_store

NOW = 1_800_014_400.0


def _settings(home: Path, **models: Any) -> Settings:
    return Settings(hermes_home=home, home=home / "memory-os", values=Values.model_validate({"models": models}))


def test_without_anything_nothing_is_asked_and_nothing_leaves(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    assert isinstance(resolve(settings, {}).main, Unresolved)
    assert models_egress(settings) == []
    assert not allows(settings, "extraction")


def test_the_hosts_model_is_the_default_and_is_named_as_leaving(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: {provider: openrouter, default: a/b}")
    (tmp_path / ".env").write_text("OPENROUTER_API_KEY=sk-0123456789")
    settings = _settings(tmp_path)
    assert allows(settings, "curation")
    (line,) = models_egress(settings)
    assert "turns to https://openrouter.ai (Hermes's own model a/b, for extraction, curation" in line
    assert models_egress(_settings(tmp_path, jobs=["curation"]))[0].startswith("text of raw files and wiki pages to")
    assert models_egress(_settings(tmp_path, jobs=[])) == []
    assert models_egress(_settings(tmp_path, provider="none")) == []
    named = resolve(_settings(tmp_path, model="c/d"), {}).main
    assert isinstance(named, Endpoint) and named.model == "c/d"


def test_a_model_on_this_machine_leaves_nothing(tmp_path: Path) -> None:
    settings = _settings(tmp_path, provider="openai", base_url="http://127.0.0.1:11434/v1", model="q")
    assert allows(settings, "extraction")
    assert models_egress(settings) == []


def test_ones_own_endpoint_its_key_and_its_fallback(tmp_path: Path) -> None:
    settings = _settings(
        tmp_path,
        provider="openai",
        base_url="https://box.test/v1/",
        model="big",
        api_key_variable="BOX_KEY",
        fallback={"provider": "anthropic", "model": "small"},
    )
    found = resolve(settings, {"BOX_KEY": "sk-box", "ANTHROPIC_API_KEY": "sk-ant"})
    assert found.main == Endpoint("openai", "openai", "https://box.test/v1", "big", "sk-box")
    assert found.fallback == Endpoint("anthropic", "anthropic", "https://api.anthropic.com", "small", "sk-ant")
    missing = resolve(settings, {}).main
    assert isinstance(missing, Unresolved) and "BOX_KEY" in missing.reason


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ({"provider": "openai"}, "models.base_url and models.model"),
        ({"provider": "openai", "base_url": "box:1", "model": "m"}, "must be http"),
        ({"provider": "none"}, "no language model"),
        ({"provider": "none", "fallback": {"provider": "openai", "model": "m"}}, "no language model"),
    ],
)
def test_half_a_configuration_is_named(tmp_path: Path, models: dict[str, Any], reason: str) -> None:
    found = resolve(_settings(tmp_path, **models), {}).main
    assert isinstance(found, Unresolved) and reason in found.reason and found.cure


def test_a_proxy_of_the_environment_is_used_and_not_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", "inside.test")

    def proxy(base_url: str) -> str:
        found = resolve(_settings(tmp_path, provider="openai", base_url=base_url, model="m"), {}).main
        assert isinstance(found, Endpoint)
        return found.proxy

    assert proxy("https://box.test/v1") == "http://proxy.test:3128"
    assert proxy("https://inside.test/v1") == ""
    assert proxy("http://localhost:8080/v1") == ""


def test_the_shown_address_holds_no_credentials() -> None:
    assert public_address("https://me:secret@box.test:8443/v1?key=secret") == "https://box.test:8443"


def test_status_comes_from_the_log_of_every_process(tmp_path: Path) -> None:
    settings = _settings(tmp_path, provider="openai", base_url="http://127.0.0.1:1/v1", model="q")
    store = open_store(settings.database)
    try:
        assert (
            models_line(models_status(settings, store, NOW))
            == "q at http://127.0.0.1:1, 0 of 500 units today, 0 answers"
        )
        log = StoreUsage(store)
        where = {"model": "q", "endpoint": "http://127.0.0.1:1"}
        for count in range(10):
            log.record_now(Call(at=NOW - 100 + count, job="curation", units=2.0, seconds=count, **where))
        log.record_now(Call(at=NOW - 86_400, job="curation", units=90.0, seconds=1, **where))
        for count in range(5):
            log.record_now(
                Call(at=NOW - 9 + count, job="extraction", outcome="timeout_first", fault="transient", **where)
            )
        found = models_status(settings, store, NOW)
        assert (found["units_today"], found["units_by_job"]["curation"]) == (20.0, 20.0)
        assert found["calls_today"] == {"ok": 10, "timeout_first": 5}
        assert found["faults_today"] == {"transient": 5}
        assert found["latency_s"]["curation"] == {"n": 11, "p50": 4, "p95": 9, "p99": 9}
        assert found["breakers"]["http://127.0.0.1:1"] == {"state": "open", "retry_at": NOW - 5 + 30}
        assert models_line(found).endswith("10 answers, 5 failed attempts, breaker open")
        assert models_status(settings, store, NOW + 60)["breakers"]["http://127.0.0.1:1"]["state"] == "half-open"
        assert log.spent_now("", NOW - 1000) == 20.0
        assert log.spent_now("extraction", 0) == 0.0
    finally:
        store.close()


def test_old_rows_leave_the_log(tmp_path: Path) -> None:
    store = open_store(tmp_path / "memory.db")
    try:
        log = StoreUsage(store)
        log.record_now(Call(at=NOW - 50 * 86_400, job="curation", model="q", units=1.0))
        log.record_now(Call(at=NOW, job="curation", model="q", units=1.0))
        assert store.value("SELECT count(*) FROM model_calls") == 1
    finally:
        store.close()
