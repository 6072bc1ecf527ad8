"""What the documents claim exists: commands, options, tools, keys, variables, counters, requests, files, links.

A claim is code in Markdown: a `span` or a fenced block. Checked both ways where a user would miss what is not written.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import click
import pytest
from memory_os.config import ENVIRONMENT, Values, flat_values
from memory_os_workers.cli import cli
from memory_os_workers.setup.plan import parser as setup_flags

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCES = ("plugins", "layers", "workers")
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_VARIABLE = re.compile(r"\$?\b((?:HERMES|MEMORY_OS)_[A-Z_]+|FABRIC_DIR|VAULT_PATH)\b")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_ROUTE = re.compile(r"\b(GET|POST) (/v1/[\w/]+)")
# Read by the test suite and its command only.
_OF_THE_TESTS = re.compile(r"MEMORY_OS_TEST_\w+")


@dataclass(frozen=True)
class Page:
    """One document: its prose, and the code that stands in it."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(REPOSITORY))

    @property
    def blocks(self) -> list[tuple[str, str]]:
        """(language, text) of the fenced blocks."""
        return _FENCE.findall(self.text)

    @property
    def spans(self) -> list[str]:
        return _SPAN.findall(_FENCE.sub("", self.text))

    @property
    def commands(self) -> Iterator[str]:
        """Lines that a reader would type into a shell."""
        for language, block in self.blocks:
            if language in ("", "sh", "bash", "console", "shell"):
                yield from (line.strip().removeprefix("$ ") for line in block.splitlines())
        yield from self.spans

    def tables(self, first_header: str) -> list[str]:
        """First cells of the tables whose first column has this header."""
        cells, inside = [], False
        for line in self.text.splitlines():
            cell = line.split("|")[1].strip() if line.startswith("|") and line.count("|") > 1 else None
            if cell is None:
                inside = False
            elif cell.lower() == first_header:
                inside = True
            elif inside and not set(cell) <= set("-: "):
                cells.append(cell)
        return cells

    @property
    def counters(self) -> list[str]:
        """The names in the first column of the tables of counters."""
        return [name for cell in self.tables("counter") for name in _SPAN.findall(cell)]


def pages() -> list[Page]:
    found = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    return [Page(path, path.read_text("utf-8")) for path in found if path.exists()]


def source_files() -> list[Path]:
    return [path for root in SOURCES for path in sorted((REPOSITORY / root).rglob("*.py"))]


def load_plugin_module(name: str) -> ModuleType:
    """A module of the plugin, whose folder is a package only inside Hermes."""
    package = "memory_os_plugin_for_docs"
    folder = REPOSITORY / "plugins" / "memory_os"
    if package not in sys.modules:
        holder = ModuleType(package)
        holder.__path__ = [str(folder)]
        sys.modules[package] = holder
    spec = importlib.util.spec_from_file_location(f"{package}.{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PAGES = pages()
each_page = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])


# -- commands ------------------------------------------------------------------------------------------------------


def tokens_of(line: str) -> list[str] | None:
    """The words after `memory-os`, or None when the line is no such command."""
    line = re.sub(r"[…⟨⟩]", "", line).replace("[", "").replace("]", "").split(" | ")[0]
    match = re.match(r"(?:\w+=\S+ )*(?:hermes )?memory-os(?: (.*))?$", line)
    if match is None:
        return None
    try:
        return shlex.split(match[1] or "", comments=True)
    except ValueError:
        return (match[1] or "").split()


def resolve(words: list[str]) -> str:
    """Follow a command line through click. Returns what does not exist, or ""."""
    command: click.Command = cli
    context = click.Context(cli)
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("--"):
            option = _option(command, word.partition("=")[0])
            if option is None and word not in ("--help", "--version"):
                return f"{command.name} has no option {word}"
            skip = option is not None and not option.is_flag and "=" not in word
        elif isinstance(command, click.Group) and re.fullmatch(r"[a-z][a-z-]*", word):
            inner = command.get_command(context, word)
            if inner is None:
                return f"{command.name} has no command {word}"
            command = inner
    return ""


