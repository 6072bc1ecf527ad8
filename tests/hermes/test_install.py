"""Setup and uninstall leave the host's files as they were, to the byte."""

from __future__ import annotations

from pathlib import Path

from hermes.conftest import Make

SOUL = "# Who you are\n\nYou are the night watch of a small observatory.\n\nNo trailing newline here: ♫"
RULEBOOK = "Rule one: write it down.\r\nRule two: look it up.\r\n"


def snapshot(home: Path) -> dict[str, bytes]:
    """Every file of the host in this home that setup could touch."""
    names = ("config.yaml", "SOUL.md", "rulebook.md", ".env", "memories/MEMORY.md", "memories/USER.md")
    files = {name: (home / name).read_bytes() for name in names if (home / name).exists()}
    return {**files, **{f"plugins/{path.name}": b"" for path in (home / "plugins").glob("*")}}


def test_uninstall_restores_every_byte(blank_home: Make) -> None:
    installed = blank_home("guest", plugins={"enabled": ["another-plugin"]})
    home = installed.hermes.path
    (home / "SOUL.md").write_text(SOUL, "utf-8")
    (home / "rulebook.md").write_bytes(RULEBOOK.encode())
    (home / "memories").mkdir()
    (home / "memories" / "MEMORY.md").write_text("The dome turns clockwise.\n§\nThe kettle is slow.", "utf-8")
    installed.hermes.oneshot("Good evening to the observatory.")
    before = snapshot(home)

    installed.memory_os.run("setup", "--hermes-home", str(home))
    assert installed.memory_os.running
    after = snapshot(home)
    assert after["SOUL.md"].startswith(SOUL.encode()) and after["SOUL.md"] != before["SOUL.md"]
    assert b"memory-os" in after["config.yaml"] and b"# Kept by hand" in after["config.yaml"]
    installed.hermes.oneshot("The comet passes at 03:40.")
    assert "fact_store" in installed.model.turn("The comet passes").tools

    again = installed.memory_os.run("setup", "--hermes-home", str(home), "--no-start")
    assert snapshot(home) == after, f"a second setup changes nothing: {again.stdout}"

    installed.memory_os.run("uninstall", "--hermes-home", str(home))
    assert snapshot(home) == before
    assert not installed.memory_os.running
    assert (installed.memory_os.home / "memory.db").exists(), "the memory stays unless it is purged"
    installed.hermes.oneshot("Is the comet still there?")
    assert "fact_store" not in installed.model.turn("Is the comet still there?").tools

    installed.memory_os.run("uninstall", "--hermes-home", str(home), "--purge")
    assert not installed.memory_os.home.exists()
