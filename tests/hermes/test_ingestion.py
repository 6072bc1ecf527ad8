"""A file dropped into the vault while Hermes runs: the next turns know it, and its edit and its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.hermes_home import Gateway
from support.service import wait_until

from hermes.conftest import Installed, Make

FERRY = "# Timetable of the ferry\n\nOn Sundays the ferry to Hiddensee leaves at {time} from pier {pier}.\n"


@dataclass(frozen=True)
class Vault:
    """A vault of its own, and the Hermes that runs beside it."""

    installed: Installed
    gateway: Gateway
    raw: Path

    def given(self, question: str) -> str:
        """What a turn of a session of its own is given."""
        return self.installed.ask(self.gateway, question, key="sailor").injected

    def wait_for(self, name: str, text: str) -> None:
        """Until `status` has nothing left to do and memory has this of the file; '': nothing of it."""
        source = f"document:wiki/raw/{name}"

        def settled() -> bool:
            found = self.installed.memory_os.rows("SELECT text, indexed FROM passages WHERE source = ?", source)
            there = any(text in row[0] for row in found) if text else not found
            status = self.installed.memory_os.get("/v1/status")
            return there and all(row[1] for row in found) and status["pending_embeddings"] == 0

        wait_until(settled, f"memory is in step with {name}", 120, 0.2)


@pytest.fixture(scope="session")
def vault(new_home: Make, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    folder = tmp_path_factory.mktemp("vault")
    installed = new_home("ingestion")
    installed.hermes.extra_environment = {"VAULT_PATH": str(folder)}
    installed.memory_os.environment["VAULT_PATH"] = str(folder)
    installed.memory_os.start()
    with installed.hermes.gateway() as gateway:
        yield Vault(installed, gateway, folder / "wiki" / "raw")


def test_a_dropped_file_is_recalled_and_so_are_its_edit_and_its_deletion(vault: Vault) -> None:
    assert "pier" not in vault.given("When does the ferry to Hiddensee leave on Sundays?")
    vault.raw.mkdir(parents=True)
    ferry = vault.raw / "ferry.md"
    ferry.write_text(FERRY.format(time="10:40", pier="seven"), "utf-8")
    vault.wait_for("ferry.md", "10:40")
    block = vault.given("On Sundays, when does the ferry to Hiddensee leave?")
    assert "10:40 from pier seven" in block and "Timetable of the ferry" in block

    ferry.write_text(FERRY.format(time="13:15", pier="nine"), "utf-8")
    vault.wait_for("ferry.md", "13:15")
    block = vault.given("Tell me when the ferry to Hiddensee leaves on Sundays.")
    assert "13:15 from pier nine" in block and "10:40" not in block

    ferry.unlink()
    vault.wait_for("ferry.md", "")
    assert "13:15" not in vault.given("The ferry to Hiddensee on Sundays: when does it leave?")


def test_what_a_queue_worker_took_in_is_recalled_in_any_script_and_format(vault: Vault) -> None:
    vault.raw.mkdir(parents=True, exist_ok=True)
    pipeline = vault.installed.memory_os.get("/v1/status")["pipeline"]
    assert (pipeline["mode"], pipeline["worked_by"]) == ("embedded", "workers")
    page = "<html><body><h1>Лодочная станция</h1><p>Прокат лодок закрыт по средам.</p><script>x</script></body></html>"
    (vault.raw / "лодки.html").write_text(page, "utf-8")
    (vault.raw / "钥匙.txt").write_text("船屋的备用钥匙放在蓝色花盆下面。\n", "utf-8")
    vault.wait_for("лодки.html", "по средам")
    vault.wait_for("钥匙.txt", "蓝色花盆")
    assert "蓝色花盆" in vault.given("船屋的备用钥匙放在哪里？")
    assert "по средам" in vault.given("В какие дни закрыт прокат лодок?")
