"""requirements.lock is in step with pyproject.toml, pins every package by hash, and names no package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PIN = re.compile(r"^([a-z0-9.-]+)==(\S+?)(?: ; (.+?))? \\$", re.MULTILINE)


def pins() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, version, _ in PIN.findall(LOCK):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def test_every_dependency_is_pinned_to_a_version_it_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = pins()
    for text in project["dependencies"]:
        requirement = Requirement(text)
        versions = pinned.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement.name} is not in requirements.lock; its first line says how to write it anew"
        assert all(requirement.specifier.contains(version) for version in versions), (text, versions)


def test_every_pinned_package_is_needed_by_something() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    for name in pins():
        block = LOCK.split(f"\n{name}==", 1)[1].split("==", 1)[0]
        assert name in asked or "# via" in block, name
        assert name not in asked or "memory-os" in block, f"{name} came by another package only"


def test_every_pin_has_hashes() -> None:
    for entry in re.split(r"\n(?=[a-z])", LOCK)[1:]:
        assert "--hash=sha256:" in entry, entry[:80]


def test_no_index_or_path_is_named() -> None:
    for forbidden in ("http://", "https://", "file:", "--index-url", "--find-links", "-e "):
        assert forbidden not in LOCK
