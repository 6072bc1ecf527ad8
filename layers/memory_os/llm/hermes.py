"""The model Hermes itself is configured with: endpoint, name and key, from its config.yaml and `.env`, read only.

Resolves what needs nothing but an address and a key, on both lines of Hermes (0.19: hermes_cli/runtime_provider.py and
auth.py; 0.22 added providers to the same scheme). Logins that the host keeps fresh itself (OAuth, AWS, an external
process) and keys that a command prints are not: their tokens are the host's to renew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from memory_os.llm.endpoint import Dialect, Endpoint, Unresolved, address_error
from memory_os.loopback import is_loopback

_CONFIGURE = "Choose a model with `hermes model`, or set `models.provider` (docs/models.md)."
_OWN = "Set `models.provider`, `models.base_url` and `models.model` to a model of its own (docs/models.md)."


@dataclass(frozen=True, slots=True)
class _Known:
    """A provider by name: its address, the variables that may hold its key, and that of another address."""

    base_url: str
    keys: tuple[str, ...]
    override: str = ""


# From PROVIDER_REGISTRY of both lines (hermes_cli/auth.py and plugins/model-providers).
_KNOWN = {
    "openrouter": _Known("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",), "OPENROUTER_BASE_URL"),
    "openai": _Known("https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL"),
    "openai-api": _Known("https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL"),
    "anthropic": _Known("https://api.anthropic.com", ("ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN"), "ANTHROPIC_BASE_URL"),
    "gemini": _Known(
        "https://generativelanguage.googleapis.com/v1beta", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "GEMINI_BASE_URL"
    ),
    "deepseek": _Known("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), "DEEPSEEK_BASE_URL"),
    "xai": _Known("https://api.x.ai/v1", ("XAI_API_KEY",), "XAI_BASE_URL"),
    "zai": _Known("https://api.z.ai/api/paas/v4", ("GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"), "GLM_BASE_URL"),
    "kimi-coding": _Known("https://api.moonshot.ai/v1", ("KIMI_API_KEY", "KIMI_CODING_API_KEY"), "KIMI_BASE_URL"),
    "kimi-coding-cn": _Known("https://api.moonshot.cn/v1", ("KIMI_CN_API_KEY",)),
    "minimax": _Known("https://api.minimax.io/anthropic", ("MINIMAX_API_KEY",), "MINIMAX_BASE_URL"),
    "minimax-cn": _Known("https://api.minimaxi.com/anthropic", ("MINIMAX_CN_API_KEY",), "MINIMAX_CN_BASE_URL"),
    "alibaba": _Known(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", ("DASHSCOPE_API_KEY",), "DASHSCOPE_BASE_URL"
    ),
    "alibaba-coding-plan": _Known(
        "https://coding-intl.dashscope.aliyuncs.com/v1",
        ("ALIBABA_CODING_PLAN_API_KEY", "DASHSCOPE_API_KEY"),
        "ALIBABA_CODING_PLAN_BASE_URL",
    ),
    "huggingface": _Known("https://router.huggingface.co/v1", ("HF_TOKEN",), "HF_BASE_URL"),
    "nvidia": _Known("https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",), "NVIDIA_BASE_URL"),
    "fireworks": _Known("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "deepinfra": _Known("https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY",), "DEEPINFRA_BASE_URL"),
    "novita": _Known("https://api.novita.ai/openai/v1", ("NOVITA_API_KEY",), "NOVITA_BASE_URL"),
    "ollama-cloud": _Known("https://ollama.com/v1", ("OLLAMA_API_KEY",), "OLLAMA_BASE_URL"),
    "lmstudio": _Known("http://127.0.0.1:1234/v1", ("LM_API_KEY",), "LM_BASE_URL"),
    "kilocode": _Known("https://api.kilo.ai/api/gateway", ("KILOCODE_API_KEY",), "KILOCODE_BASE_URL"),
    "opencode-zen": _Known("https://opencode.ai/zen/v1", ("OPENCODE_ZEN_API_KEY",), "OPENCODE_ZEN_BASE_URL"),
    "opencode-go": _Known("https://opencode.ai/zen/go/v1", ("OPENCODE_GO_API_KEY",), "OPENCODE_GO_BASE_URL"),
    "arcee": _Known("https://api.arcee.ai/api/v1", ("ARCEEAI_API_KEY",), "ARCEE_BASE_URL"),
    "gmi": _Known("https://api.gmi-serving.com/v1", ("GMI_API_KEY",), "GMI_BASE_URL"),
    "stepfun": _Known("https://api.stepfun.ai/step_plan/v1", ("STEPFUN_API_KEY",), "STEPFUN_BASE_URL"),
    "upstage": _Known("https://api.upstage.ai/v1", ("UPSTAGE_API_KEY",), "UPSTAGE_BASE_URL"),
    "xiaomi": _Known("https://api.xiaomimimo.com/v1", ("XIAOMI_API_KEY",), "XIAOMI_BASE_URL"),
    "tencent-tokenhub": _Known("https://tokenhub.tencentmaas.com/v1", ("TOKENHUB_API_KEY",), "TOKENHUB_BASE_URL"),
    "ai-gateway": _Known("https://ai-gateway.vercel.sh/v1", ("AI_GATEWAY_API_KEY",), "AI_GATEWAY_BASE_URL"),
    "nebius-token-factory": _Known(
        "https://api.tokenfactory.nebius.com/v1", ("NEBIUS_API_KEY", "NEBIUS_TOKEN_FACTORY_API_KEY"), "NEBIUS_BASE_URL"
    ),
}
# Further hosts of theirs, by region or for other plans.
_OTHER_HOSTS = {
    "dashscope.aliyuncs.com": "alibaba", "dashscope-us.aliyuncs.com": "alibaba",
    "coding.dashscope.aliyuncs.com": "alibaba-coding-plan", "open.bigmodel.cn": "zai", "api.kimi.com": "kimi-coding",
    "api.stepfun.com": "stepfun", "api-inference.huggingface.co": "huggingface", "ai.api.nvidia.com": "nvidia",
    "api.minimax.chat": "minimax-cn",
}  # fmt: skip
_ALIASES = {
    "glm": "zai", "z-ai": "zai", "z.ai": "zai", "zhipu": "zai", "google": "gemini", "google-gemini": "gemini",
    "google-ai-studio": "gemini", "x-ai": "xai", "x.ai": "xai", "grok": "xai", "kimi": "kimi-coding",
    "moonshot": "kimi-coding", "kimi-cn": "kimi-coding-cn", "claude": "anthropic", "opencode": "opencode-zen",
    "hf": "huggingface", "hugging-face": "huggingface", "lm-studio": "lmstudio", "lm_studio": "lmstudio",
    "ollama_cloud": "ollama-cloud", "kilo": "kilocode", "fireworks-ai": "fireworks", "ollama": "custom",
    "vllm": "custom", "llamacpp": "custom", "llama.cpp": "custom", "llama-cpp": "custom", "local": "custom",
}  # fmt: skip
# Where the host tries, in this order, when no provider is named (hermes_cli/auth.py, resolve_provider).
_AUTOMATIC = (
    "openrouter",
    *(name for name in _KNOWN if name not in ("openrouter", "openai", "openai-api", "lmstudio")),
)
# What people leave in a file instead of a key (hermes_cli/auth.py, has_usable_secret).
_PLACEHOLDERS = frozenset(
    {
        "****",
        "changeme",
        "your_api_key",
        "your_api_key_here",
        "your-api-key",
        "placeholder",
        "example",
        "dummy",
        "null",
        "none",
    }
)
_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")
_ENV_LINE = re.compile(
    r"""^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^#\r\n]*?))\s*(?:\s\#.*)?$"""
)
_MAX_BYTES = 4 * 1024 * 1024


