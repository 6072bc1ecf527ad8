"""setup.sh: it finds a Python, understands its flags, and changes nothing in a dry run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from memory_os_workers.setup.plan import Options, options_of, planned

ROOT = Path(__file__).parents[2]
TOOLS = ("sh", "dirname", "ls", "mkdir", "rm", "sed", "env", "mktemp", "cat")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with the shell's tools and no Python."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def setup_sh(tools: Path, home: Path, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(tools / "sh"), str(ROOT / "setup.sh"), *flags],
        env={"PATH": str(tools), "HOME": str(home), **environment},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_dry_run_changes_nothing_and_prints_every_step(tools: Path, tmp_path: Path) -> None:
    home = tmp_path / "a user"
    home.mkdir()
    done = setup_sh(
        tools, home, "--dry-run", "--python", sys.executable, "--hermes-home", "my hermes", "--fabric-dir", "a fabric"
    )
    assert done.returncode == 0, done.stderr
    assert list(home.iterdir()) == []
    options = Options(home / "my hermes", home / "my hermes" / "memory-os", fabric_dir=str(home / "a fabric"))
    for step in planned(options):
        assert step.what in done.stdout
    assert str(home / "my hermes" / "memory-os" / "venv") in done.stderr


def test_the_first_supported_python_on_path_is_taken(tools: Path, tmp_path: Path) -> None:
    old = tools / "python3.13"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    (tools / "python3").symlink_to(sys.executable)
    done = setup_sh(tools, tmp_path, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"with {tools / 'python3'}" in done.stderr


def test_without_a_python_it_says_how_to_get_one(tools: Path, tmp_path: Path) -> None:
    done = setup_sh(tools, tmp_path)
    assert done.returncode == 1
    assert "no Python 3.11, 3.12 or 3.13" in done.stderr and "apt install" in done.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--surprise"], "unknown option --surprise"),
        (["--fabric-dir"], "needs a value"),
        (["--purge"], "--purge goes with --uninstall"),
        (["--python", "/nowhere/python3"], "is not a Python 3.11"),
    ],
)
def test_wrong_usage_is_named(tools: Path, tmp_path: Path, flags: list[str], said: str) -> None:
    done = setup_sh(tools, tmp_path, *flags)
    assert done.returncode == 1
    assert said in done.stderr


def test_a_folder_that_is_no_environment_is_not_removed(tools: Path, tmp_path: Path) -> None:
    venv = tmp_path / "photos"
    venv.mkdir()
    (venv / "a.jpg").write_bytes(b"mine")
    done = setup_sh(tools, tmp_path, "--python", sys.executable, MEMORY_OS_VENV=str(venv))
    assert done.returncode == 1
    assert "is not an environment" in done.stderr
    assert (venv / "a.jpg").read_bytes() == b"mine"


def test_a_dry_run_of_uninstall_needs_no_environment(tools: Path, tmp_path: Path) -> None:
    done = setup_sh(tools, tmp_path, "--uninstall", "--dry-run", "--python", sys.executable)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / ".hermes") in done.stderr
    assert list(tmp_path.iterdir()) == [tools]


@pytest.mark.parametrize("trace", ["plugins/memory-os", "memory-os/install.json", "memory-os/venv"])
def test_uninstall_of_nothing_builds_nothing(tools: Path, tmp_path: Path, trace: str) -> None:
    done = setup_sh(tools, tmp_path, "--uninstall", "--yes", "--json")
    assert (done.returncode, done.stdout) == (0, '{"steps": []}\n')
    assert "not installed" in done.stderr
    assert list(tmp_path.iterdir()) == [tools]
    (tmp_path / ".hermes" / trace).mkdir(parents=True)
    assert "no Python" in setup_sh(tools, tmp_path, "--uninstall").stderr, "what is left of an installation is undone"


def test_uninstall_without_an_environment_says_what_it_needs_before_it_builds(tools: Path, tmp_path: Path) -> None:
    broken = tools / "uv"
    broken.write_text("#!/bin/sh\necho no index >&2\nexit 1\n")
    broken.chmod(0o755)
    (tmp_path / ".hermes" / "plugins" / "memory-os").mkdir(parents=True)
    done = setup_sh(tools, tmp_path, "--uninstall", "--python", sys.executable)
    assert done.returncode != 0
    said, _, then = done.stderr.partition("no index")
    assert "made again first" in said and "MB" in said and "Without an index" in said
    assert not then.strip()


def test_a_mark_stands_while_packages_are_replaced_and_a_failure_takes_it_away(tools: Path, tmp_path: Path) -> None:
    """By it the commands of that environment know why their modules are missing."""
    uv = tools / "uv"
    uv.write_text(
        '#!/bin/sh\ncase $1 in\nvenv) mkdir -p "$5/bin" ;;\n'
        '*) read -r pid <"${5%/bin/python}/.upgrading"; echo "mark: $pid $PPID" >&2; exit 1 ;;\nesac\n'
    )
    uv.chmod(0o755)
    done = setup_sh(tools, tmp_path, "--python", sys.executable)
    assert done.returncode == 1 and "could not be installed" in done.stderr
    (mark,) = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("mark: ")]
    assert mark[0] == mark[1], "the process id of setup.sh"
    venv = tmp_path / ".hermes" / "memory-os" / "venv"
    assert sorted(path.name for path in venv.iterdir()) == [".memory-os-venv", "bin"]


@pytest.mark.parametrize("same", [True, False], ids=["the same", "another"])
def test_what_is_installed_already_is_not_built_again_which_wants_an_index(tools: Path, tmp_path: Path, same: bool) -> None:
    site, venv = tmp_path / "site", tmp_path / ".hermes" / "memory-os" / "venv"
    for source, target in (("layers/memory_os", "memory_os"), ("plugins/memory_os", "memory_os/plugin"),
                           ("workers/memory_os_workers", "memory_os_workers")):  # fmt: skip
        shutil.copytree(ROOT / source, site / target, ignore=shutil.ignore_patterns("__pycache__"))
    if not same:
        (site / "memory_os" / "plugin" / "host.py").write_text("# of an earlier commit")
    (venv / "bin").mkdir(parents=True)
    commands = {
        "python": f'case "$*" in *--force-reinstall*) echo built >&2; exit 1 ;; *pip*) exit 0 ;; esac\n'
        f'PYTHONPATH={site} exec {sys.executable} "$@"',
        "memory-os": 'echo "memory-os $1"',
    }
    for name, text in commands.items():
        (venv / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (venv / "bin" / name).chmod(0o755)
    done = setup_sh(tools, tmp_path, "--python", sys.executable)
    assert (done.returncode, done.stdout.strip()) == ((0, "memory-os setup") if same else (1, "")), done.stderr
    assert ("built" in done.stderr) is not same


@pytest.mark.parametrize("works", [True, False])
def test_uninstall_runs_in_the_environment_of_the_record(tools: Path, tmp_path: Path, works: bool) -> None:
    """MEMORY_OS_VENV was set when it was installed, and is not now."""
    python = tmp_path / "else where" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\n[ "$2" = -c ] && exit {int(not works)}\necho "$@"\n')
    python.chmod(0o755)
    record = tmp_path / ".hermes" / "memory-os" / "install.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"host_python": "/x", "python": str(python), "version": "1"}, indent=2), "utf-8")
    done = setup_sh(tools, tmp_path, "--uninstall", "--dry-run", "--purge", "--python", sys.executable)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("-P -m memory_os_workers.cli uninstall --dry-run --purge\n" if works else "")
    assert ("install memory-os into" in done.stderr) is not works


def test_a_kept_memory_is_something_to_purge(tools: Path, tmp_path: Path) -> None:
    (tmp_path / ".hermes" / "memory-os").mkdir(parents=True)
    assert "not installed" in setup_sh(tools, tmp_path, "--uninstall").stderr
    assert "no Python" in setup_sh(tools, tmp_path, "--uninstall", "--purge").stderr


def test_the_help_names_every_flag(tools: Path, tmp_path: Path) -> None:
    done = setup_sh(tools, tmp_path, "--help")
    for flag in ("hermes-home", "fabric-dir", "vault-path", "qdrant-url", "redis-url", "python", "no-start", "dry-run",
                 "uninstall", "purge", "yes"):  # fmt: skip
        assert f"--{flag}" in done.stdout


def test_a_qdrant_server_wants_its_client(tools: Path, tmp_path: Path) -> None:
    """Asked for by the flag, and again at an upgrade without it; an empty address is none."""
    def packages(*flags: str) -> str:
        done = setup_sh(tools, tmp_path, "--dry-run", f"--python={sys.executable}", *flags)
        return next(line for line in done.stderr.splitlines() + done.stdout.splitlines() if "the packages of" in line)

    assert "requirements.lock" in packages()
    assert "requirements-server.lock" in packages("--qdrant-url", "http://127.0.0.1:6333")
    config = tmp_path / ".hermes" / "memory-os" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("servers:\n  qdrant_url: ''\n", "utf-8")
    assert "requirements.lock" in packages()
    config.write_text("servers:\n  qdrant_url: http://127.0.0.1:6333\n", "utf-8")
    assert "requirements-server.lock" in packages()


def test_the_plans_flags_are_the_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "h"))
    monkeypatch.chdir(tmp_path)
    options = options_of(["--vault-path=v", "--no-start", "--yes"])
    assert options.hermes_home == tmp_path / "h"
    assert options.values == {"vault_path": str(tmp_path / "v")}
    assert not options.start


def test_the_script_is_executable() -> None:
    assert os.access(ROOT / "setup.sh", os.X_OK)
