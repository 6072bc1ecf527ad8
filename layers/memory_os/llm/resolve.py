"""From settings to endpoints: which model is asked, and which one when that can't be reached."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from memory_os.config import EndpointSettings, Settings
from memory_os.llm.endpoint import Dialect, Endpoint, Unresolved, address_error
from memory_os.llm.hermes import host_endpoint, host_variables, key_for
from memory_os.loopback import is_loopback

_ANTHROPIC = "https://api.anthropic.com"


@dataclass(frozen=True, slots=True)
class Resolved:
    """The model and the fallback, or why there is none. `fallback` is None when none is configured."""

    main: Endpoint | Unresolved
    fallback: Endpoint | Unresolved | None = None

    @property
    def endpoints(self) -> list[Endpoint]:
        return [one for one in (self.main, self.fallback) if isinstance(one, Endpoint)]


def resolve(settings: Settings, environ: Mapping[str, str] | None = None) -> Resolved:
    """Read the configuration and the host's. Keys come from the environment or from Hermes's `.env`, nowhere else."""
    env = os.environ if environ is None else environ
    models = settings.values.models
    fallback = (
        None if models.fallback.provider == "none" else _endpoint(models.fallback, "models.fallback", settings, env)
    )
    return Resolved(_endpoint(models, "models", settings, env), fallback)


class Following:
    """The resolved endpoints, looked at again when one of the host's files has changed."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] | None = None) -> None:
        self._settings = settings
        self._environ = environ
        self._files = [settings.hermes_home / name for name in ("config.yaml", ".env")]
        self._seen = self._stamps()
        self.resolved = resolve(settings, environ)

    def changed(self) -> Resolved | None:
        """The endpoints anew after a change of the files, else None. Two calls of stat."""
        stamps = self._stamps()
        if stamps == self._seen:
            return None
        self._seen = stamps
        self.resolved = resolve(self._settings, self._environ)
        return self.resolved

    def _stamps(self) -> list[tuple[int, int, int]]:
        return [_stamp(path) for path in self._files]


def allows(settings: Settings, job: str) -> bool:
    """Whether there is a model and it may be asked for this job. Opens nothing."""
    return job in settings.values.models.jobs and isinstance(resolve(settings).main, Endpoint)


def own_endpoint(
    one: EndpointSettings, key: str, settings: Settings, environ: Mapping[str, str] | None = None
) -> Endpoint | Unresolved:
    """An endpoint that stands in memory-os's own configuration, under `key`."""
    return _endpoint(one, key, settings, os.environ if environ is None else environ)


def _endpoint(one: EndpointSettings, key: str, settings: Settings, env: Mapping[str, str]) -> Endpoint | Unresolved:
    if one.provider == "none":
        return Unresolved("no language model is configured", "Set `models.provider` (docs/models.md).")
    found = _of_host(one, settings, env) if one.provider == "hermes" else _own(one, key, settings, env)
    return found if isinstance(found, Unresolved) else replace(found, proxy=_proxy(found.base_url))


def _of_host(one: EndpointSettings, settings: Settings, env: Mapping[str, str]) -> Endpoint | Unresolved:
    found = host_endpoint(settings.hermes_home, env)
    return replace(found, model=one.model) if isinstance(found, Endpoint) and one.model else found


def _own(one: EndpointSettings, key: str, settings: Settings, env: Mapping[str, str]) -> Endpoint | Unresolved:
    base_url = (one.base_url or (_ANTHROPIC if one.provider == "anthropic" else "")).rstrip("/")
    missing = [f"{key}.{name}" for name, value in (("base_url", base_url), ("model", one.model)) if not value]
    if missing:
        return Unresolved(f"{' and '.join(missing)} must be set", "See docs/models.md.")
    wrong = address_error(base_url)
    if wrong:
        return Unresolved(f"{key}.base_url {wrong}", "See docs/models.md.")
    variables = host_variables(settings.hermes_home, env)
    if one.api_key_variable and not variables.get(one.api_key_variable):
        return Unresolved(
            f"{key}.api_key_variable names {one.api_key_variable}, which is not set",
            "Set it in Hermes's .env, or leave it out for an endpoint without a key.",
        )
    api_key = variables[one.api_key_variable].strip() if one.api_key_variable else key_for(base_url, variables)
    dialect: Dialect = "anthropic" if one.provider == "anthropic" else "openai"
    return Endpoint(one.provider, dialect, base_url, one.model, api_key)


def _proxy(base_url: str) -> str:
    """The proxy of the environment for an address, or "", by the standard library's reading. Loopback goes through none."""
    parts = urlsplit(base_url)
    if is_loopback(base_url) or proxy_bypass(parts.hostname or ""):
        return ""
    return getproxies().get(parts.scheme, "")


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
