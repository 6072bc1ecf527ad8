"""The host's own model, read from its config.yaml and .env; never written, never guessed to a wrong host."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.llm.endpoint import Endpoint, Unresolved
from memory_os.llm.hermes import dialect_of, host_endpoint, host_variables, key_for

KEY = "sk-0123456789abcdef"


def _home(folder: Path, config: str, env: str = "") -> Path:
    (folder / "config.yaml").write_text(config, "utf-8")
    (folder / ".env").write_text(env, "utf-8")
    return folder


CASES = {
    "custom": (
        "model: {default: local, provider: custom, base_url: 'http://127.0.0.1:8080/v1/', api_key: sk-test, context_length: 131072}",
        "",
        ("openai", "http://127.0.0.1:8080/v1", "local", "sk-test"),
    ),
    "openrouter": (
        "model: {default: anthropic/claude, provider: openrouter}",
        f"OPENROUTER_API_KEY={KEY}",
        ("openai", "https://openrouter.ai/api/v1", "anthropic/claude", KEY),
    ),
    "only a name": ("model: some/model", f"OPENROUTER_API_KEY='{KEY}'", ("openai", "https://openrouter.ai/api/v1", "some/model", KEY)),
    "anthropic": (
        "model:\n  provider: claude\n  model: claude-x",
        f'export ANTHROPIC_API_KEY="{KEY}" # mine',
        ("anthropic", "https://api.anthropic.com", "claude-x", KEY),
    ),
    "anthropic's gateway": (
        "model: {provider: minimax, default: m}",
        f"MINIMAX_API_KEY={KEY}",
        ("anthropic", "https://api.minimax.io/anthropic", "m", KEY),
    ),
    "gemini": (
        "model: {provider: google, default: g}",
        f"GEMINI_API_KEY={KEY}",
        ("openai", "https://generativelanguage.googleapis.com/v1beta/openai", "g", KEY),
    ),
    "address by variable": (
        "model: {provider: deepseek, default: d}",
        f"DEEPSEEK_API_KEY={KEY}\nDEEPSEEK_BASE_URL=https://proxy.test/v1",
        ("openai", "https://proxy.test/v1", "d", KEY),
    ),
    "kimi code": (
        "model: {provider: kimi, default: k}",
        "KIMI_API_KEY=sk-kimi-0123456789",
        ("anthropic", "https://api.kimi.com/coding", "k", "sk-kimi-0123456789"),
    ),
    "ollama": (
        "model: {provider: ollama, base_url: 'http://10.0.0.5:11434/v1', default: q}",
        f"OPENAI_API_KEY={KEY}",
        ("openai", "http://10.0.0.5:11434/v1", "q", ""),
    ),
    "key by host": (
        "model: {base_url: 'https://api.groq.com/openai/v1', default: q}",
        f"GROQ_API_KEY={KEY}",
        ("openai", "https://api.groq.com/openai/v1", "q", KEY),
    ),
    "named": (
        "model: {provider: 'custom:my-box', default: ''}\nproviders:\n"
        "  my-box: {api: 'https://box.test/v1', key_env: BOX, default_model: b, transport: anthropic_messages}",
        f"BOX={KEY}",
        ("anthropic", "https://box.test/v1", "b", KEY),
    ),
    "named, older": (
        "model: {provider: My Box, default: b}\ncustom_providers:\n  - {name: My Box, base_url: 'https://box.test/v1', api_key: '${BOX}'}",
        f"BOX={KEY}",
        ("openai", "https://box.test/v1", "b", KEY),
    ),
    "automatic": ("model: {default: d}", f"DEEPSEEK_API_KEY={KEY}", ("openai", "https://api.deepseek.com/v1", "d", KEY)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_endpoints_of_the_host(tmp_path: Path, name: str) -> None:
    config, env, expected = CASES[name]
    found = host_endpoint(_home(tmp_path, config, env), {})
    assert isinstance(found, Endpoint), found
    assert (found.dialect, found.base_url, found.model, found.api_key) == expected
    assert found.provider == "hermes"
    assert found.api_key == "" or found.api_key not in repr(found)


@pytest.mark.parametrize(
    ("config", "env", "reason"),
    [
        ("", "", "no model configured"),
        ("model: {provider: nous, default: x}", "", "signs in to nous"),
        ("model: {provider: openai-codex, default: x}", f"OPENAI_API_KEY={KEY}", "signs in to openai-codex"),
        ("model: {provider: anthropic, default: x}", "ANTHROPIC_TOKEN=sk-ant-oat01-abcdefgh", "signs in to anthropic"),
        ("model: {provider: openrouter, default: x}", "OPENROUTER_API_KEY=your-api-key", "OPENROUTER_API_KEY"),
        ("model: {provider: openrouter}", f"OPENROUTER_API_KEY={KEY}", "names no model"),
        ("model: {provider: custom, default: x}", "", "has no address"),
        ("model: {provider: custom, default: x, base_url: 'ftp://x'}", "", "must be http"),
        ("model: [", "", "can't be read"),
        ("- 1\n- 2", "", "no model configured"),
        (
            "model: {provider: box, default: x}\nproviders: {box: {url: 'https://b.test', key_cmd: pass show}}",
            "",
            "command",
        ),
        (
            "model: {provider: box, default: x}\nproviders: {box: {url: 'https://b.test', enabled: false}}",
            "",
            "signs in to box",
        ),
    ],
)
def test_what_cannot_be_resolved_is_said(tmp_path: Path, config: str, env: str, reason: str) -> None:
    found = host_endpoint(_home(tmp_path, config, env), {})
    assert isinstance(found, Unresolved)
    assert reason in found.reason
    assert found.cure
    assert KEY not in found.reason


def test_a_home_that_is_not_there_has_no_model(tmp_path: Path) -> None:
    assert isinstance(host_endpoint(tmp_path / "none", {}), Unresolved)


def test_nothing_is_written(tmp_path: Path) -> None:
    config, env, _ = CASES["openrouter"]
    home = _home(tmp_path, config, env)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in home.iterdir()}
    host_endpoint(home, {})
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in home.iterdir()} == before


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com.attacker.test/v1",
        "https://attacker.test/api.openai.com/v1",
        "http://10.0.0.1/v1",
        "http://127.0.0.1:1234/v1",
        "https://notopenai.com/v1",
        "https://openai.attacker/v1",
        "https://mybucket.oss-cn-hangzhou.aliyuncs.com/v1",
        "https://storage.googleapis.com/mybucket",
        "https://somebody.vercel.sh/v1",
        "https://xdashscope.aliyuncs.com/v1",
    ],
)
def test_a_key_goes_to_no_other_host(url: str) -> None:
    keys = {"OPENAI_API_KEY": KEY, "OPENROUTER_API_KEY": KEY, "LM_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY,
            "DASHSCOPE_API_KEY": KEY, "GEMINI_API_KEY": KEY, "AI_GATEWAY_API_KEY": KEY}  # fmt: skip
    assert key_for(url, keys) == ""
    assert key_for("https://api.openai.com/v1", keys) == KEY
    assert key_for("https://eu.api.openai.com/v1", keys) == KEY


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("https://coding.dashscope.aliyuncs.com/v1", "ALIBABA_CODING_PLAN_API_KEY"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
        ("https://api.kimi.com/coding", "KIMI_API_KEY"),
        ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    ],
)
def test_a_key_goes_to_its_vendors_hosts(url: str, variable: str) -> None:
    assert key_for(url, {variable: KEY}) == KEY


def test_the_file_wins_over_the_environment(tmp_path: Path) -> None:
    home = _home(
        tmp_path, "", 'A=1\n# B=2\nexport C=\'x y\'\nD="q\\"uoted"\nE=plain # note\nF=\n  G = spaced \nnonsense\n'
    )
    found = host_variables(home, {"A": "0", "Z": "9"})
    assert found == {"A": "1", "C": "x y", "D": 'q"uoted', "E": "plain", "F": "", "G": "spaced", "Z": "9"}


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes_in_the_hosts_files_are_survived(
    tmp_path_factory: pytest.TempPathFactory, config: bytes, env: bytes
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "config.yaml").write_bytes(config)
    (home / ".env").write_bytes(env)
    assert isinstance(host_endpoint(home, {}), Endpoint | Unresolved)


def test_what_an_address_speaks() -> None:
    assert dialect_of("https://api.anthropic.com") == "anthropic"
    assert dialect_of("https://x.test/anthropic/v1") == "anthropic"
    assert dialect_of("https://api.anthropic.com.attacker.test/v1") == "openai"
    assert dialect_of("https://x.test/v1", "anthropic_messages") == "anthropic"
