"""Hermes's own model as memory-os resolves it, and as Hermes itself does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from llm.test_hermes import CASES
from memory_os.llm.endpoint import Endpoint, Unresolved
from memory_os.llm.hermes import host_endpoint
from support.hermes_home import clean_environment

from hermes.conftest import Line

# One start of Hermes for all homes: each is looked at by a child of its own, which has seen no other.
_ASK_HERMES = """
import json, os, sys
from hermes_cli.env_loader import load_hermes_dotenv
from hermes_cli.runtime_provider import _get_model_config, resolve_runtime_provider
for home in sys.argv[1:]:
    if os.fork() == 0:
        os.environ["HERMES_HOME"] = home
        load_hermes_dotenv()
        found = resolve_runtime_provider()
        name = found.get("model") or _get_model_config().get("default")
        print("@" + json.dumps([os.path.basename(home), found["api_mode"], found["base_url"], name, found["api_key"]]), flush=True)
        os._exit(0)
    os.wait()
"""
# Hermes speaks Gemini's own protocol and we the OpenAI-compatible one beside it; the older line keeps a comment after a
# quoted value as a part of the key.
_OURS = ("gemini", "anthropic")


def test_hermes_resolves_the_same(line: Line, tmp_path: Path) -> None:
    names = [name for name in CASES if name not in _OURS]
    for name in names:
        config, env, _ = CASES[name]
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(config)
        (tmp_path / name / ".env").write_text(env)
    ours = {name: host_endpoint(tmp_path / name, {}) for name in names}
    theirs = _resolved_by_hermes(line, [tmp_path / name for name in names])
    assert {name: _told(one) for name, one in ours.items()} == theirs


def _told(one: Endpoint | Unresolved) -> tuple[str, ...]:
    assert isinstance(one, Endpoint), one
    return (one.dialect, one.base_url, one.model, one.api_key)


def _resolved_by_hermes(line: Line, homes: list[Path]) -> dict[str, tuple[str, ...]]:
    command = [str(line.python), "-c", _ASK_HERMES, *map(str, homes)]
    environment = clean_environment(homes[0])
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    found = {}
    for row in said.stdout.splitlines():
        if row.startswith("@"):
            name, mode, base_url, model, key = json.loads(row[1:])
            dialect = "anthropic" if mode == "anthropic_messages" else "openai"
            found[name] = (dialect, base_url, model, "" if key == "no-key-required" else key)
    return found
