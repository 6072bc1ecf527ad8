"""`memory-os config`: each value with its origin; change one; say where the file is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from memory_os.config import Values, flat_values, load_settings, set_value
from memory_os.errors import ConfigError

from memory_os_workers.cli.invocation import Group, Invocation, json_option, pass_invocation, print_table

if TYPE_CHECKING:
    from memory_os.config import Settings


@click.group(cls=Group, invoke_without_command=True)
@json_option
@click.pass_context
def config(ctx: click.Context) -> None:
    """Show the configuration: every key, its value, and where the value comes from."""
    if ctx.invoked_subcommand is not None:
        return
    invocation = ctx.ensure_object(Invocation)
    settings = invocation.settings
    table = {key: {"value": value, "origin": settings.origins.get(key, "default")} for key, value in _values(settings)}
    rows = [(key, one["value"], one["origin"]) for key, one in table.items()]
    invocation.show(table, lambda out: print_table(out, ("key", "value", "origin"), rows))


@config.command("get")
@click.argument("key")
@json_option
@pass_invocation
def get_key(invocation: Invocation, key: str) -> None:
    """Print the value of KEY."""
    values = dict(_values(invocation.settings))
    if key not in values:
        raise _unknown(key, list(values))
    origin = invocation.settings.origins.get(key, "default")
    invocation.show({"key": key, "value": values[key], "origin": origin}, lambda out: out.print(values[key]))


@config.command("set")
@click.argument("key")
@click.argument("value")
@json_option
@pass_invocation
def set_key(invocation: Invocation, key: str, value: str) -> None:
    """Write KEY: VALUE (read as YAML) to config.yaml; the service takes it at its next start."""
    settings = invocation.settings
    known = list(flat_values(Values()))
    # Below a key whose value is a mapping (scopes.aliases) any name may stand.
    if key not in known and not any(key.startswith(f"{one}.") for one in known):
        raise _unknown(key, known)
    set_value(settings, key, value)
    text = f"{key} is set in {settings.config_file}. A running service takes it after `memory-os stop`."
    if settings.origins.get(key, "").isupper():
        text += f" The environment variable {settings.origins[key]} still wins over it."
    if key.startswith("embedding."):
        text += _of_embedding(load_settings(hermes_home=settings.hermes_home))
    invocation.show({"key": key, "value": value, "file": str(settings.config_file)}, lambda out: out.print(text))


@config.command("path")
@json_option
@pass_invocation
def show_path(invocation: Invocation) -> None:
    """Print where config.yaml is (it need not exist)."""
    path = str(invocation.settings.config_file)
    invocation.show({"path": path}, lambda out: out.print(path, soft_wrap=True))


def _of_embedding(settings: Settings) -> str:
    """What a new model asks of its user, and what it is sent."""
    from memory_os.embedding.naming import model_egress, model_line

    text = f" The embedding model is then {model_line(settings)}: `memory-os status` says whether `memory-os reindex` must follow."
    leaving = model_egress(settings)
    return f"{text} What leaves this machine then: {leaving}." if leaving else text


def _values(settings: Settings) -> list[tuple[str, object]]:
    """Every key with the value in force: folders that have a default show it."""
    derived = {
        "agent": settings.agent,
        "fabric_dir": str(settings.fabric_dir),
        "vault_path": str(settings.vault),
        "service.socket": str(settings.socket),
    }
    return [(key, derived.get(key, value)) for key, value in flat_values(settings.values).items()]


def _unknown(key: str, keys: list[str]) -> ConfigError:
    from difflib import get_close_matches

    near = get_close_matches(key, keys, n=3) or [one for one in keys if key in one.split(".")][:3]
    return ConfigError(
        f"{key} is not a setting.", cure=f"Perhaps {', '.join(near)}?" if near else "`memory-os config` lists them."
    )