def _option(command: click.Command, name: str) -> click.Option | None:
    for parameter in command.params:
        if isinstance(parameter, click.Option) and name in (*parameter.opts, *parameter.secondary_opts):
            return parameter
    return None


@each_page
def test_every_command_and_option_exists(page: Page) -> None:
    wrong = [
        f"{line}: {problem}"
        for line in page.commands
        if (words := tokens_of(line)) is not None and (problem := resolve(words))
    ]
    assert wrong == []


@each_page
def test_every_flag_of_setup_exists(page: Page) -> None:
    known = {option for action in setup_flags()._actions for option in action.option_strings}
    lines = [line for line in page.commands if line.startswith("./setup.sh")]
    assert {flag for line in lines for flag in re.findall(r"--[a-z-]+", line)} <= known


@each_page
def test_every_slash_command_exists(page: Page) -> None:
    usage = load_plugin_module("commands")._USAGE
    verbs = {verb for line in usage.splitlines() for verb in re.findall(r"[a-z]+", line.split("·")[0])}
    said = {verb for span in page.spans for verb in re.findall(r"^/memory-os ([a-z]+)", span)}
    assert said <= verbs


def test_every_command_is_documented() -> None:
    documented = {words[0] for page in PAGES for line in page.commands if (words := tokens_of(line))}
    assert set(cli.list_commands(click.Context(cli))) <= documented


# -- tools ---------------------------------------------------------------------------------------------------------


def tool_names() -> set[str]:
    return set(load_plugin_module("schemas").NAMES)


def parameter_names() -> set[str]:
    return {name for schema in load_plugin_module("schemas").SCHEMAS for name in schema["parameters"]["properties"]}


@each_page
def test_every_tool_exists(page: Page) -> None:
    """A span that starts like one of our tools is a tool, or a parameter, a key or a counter of that name."""
    said = {
        match[1] for span in page.spans if (match := re.match(r"((?:fabric|fact|qdrant|memory)_[a-z_]+)\b(?!\.)", span))
    }
    known = tool_names() | parameter_names() | config_keys() | set(page.counters) | {"memory_os", "memory_os_workers"}
    assert said - known == set()


def test_every_tool_is_documented() -> None:
    documented = {word for page in PAGES for span in page.spans for word in re.findall(r"[a-z_]+", span)}
    assert tool_names() <= documented


# -- keys, variables, counters -------------------------------------------------------------------------------------


def config_keys() -> set[str]:
    return set(flat_values(Values()))


@each_page
def test_every_configuration_key_exists(page: Page) -> None:
    keys = config_keys()
    sections = {key.partition(".")[0] for key in keys if "." in key}
    said = {
        match[1]
        for span in page.spans
        if (match := re.match(r"([a-z_]+(?:\.[a-z_]+)+)(?::|$|\s|=)", span)) and match[1].partition(".")[0] in sections
    }
    assert {key for key in said if not any(key == known or known.startswith(f"{key}.") for known in keys)} == set()


def test_every_configuration_key_is_documented() -> None:
    spans = {span.partition(":")[0].strip() for page in PAGES for span in page.spans}
    assert config_keys() - spans == set()


def test_the_defaults_in_the_table_of_keys_are_those_of_the_code() -> None:
    text = (REPOSITORY / "docs" / "configuration.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z_.]+)` \| `([^`]+)` \|", text, re.MULTILINE)
    defaults = flat_values(Values())
    told = {key: default for key, default in rows if defaults[key] is not None}
    assert told.keys() >= {"recall.max_tokens", "recall.min_probability", "capture.enabled"}
    for key, default in told.items():
        value = defaults[key]
        assert default == (
            str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
        ), key


