"""The locks are in step with pyproject.toml, pin every package by hash, and name no package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ASKED = {
    "requirements.lock": PROJECT["dependencies"],
    "requirements-server.lock": [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["server"]],
}
PIN = re.compile(r"^([a-z0-9.-]+)==(\S+?)(?: ; (.+?))? \\$", re.MULTILINE)


pytestmark = pytest.mark.parametrize("name", ASKED)


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def pins(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for package, version, _ in PIN.findall(text_of(name)):
        found.setdefault(canonicalize_name(package), []).append(version)
    return found


def test_every_dependency_is_pinned_to_a_version_it_allows(name: str) -> None:
    pinned = pins(name)
    for text in ASKED[name]:
        requirement = Requirement(text)
        versions = pinned.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement.name} is not in {name}; its first line says how to write it anew"
        assert all(requirement.specifier.contains(version) for version in versions), (text, versions)


def test_every_pinned_package_is_needed_by_something(name: str) -> None:
    asked = {canonicalize_name(Requirement(text).name) for text in ASKED[name]}
    for package in pins(name):
        block = text_of(name).split(f"\n{package}==", 1)[1].split("==", 1)[0]
        assert package in asked or "# via" in block, package
        assert package not in asked or "memory-os" in block, f"{package} came by another package only"


def test_every_pin_has_hashes(name: str) -> None:
    for entry in re.split(r"\n(?=[a-z])", text_of(name))[1:]:
        assert "--hash=sha256:" in entry, entry[:80]


def test_no_index_or_path_is_named(name: str) -> None:
    for forbidden in ("http://", "https://", "file:", "--index-url", "--find-links", "-e "):
        assert forbidden not in text_of(name)
