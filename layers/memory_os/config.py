"""One typed configuration, read once and passed on. Each value knows where it came from.

Order, the later wins: the default, `config.yaml` in MEMORY_OS_HOME, the environment. Paths are made absolute here and
nowhere else. An unknown key, a wrong type or a value out of range is a ConfigError that names the key.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from memory_os import constants
from memory_os.atomic import write_whole
from memory_os.config_sections import (
    AlertSettings,
    CaptureSettings,
    DocumentSettings,
    EmbeddingSettings,
    EndpointSettings,
    FactSettings,
    GroundTruthSettings,
    MaintenanceSettings,
    ModelSettings,
    Patience,
    PatienceSettings,
    Price,
    RecallSettings,
    ScopeSettings,
    ServerSettings,
    ServiceSettings,
    UnderstandingSettings,
    Values,
    WikiSettings,
    WorkerSettings,
)
from memory_os.errors import ConfigError, said_by

__all__ = [
    "ENVIRONMENT",
    "SECRET_KEYS",
    "AlertSettings",
    "CaptureSettings",
    "DocumentSettings",
    "EmbeddingSettings",
    "EndpointSettings",
    "FactSettings",
    "GroundTruthSettings",
    "MaintenanceSettings",
    "ModelSettings",
    "Patience",
    "PatienceSettings",
    "Price",
    "RecallSettings",
    "ScopeSettings",
    "ServerSettings",
    "ServiceSettings",
    "Settings",
    "UnderstandingSettings",
    "Values",
    "WikiSettings",
    "WorkerSettings",
    "default_settings",
    "flat_values",
    "keep_secrets",
    "load_settings",
    "set_value",
]

# Environment variable -> config key. (HERMES_HOME and MEMORY_OS_HOME say where config.yaml is; see `_homes`.)
ENVIRONMENT = {
    "FABRIC_DIR": "fabric_dir",
    "VAULT_PATH": "vault_path",
    "MEMORY_OS_AGENT": "agent",
    "MEMORY_OS_LOG_LEVEL": "service.log_level",
    "MEMORY_OS_QDRANT_URL": "servers.qdrant_url",
    "QDRANT_API_KEY": "servers.qdrant_api_key",
    "MEMORY_OS_REDIS_URL": "servers.redis_url",
    "MEMORY_OS_REDIS_PASSWORD": "servers.redis_password",
    "MEMORY_OS_EMBEDDED_WORKER": "workers.embedded",
}


# Never printed, and not taken from a command line, where every user of the machine may read it.
SECRET_KEYS = frozenset({"servers.qdrant_api_key", "servers.redis_password", "alerts.webhook"})
# Addresses into which somebody may have put a password.
_UNSHOWN = SECRET_KEYS | {"servers.qdrant_url", "servers.redis_url"}


@dataclass(frozen=True)
class Settings:
    """The values, the folders derived from them, and each key's origin (`default`, `config.yaml`, a variable)."""

    hermes_home: Path
    home: Path
    values: Values
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.home / "memory.db"

    @property
    def vectors_dir(self) -> Path:
        return self.home / "qdrant"

    @property
    def models_dir(self) -> Path:
        return self.home / "models"

    @property
    def spool_dir(self) -> Path:
        return self.home / "spool"

    @property
    def run_dir(self) -> Path:
        return self.home / "run"

    @property
    def logs_dir(self) -> Path:
        return self.home / "logs"

    @property
    def backups_dir(self) -> Path:
        return self.home / "backups"

    @property
    def config_file(self) -> Path:
        return self.home / "config.yaml"

    @property
    def socket(self) -> Path:
        return _absolute(self.values.service.socket or self.run_dir / "service.sock", self.home)

    @property
    def fabric_dir(self) -> Path:
        return _absolute(self.values.fabric_dir or self.hermes_home / "fabric", self.home)

    @property
    def vault(self) -> Path:
        return _absolute(self.values.vault_path or self.hermes_home / "vault", self.home)

    @property
    def memories_dir(self) -> Path:
        return self.hermes_home / "memories"

    @property
    def state_db(self) -> Path:
        return self.hermes_home / "state.db"

    @property
    def soul_file(self) -> Path:
        return self.hermes_home / "SOUL.md"

    @property
    def agent(self) -> str:
        return self.values.agent or self.profile

    @property
    def profile(self) -> str:
        """`default`, or the profile's name for a home below `profiles/`."""
        return self.hermes_home.name if self.hermes_home.parent.name == "profiles" else "default"


def load_settings(environ: Mapping[str, str] | None = None, *, hermes_home: Path | None = None) -> Settings:
    """Read the configuration of one Hermes home.

    The home is `hermes_home`, else HERMES_HOME, else `~/.hermes`; ours is MEMORY_OS_HOME, else `memory-os` inside it.
    Raises ConfigError.
    """
    env = os.environ if environ is None else environ
    host, home = _homes(env, hermes_home)
    origins: dict[str, str] = {}
    data = _read_file(home / "config.yaml")
    for key in _flatten(data):
        origins[key] = "config.yaml"
    for variable, key in ENVIRONMENT.items():
        if env.get(variable):
            _assign(data, key, env[variable])
            origins[key] = variable
    return Settings(hermes_home=host, home=home, values=_validated(data, origins), origins=origins)