def variables_read() -> set[str]:
    """Our own environment variables that some source reads; the host's are the host's to document."""
    texts = (path.read_text("utf-8") for path in source_files())
    read = {
        name
        for text in texts
        for name in re.findall(r"""environ(?:\.get\(|\[)"([A-Z_]+)"|env\.get\("([A-Z_]+)""", text)
    }
    return {name for pair in read for name in pair if name} | set(ENVIRONMENT)


@each_page
def test_every_environment_variable_exists(page: Page) -> None:
    scripts = [REPOSITORY / name for name in ("setup.sh", "scripts/test", "docker-compose.yml")]
    everything = "\n".join(path.read_text("utf-8") for path in [*source_files(), *scripts])
    said = set(_VARIABLE.findall(page.text))
    assert {name for name in said if not re.search(rf"\b{name}\b", everything)} == set()


def test_every_environment_variable_is_documented() -> None:
    documented = {name for page in PAGES for name in _VARIABLE.findall(page.text)}
    ours = {name for name in variables_read() if _VARIABLE.fullmatch(name) and not _OF_THE_TESTS.fullmatch(name)}
    assert ours - documented == set()


def counters() -> set[str]:
    """The names that `store.count(...)` is called with; `*` stands for a part made at run time."""
    names: set[str] = set()
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _is_store_count(node.func) and node.args:
                names |= _names(node.args[0])
    return names


def _is_store_count(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "count"
        and ast.unparse(function.value).rpartition(".")[2].lstrip("_") == "store"
    )


def _names(argument: ast.expr) -> set[str]:
    if isinstance(argument, ast.Constant):
        return {str(argument.value)}
    if isinstance(argument, ast.IfExp):
        return _names(argument.body) | _names(argument.orelse)
    if isinstance(argument, ast.JoinedStr):
        parts = (str(part.value) if isinstance(part, ast.Constant) else "*" for part in argument.values)
        return {"".join(parts)}
    return set()


def test_every_counter_in_a_table_is_counted_and_every_one_that_is_counted_is_documented() -> None:
    claimed = {name for page in PAGES for name in page.counters}
    counted = counters()
    assert {name for name in claimed if not any(fnmatch(name, pattern) for pattern in counted)} == set()
    assert {pattern for pattern in counted if not any(fnmatch(name, pattern) for name in claimed)} == set()


# -- requests, files, links ----------------------------------------------------------------------------------------


@each_page
def test_every_request_exists(page: Page) -> None:
    api = "\n".join(path.read_text("utf-8") for path in (REPOSITORY / "workers").rglob("*.py"))
    routes = {
        (verb.upper(), re.sub(r"\{\w+\}", "NAME", path))
        for verb, path in re.findall(r'web\.(get|post)\("([^"]+)"', api)
    }
    assert {(verb, path.rstrip("/")) for verb, path in _ROUTE.findall(page.text)} <= routes


@each_page
def test_every_link_leads_to_a_file(page: Page) -> None:
    targets = [link for link in _LINK.findall(page.text) if "://" not in link and not link.startswith("mailto:")]
    assert [link for link in targets if not (page.path.parent / link).exists()] == []


@each_page
def test_every_file_of_the_repository_exists(page: Page) -> None:
    roots = "|".join([*SOURCES, "tests", "scripts", "docs", r"\.ci"])
    said = {match[0].rstrip("/.") for span in page.spans if (match := re.match(rf"(?:{roots})/[\w./-]*", span))}
    assert {path for path in said if not (REPOSITORY / path).exists()} == set()


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"])
def test_the_repositorys_pages_are_there(name: str) -> None:
    assert (REPOSITORY / name).read_text("utf-8").strip()


def test_there_is_a_page_for_every_layer() -> None:
    numbers = {path.name[0] for path in (REPOSITORY / "docs" / "layers").glob("[1-7]-*.md")}
    assert numbers == set("1234567")
