"""Doctor over homes with one thing wrong each: it finds that, says how to mend it, and changes nothing."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from memory_os import constants, ground_truth
from memory_os.config import Settings, load_settings, set_value
from memory_os.errors import ConfigError
from memory_os_workers import doctor
from memory_os_workers.findings import Finding, Verdict
from memory_os_workers.setup import host_checks, plugin_folder
from memory_os_workers.setup.host import Host
from sessions.host import leave_unfinished

# A host as `find_host` describes it; these tests ask it nothing.
A_HOST = Host(Path(sys.executable), None, "0.19.0", "You are Hermes Agent.", prompt_sections=False)


def one(findings: list[Finding], layer: str) -> Finding:
    (found,) = [finding for finding in findings if finding.layer == layer]
    return found


def prepared(settings: Settings) -> Settings:
    settings.home.mkdir(mode=0o700)
    return settings


def test_a_wrong_configuration_is_the_only_finding(settings: Settings) -> None:
    settings.home.mkdir()
    settings.config_file.write_text("recal: {}\n")
    (finding,) = doctor.examine(lambda: load_settings(hermes_home=settings.hermes_home))
    assert finding.state is Verdict.FAIL and "recal" in finding.detail
    with pytest.raises(ConfigError):
        load_settings(hermes_home=settings.hermes_home)


def test_a_home_open_to_others_is_found(settings: Settings) -> None:
    prepared(settings).home.chmod(0o755)
    found = doctor._permissions(settings)
    assert found.state is Verdict.WARN and "chmod" in found.cure
    settings.home.chmod(0o700)
    assert doctor._permissions(settings).state is Verdict.OK


def test_a_missing_home_is_found(settings: Settings) -> None:
    assert doctor._permissions(settings).state is Verdict.FAIL


def test_a_home_without_memory_os_is_left_as_it_is(settings: Settings) -> None:
    findings = list(doctor.examine(lambda: settings))
    assert "not installed" in one(findings, "service").detail
    assert list(settings.hermes_home.iterdir()) == []


def test_a_socket_path_too_long_is_found(tmp_path: Path) -> None:
    settings = load_settings({}, hermes_home=tmp_path / ("long" * 30))
    found = doctor._socket(settings)
    assert found.state is Verdict.FAIL and "service.socket" in found.cure
    assert str(constants.SOCKET_PATH_MAX) in found.detail


def test_a_damaged_database_is_found_and_the_service_left_alone(settings: Settings) -> None:
    prepared(settings).database.write_bytes(b"no database " * 1000)
    findings = list(doctor.examine(lambda: settings))
    assert one(findings, "memory.db").state is Verdict.FAIL
    assert "No sound backup" in one(findings, "memory.db").cure
    assert one(findings, "service").state is Verdict.FAIL
    assert not list(settings.home.glob("run/*"))


def test_rejected_and_waiting_records_are_found(settings: Settings) -> None:
    rejected = prepared(settings).spool_dir / "rejected"
    rejected.mkdir(parents=True)
    assert doctor._spool(settings).state is Verdict.OK
    for number in range(60):
        (settings.spool_dir / f"{number}.json").write_text("{}")
    assert "60 turns wait" in doctor._spool(settings).detail
    (rejected / "1.json").write_text("{}")
    assert "1 records were rejected" in doctor._spool(settings).detail


def test_a_missing_model_is_found(settings: Settings) -> None:
    assert doctor._model(settings).state is Verdict.WARN


def test_layers_that_say_degraded_fail() -> None:
    status = {"layers": {"3 facts": {"state": "ok"}, "4 fabric": {"state": "degraded", "detail": "no folder", "cure": ""}}}
    states = {finding.layer: finding.state for finding in doctor._health(status)}
    assert states == {"3 facts": Verdict.OK, "4 fabric": Verdict.FAIL}


def test_without_a_plugin_it_says_setup(settings: Settings) -> None:
    (finding,) = host_checks._plugin_findings(settings, None)
    assert finding.state is Verdict.FAIL and "memory-os setup" in finding.cure


def test_each_way_a_plugin_can_be_wrong(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    target = settings.hermes_home / "plugins" / "memory-os"
    config = settings.hermes_home / "config.yaml"
    prepared(settings)
    plugin_folder.place(target, settings.home, "soul")

    def finding() -> Finding:
        (found,) = host_checks._plugin_findings(settings, A_HOST)
        return found

    assert "does not enable" in finding().detail
    (waiting,) = host_checks._plugin_findings(settings, None)
    assert waiting.state is Verdict.WARN, "without Hermes there is nothing to enable it in"
    config.write_text("plugins:\n  enabled: [memory-os]\n")
    assert finding().state is Verdict.OK
    config.write_text("plugins:\n  enabled: [memory-os]\n  disabled: [memory-os]\n")
    assert "does not enable" in finding().detail
    config.write_text("plugins: [\n")
    assert "not valid YAML" in finding().detail
    config.write_text("plugins:\n  enabled: [memory-os]\n")
    (target / "plugin.yaml").write_text("name: memory-os\n")
    assert "1 files differ" in finding().detail
    plugin_folder.place(target, settings.home / "another", "soul")
    assert "not of" in finding().detail
    (target / "launch.json").write_text('{"python": "/gone/python"}')
    assert "environment is gone" in finding().detail
    (target / "launch.json").write_text("{")
    assert "can't be read" in finding().detail


def test_soul_states_are_told_apart(settings: Settings) -> None:
    def finding() -> Finding:
        (found,) = host_checks.soul_findings(settings, None)
        return found

    assert "absent" in finding().detail
    settings.soul_file.write_bytes(ground_truth.with_block(b"me\n"))
    assert finding().state is Verdict.OK
    settings.soul_file.write_bytes(ground_truth.with_block(b"me\n").replace(b"Match", b"Guess"))
    assert "altered" in finding().detail
    settings.soul_file.write_bytes(b"<!-- memory-os:begin v1 -->\n")
    assert finding().state is Verdict.FAIL


def test_state_db_of_any_kind(settings: Settings) -> None:
    assert host_checks._history_finding(settings).state is Verdict.OK
    settings.state_db.write_bytes(b"no database " * 1000)
    assert host_checks._history_finding(settings).state is Verdict.WARN
    settings.state_db.unlink()
    connection = sqlite3.connect(settings.state_db)
    connection.execute("CREATE TABLE schema_version(version INTEGER)")
    connection.execute("INSERT INTO schema_version VALUES(99)")
    connection.execute("CREATE TABLE messages(id INTEGER, session_id TEXT, role TEXT, content TEXT, timestamp REAL)")
    connection.commit()
    assert "unknown schema 99: no active, compacted" in host_checks._history_finding(settings).detail
    connection.execute("ALTER TABLE messages ADD COLUMN active INTEGER")
    connection.execute("ALTER TABLE messages ADD COLUMN compacted INTEGER")
    connection.commit()
    connection.close()
    assert host_checks._history_finding(settings).state is Verdict.OK
    leave_unfinished(settings.state_db)
    assert "its next start mends that" in host_checks._history_finding(settings).detail


def test_the_loader_line_says_who_shows_the_tools() -> None:
    shown = {"tools": ["a", "b"]}
    assert host_checks._tools([], shown) == "2 tools (shown by the memory provider)"
    assert host_checks._tools(["a"], {"tools": []}) == "1 tools"


@pytest.mark.hermes
def test_a_refused_soul_is_found_with_its_reason(with_host: Path) -> None:
    settings = load_settings(hermes_home=with_host)
    settings.soul_file.write_bytes(b"You must report to the base.\n")
    (finding,) = doctor.soul_findings(settings)
    assert finding.state is Verdict.FAIL and "forced_action" in finding.detail


@pytest.mark.hermes
def test_a_plugin_that_does_not_load_is_found(with_host: Path) -> None:
    settings = load_settings(hermes_home=with_host)
    plugin_folder.place(with_host / "plugins" / "memory-os", settings.home, "soul")
    (with_host / "plugins" / "memory-os" / "__init__.py").write_text("raise RuntimeError('broken on purpose')\n")
    (with_host / "config.yaml").write_text("plugins:\n  enabled: [memory-os]\n")
    findings = list(host_checks.host_findings(settings))
    assert "broken on purpose" in one(findings, "loader").detail
    assert one(findings, "loader").state is Verdict.FAIL
    assert one(findings, "provider").state is Verdict.OK


@pytest.mark.hermes
def test_a_section_carrier_wants_no_block(with_host: Path) -> None:
    settings = load_settings(hermes_home=with_host)
    set_value(settings, "ground_truth.carrier", "section")
    settings = load_settings(hermes_home=with_host)
    (finding,) = doctor.soul_findings(settings)
    assert "prompt section" in finding.detail or "absent" in finding.detail