def default_settings(environ: Mapping[str, str] | None = None, *, hermes_home: Path | None = None) -> Settings:
    """The folders of a home whose config.yaml can't be used: to leave the error there."""
    host, home = _homes(os.environ if environ is None else environ, hermes_home)
    return Settings(hermes_home=host, home=home, values=Values())


def flat_values(values: Values) -> dict[str, Any]:
    """`{"recall.max_tokens": 1200, …}`, every key once; of a secret only that it is there."""
    flat = dict(_flatten_items(values.model_dump(mode="json")))
    return {key: "**********" if key in SECRET_KEYS and value else value for key, value in flat.items()}


def set_value(settings: Settings, key: str, text: str) -> None:
    """Write one key to config.yaml, its comments kept, after checking that the whole stays valid."""
    if key in SECRET_KEYS:
        variable = next((name for name, of in ENVIRONMENT.items() if of == key), "")
        raise ConfigError(
            f"{key} is a secret, and a command line can be read by others.",
            cure=f"Put it into the environment as {variable}, or edit {settings.config_file}."
            if variable
            else f"Edit {settings.config_file}.",
        )
    _write_value(settings, key, text)


def keep_secrets(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    """Copy the secrets that stand in variables into config.yaml (mode 0600). Returns the variables' names.

    The service is started by whoever needs it first, and those processes do not have the variables of this shell.
    """
    found = {name: key for name, key in ENVIRONMENT.items() if key in SECRET_KEYS and environ.get(name)}
    for name, key in found.items():
        _write_value(settings, key, "'" + environ[name].replace("'", "''") + "'")
    return list(found)


def _write_value(settings: Settings, key: str, text: str) -> None:
    yaml = YAML()
    path = settings.config_file
    # Read twice: what is wrong with the file as it stands is said as everywhere.
    document = yaml.load(path.read_text("utf-8")) if _read_file(path) else {}
    try:
        # `config set KEY ""` empties it; YAML would read that as nothing at all.
        _assign(document, key, YAML(typ="safe").load(text) if text.strip() else "")
    except RecursionError as error:
        raise ConfigError(f"{key}: the value is nested too deeply.") from error
    except YAMLError as error:
        if key in SECRET_KEYS:
            raise ConfigError(f"{key}: the value is not valid YAML.", cure=f"Write it into {path} yourself.") from None
        raise ConfigError(f"{key}: {text!r} is not valid YAML: {said_by(error)}.", cure="Put it in quotes.") from error
    _validated(_plain(document), {key: "the new value"})
    path.parent.mkdir(parents=True, exist_ok=True, mode=constants.DIRECTORY_MODE)
    written = io.BytesIO()
    yaml.dump(document, written)
    # It may hold keys.
    write_whole(path, written.getvalue(), mode=constants.FILE_MODE)


def _homes(env: Mapping[str, str], hermes_home: Path | None) -> tuple[Path, Path]:
    host = _absolute(hermes_home or Path(env.get("HERMES_HOME") or "~/.hermes"), Path.cwd())
    return host, _absolute(Path(env.get("MEMORY_OS_HOME") or host / "memory-os"), Path.cwd())


def _read_file(path: Path) -> dict[str, Any]:
    try:
        loaded = YAML(typ="safe").load(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML: {said_by(error)}.", cure="Mend or remove the file.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deeply.", cure="Mend or remove the file.") from error
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}.") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path} must hold keys and values, not a {type(loaded).__name__}.")
    return loaded


def _validated(data: Mapping[str, Any], origins: Mapping[str, str]) -> Values:
    for key, value in _flatten_items(data):
        if isinstance(value, str) and "\0" in value:
            raise ConfigError(f"{key} ({origins.get(key, 'config.yaml')}) holds a null character: no path, name or address has one.")
    try:
        return Values.model_validate(dict(data))
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(item, origins) for item in error.errors()) + ".") from error


def _explain(item: Any, origins: Mapping[str, str]) -> str:
    key = ".".join(str(part) for part in item["loc"])
    where = origins.get(key, "config.yaml")
    if item["type"] == "extra_forbidden":
        return f"{key} ({where}) is not a setting; `memory-os config` lists them"
    if any(unshown == key or unshown.startswith(f"{key}.") for unshown in _UNSHOWN):
        return f"{key} ({where}): {item['msg'].removeprefix('Value error, ')}"
    # Only the first letter is lowered: the message may list accepted values, and those are case-sensitive.
    message = item["msg"].removeprefix("Value error, ")
    return f"{key} ({where}): {message[:1].lower()}{message[1:]}, not {item['input']!r}"


def _absolute(path: Path, base: Path) -> Path:
    expanded = path.expanduser()
    return expanded if expanded.is_absolute() else (base / expanded).resolve()


def _assign(data: Any, key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        if not isinstance(data.get(parent), dict):
            data[parent] = {}
        data = data[parent]
    data[last] = value


def _flatten(data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, _ in _flatten_items(data, prefix):
        yield key


def _flatten_items(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from _flatten_items(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _plain(value: Any) -> Any:
    return {key: _plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value
