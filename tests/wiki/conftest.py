"""A vault, a wiki in it, and the real model client against a scripted server."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memory_os.config import Settings, Values, load_settings
from memory_os.llm import MemoryUsage, ModelClient
from memory_os.wiki import Curated, Neighbour, Wiki
from support.model_server import Endpoint, ModelServer, Say

# 2026-11-30, 12:00 UTC
NOW = 1_796_040_000.0
DAY = "2026-11-30"


def settings_of(vault: Path, base_url: str = "", **wiki: float) -> Settings:
    """Settings with this vault, and the scripted model if there is a URL."""
    settings = load_settings({"VAULT_PATH": str(vault)}, hermes_home=vault.parent / "hermes")
    given = settings.values.model_dump(exclude_unset=True)
    # One short try: what is slow about a model that is away is the client's own to test.
    patience = {"curation": {"whole": 60, "first": 60, "between": 60, "deadline": 60}}
    model = {
        "provider": "openai",
        "base_url": base_url,
        "model": "scripted-model",
        "patience": patience,
        "retry_budget": 1,
    }
    models = model if base_url else {"provider": "none"}
    return replace(settings, values=Values.model_validate({**given, "models": models, "wiki": wiki}))


def page(title: str, *statements: str, **more: Any) -> dict[str, Any]:
    """One page as a model proposes it."""
    said = [{"section": more.pop("section", ""), "text": text} for text in statements]
    return {"title": title, "type": "entity", "summary": f"About {title}.", "tags": ["software"], "aliases": [],
            "confidence": 0.8, "statements": said, "links": [], **more}  # fmt: skip


def pages(*drafts: dict[str, Any]) -> Say:
    """The answer to one part of a raw file."""
    return Say(json.dumps({"pages": list(drafts)}, ensure_ascii=False))


def verdict(*, same: bool = True, sure: float = 0.9, duplicates: Sequence[tuple[int, int]] = (),
            contradictions: Sequence[tuple[int, int]] = ()) -> Say:  # fmt: skip
    """The answer to a comparison; pairs are (existing, new)."""

    def pairs(given: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
        return [{"existing": old, "new": new} for old, new in given]

    return Say(json.dumps({"same_subject": same, "confidence": sure, "duplicates": pairs(duplicates),
                           "contradictions": pairs(contradictions)}))  # fmt: skip


class Bench:
    """One wiki with its model."""

    def __init__(self, settings: Settings, endpoint: Endpoint) -> None:
        self.settings = settings
        self.wiki = Wiki(settings)
        self.model = endpoint
        self.near: dict[str, list[str]] = {}

    @property
    def root(self) -> Path:
        return self.wiki.tree.root

    def drop(self, name: str, text: str, at: float = NOW - 3600) -> Path:
        """Put a raw file there, as of a time."""
        path = self.root / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        os.utime(path, (at, at))
        return path

    def curate(self, name: str, **more: Any) -> Curated:
        """One run over one raw file."""
        now = more.pop("now", NOW)

        async def near(text: str) -> list[Neighbour]:
            return [Neighbour(path, 0.9) for key, paths in self.near.items() if key in text for path in paths]

        async def run() -> Curated:
            model = ModelClient.open(self.settings, MemoryUsage())
            try:
                return await self.wiki.curate(name, model, near, now=now, **more)
            finally:
                await model.close()

        return asyncio.run(run())

    def text(self, path: str) -> str:
        return (self.root / path).read_text("utf-8")

    def lint(self, fix: bool = False) -> list[tuple[str, str, str]]:
        return [(one.check, one.path, one.message) for one in self.wiki.lint(fix, now=NOW)]

    @property
    def asked(self) -> list[str]:
        """The last user message of every request, oldest first."""
        return [request.prompt for request in self.model.requests]


@pytest.fixture(scope="session")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def bench(tmp_path: Path, model_server: ModelServer) -> Bench:
    endpoint = model_server.endpoint(tmp_path.name)
    made = Bench(settings_of(tmp_path / "vault", endpoint.base_url), endpoint)
    made.wiki.init()
    return made