def host_variables(hermes_home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment as Hermes sees it: its `.env` over the variables of the process. Unreadable: the latter alone."""
    found = dict(environ)
    for line in _text(hermes_home / ".env").splitlines():
        match = _ENV_LINE.match(line)
        if match:
            double = re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else None
            found[match[1]] = next(value for value in (double, match[3], match[4], "") if value is not None).strip()
    return found


def host_endpoint(hermes_home: Path, environ: Mapping[str, str]) -> Endpoint | Unresolved:
    """Hermes's own model. Never raises: what can't be resolved is said."""
    variables = host_variables(hermes_home, environ)
    try:
        loaded = YAML(typ="safe").load(_text(hermes_home / "config.yaml")) or {}
    except (YAMLError, RecursionError):
        return Unresolved("Hermes's config.yaml can't be read", "Mend it; `hermes doctor` says where.")
    config = _expanded(loaded, variables)
    section = config.get("model") if isinstance(config, dict) else None
    model = {"default": section} if isinstance(section, str) else section if isinstance(section, dict) else {}
    name = _word(model.get("default") or model.get("model"))
    requested = _word(model.get("provider") or variables.get("HERMES_INFERENCE_PROVIDER") or "auto").lower()
    return _resolved(config if isinstance(config, dict) else {}, model, name, requested, variables)


def key_for(base_url: str, variables: Mapping[str, str]) -> str:
    """The key that belongs to an address: of a known provider by host, else `<VENDOR>_API_KEY` by the host's name.

    A key never goes to a host that is not its vendor's: a domain may hold its customers' buckets too, and under another
    top-level domain the same name may be anybody's.
    """
    host = (urlsplit(base_url).hostname or "").lower()
    known = _known_at(host)
    if known is not None:
        return _first_key(known.keys, variables)
    labels = host.split(".")
    if len(labels) < 2 or labels[-1][:1].isdigit():
        return ""
    variable = re.sub(r"[^A-Z0-9]", "_", labels[-2].upper()) + "_API_KEY"
    return "" if any(variable in one.keys for one in _KNOWN.values()) else _first_key((variable,), variables)


def _known_at(host: str) -> _Known | None:
    """The provider whose host this is, or lies below."""
    hosts = {urlsplit(one.base_url).hostname or "": one for one in _KNOWN.values() if not is_loopback(one.base_url)}
    hosts |= {other: _KNOWN[name] for other, name in _OTHER_HOSTS.items()}
    if host in hosts:
        return hosts[host]
    return next((known for own, known in hosts.items() if host.endswith(f".{own}")), None)


def dialect_of(base_url: str, mode: str = "") -> Dialect:
    """What an address speaks: as configured, else by the conventions of the host (runtime_provider.py)."""
    if mode in ("anthropic_messages", "chat_completions"):
        return "anthropic" if mode == "anthropic_messages" else "openai"
    parts = urlsplit(base_url.lower().rstrip("/"))
    host, path = parts.hostname or "", parts.path
    native = host == "api.anthropic.com" or path.endswith(("/anthropic", "/anthropic/v1"))
    return "anthropic" if native or (host == "api.kimi.com" and "/coding" in path) else "openai"


def _resolved(
    config: Mapping[str, Any], model: Mapping[str, Any], name: str, requested: str, variables: Mapping[str, str]
) -> Endpoint | Unresolved:
    named = _named(config, requested)
    if named is not None:
        return _of_named(named, name, variables)
    base_url = _word(model.get("base_url"))
    provider = _ALIASES.get(requested, requested)
    if provider == "custom" or (provider == "auto" and base_url):
        return _made("custom", base_url, name, _key(model, base_url, variables), _word(model.get("api_mode")))
    if provider == "auto":
        provider = next((one for one in _AUTOMATIC if _first_key(_KNOWN[one].keys, variables)), "")
        if not provider:
            return Unresolved("Hermes has no model configured", _CONFIGURE)
    known = _KNOWN.get(provider)
    if known is None:
        return Unresolved(f"Hermes signs in to {provider} itself, with no key that could be shared", _OWN)
    return _of_known(provider, known, base_url, name, _key(model, "", variables), variables)


def _of_known(
    provider: str, known: _Known, base_url: str, name: str, own_key: str, variables: Mapping[str, str]
) -> Endpoint | Unresolved:
    key = _first_key(known.keys, variables) or own_key
    address = base_url or variables.get(known.override, "").strip() or known.base_url
    if provider == "kimi-coding" and key.startswith("sk-kimi-") and address == known.base_url:
        address = "https://api.kimi.com/coding"
    if provider == "anthropic" and key.startswith("sk-ant-oat"):
        return Unresolved("Hermes signs in to anthropic itself, with no key that could be shared", _OWN)
    if not key and provider != "lmstudio":
        return Unresolved(
            f"Hermes's model is at {provider}, and its key ({known.keys[0]}) is not in its .env", _CONFIGURE
        )
    if provider == "gemini" and not address.rstrip("/").endswith("/openai"):
        address = address.rstrip("/") + "/openai"
    return _made(provider, address, name, key, "anthropic_messages" if provider == "anthropic" else "")


def _of_named(entry: Mapping[str, Any], name: str, variables: Mapping[str, str]) -> Endpoint | Unresolved:
    base_url = _word(entry.get("api") or entry.get("url") or entry.get("base_url"))
    key = _first_key((_word(entry.get("key_env")),), variables) or _key(entry, base_url, variables)
    mode = _word(entry.get("api_mode") or entry.get("transport"))
    headers = entry.get("extra_headers")
    given = {str(one): str(value) for one, value in headers.items()} if isinstance(headers, dict) else {}
    model = name or _word(entry.get("default_model") or entry.get("model"))
    if entry.get("key_cmd") and not key:
        return Unresolved("Hermes gets its key from a command, which memory-os does not run", _OWN)
    return _made("custom", base_url, model, key, mode, tuple(given.items()))


def _made(
    provider: str, base_url: str, name: str, key: str, mode: str, headers: tuple[tuple[str, str], ...] = ()
) -> Endpoint | Unresolved:
    if not base_url:
        return Unresolved(f"Hermes's model ({provider}) has no address", _CONFIGURE)
    wrong = address_error(base_url)
    if wrong:
        return Unresolved(f"the address of Hermes's model {wrong}", _CONFIGURE)
    if not name:
        return Unresolved("Hermes's config names no model", _CONFIGURE)
    return Endpoint("hermes", dialect_of(base_url, mode), base_url.rstrip("/"), name, key, headers)


def _named(config: Mapping[str, Any], requested: str) -> dict[str, Any] | None:
    """The user's own entry for a provider name: `providers:` (a mapping), or `custom_providers:` (a list)."""
    wanted = _plain(requested)
    if wanted in ("auto", "") or requested in _KNOWN:
        return None
    providers = config.get("providers")
    entries = list(providers.items()) if isinstance(providers, dict) else []
    older = config.get("custom_providers")
    entries += [(one.get("name"), one) for one in older if isinstance(one, dict)] if isinstance(older, list) else []
    for key, entry in entries:
        if not isinstance(entry, dict) or entry.get("enabled") is False:
            continue
        names = {_plain(key), _plain(entry.get("name")), _plain(entry.get("provider_key"))} - {""}
        if wanted in names and (entry.get("api") or entry.get("url") or entry.get("base_url")):
            return entry
    return None


def _plain(name: object) -> str:
    return str(name or "").strip().lower().removeprefix("custom:").replace(" ", "-")


def _key(entry: Mapping[str, Any], base_url: str, variables: Mapping[str, str]) -> str:
    own = next((_word(entry[name]) for name in ("api_key", "api") if _usable(entry.get(name))), "")
    return (
        own if own and not own.startswith(("http://", "https://")) else key_for(base_url, variables) if base_url else ""
    )


def _first_key(names: tuple[str, ...], variables: Mapping[str, str]) -> str:
    return next((variables[name].strip() for name in names if _usable(variables.get(name))), "")


def _usable(value: object) -> bool:
    return isinstance(value, str) and len(value.strip()) >= 4 and value.strip().lower() not in _PLACEHOLDERS


def _word(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _expanded(value: Any, variables: Mapping[str, str]) -> Any:
    """`${VAR}` and `${env:VAR}` in strings, as the host does; an unknown one stays as it stands."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: variables.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: _expanded(inner, variables) for key, inner in value.items()}
    return [_expanded(inner, variables) for inner in value] if isinstance(value, list) else value


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return ""
        return path.read_text("utf-8-sig", errors="replace")
    except OSError:
        return ""
