from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from memory_os_plugin import general, hooks, paths, register, schemas, state

from plugin.loading import FOLDER


class General:
    """The host's context of a general plugin, newer line."""

    manifest = object()

    def __init__(self) -> None:
        self.said: dict[str, Any] = {"hooks": {}, "tools": [], "commands": [], "cli": [], "sections": {}, "unload": []}

    def register_hook(self, name: str, callback: Any) -> None:
        self.said["hooks"][name] = callback

    def register_tool(self, **given: Any) -> None:
        self.said["tools"].append(given["name"])

    def register_command(self, name: str, handler: Any, description: str = "", args_hint: str = "") -> None:
        self.said["commands"].append(name)

    def register_cli_command(self, name: str, **given: Any) -> None:
        self.said["cli"].append(name)

    def register_system_prompt_section(self, id: str, content: str) -> None:
        self.said["sections"][id] = content

    def register_memory_provider(self, provider: Any) -> None:
        raise AssertionError("inert in this role; what it is given is lost")

    def on_unload(self, callback: Any) -> None:
        self.said["unload"].append(callback)


def test_the_general_role_registers_everything_once(home: paths.Home) -> None:
    context = General()
    register(context)
    assert list(context.said["hooks"]) == list(hooks.HOOKS)
    context.said["hooks"]["post_llm_call"](session_id="s", turn_id="t", user_message="hi", assistant_response="yes")
    assert len(list(home.spool.iterdir())) == 1, "each leads to the hook of its name"
    assert context.said["tools"] == list(schemas.NAMES)
    assert context.said["commands"] == context.said["cli"] == ["memory-os"]
    assert context.said["sections"] == {}
    assert state.hooks_serve(str(home.hermes), "any")
    context.said["unload"][0]()
    assert not state.hooks_serve(str(home.hermes), "any")


def test_the_rules_stand_in_the_prompt_section_where_that_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "PLUGIN_FOLDER", tmp_path)
    monkeypatch.setattr(general, "_RULES", tmp_path / "ground_truth.md")
    (tmp_path / "launch.json").write_text(json.dumps({"python": sys.executable, "home": "", "carrier": "section"}))
    context = General()
    register(context)
    assert context.said["sections"] == {}, "no file, no section, no error"
    (tmp_path / "ground_truth.md").write_text("The rules.\n")
    context = General()
    register(context)
    assert context.said["sections"] == {"memory-os.ground-truth": "The rules."}


def test_an_older_host_without_sections_and_unloading_is_served_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(General, "register_system_prompt_section")
    monkeypatch.delattr(General, "on_unload")
    context = General()
    register(context)
    assert len(context.said["hooks"]) == 11


def test_the_hosts_text_scan_finds_a_provider_and_the_manifest_says_it_is_more() -> None:
    head = (FOLDER / "__init__.py").read_text("utf-8")[:8192]
    assert "register_memory_provider" in head
    assert "kind: standalone" in (FOLDER / "plugin.yaml").read_text("utf-8")


def test_no_file_name_means_something_to_the_host() -> None:
    """`cli.py` and `config_schema.py` of a provider's folder are read by the host itself."""
    assert not {"cli.py", "config_schema.py", "tests"} & {path.name for path in FOLDER.iterdir()}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_only_the_standard_library_is_imported(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            continue
        assert all(name.partition(".")[0] in sys.stdlib_module_names for name in names), (path.name, names)


def test_registering_prints_nothing_starts_nothing_and_writes_nothing(tmp_path: Path) -> None:
    script = f"""
import importlib.util, sys, threading
spec = importlib.util.spec_from_file_location("p", {str(FOLDER / "__init__.py")!r}, submodule_search_locations=[{str(FOLDER)!r}])
module = importlib.util.module_from_spec(spec)
sys.modules["p"] = module
spec.loader.exec_module(module)
class Context:
    manifest = None
    def __getattr__(self, name):
        if name.startswith("register_"):
            return lambda *given, **more: None
        raise AttributeError(name)
module.register(Context())
assert threading.active_count() == 1
assert not {{"http.client", "asyncio.events", "email", "ssl", "socket", "p.hooks"}} & {{*sys.modules}}, "too much is imported"
"""
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", script],
        env={"HERMES_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
