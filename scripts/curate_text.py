# ruff: noqa: T201 - a script that shows what it saw
"""Curate texts with the model at an address and print what came of them. Exit code 1 if one could not be curated."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from memory_os.config import Settings, Values, load_settings
from memory_os.errors import MemoryOSError
from memory_os.llm import MemoryUsage, ModelClient
from memory_os.wiki import Wiki

START_WITHIN_S = 120.0


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("texts", type=Path, nargs="+")
    options = parser.parse_args(argv)
    work = options.work.resolve()
    base_url = address(work / "address")
    settings = settings_of(work, base_url, small=not options.full)
    wiki = Wiki(settings)
    wiki.init()
    failed = 0
    for text in options.texts:
        name = drop(wiki, text)
        started = time.monotonic()
        failed += not asyncio.run(curate(wiki, settings, name))
        print(f"  {time.monotonic() - started:.0f} s", flush=True)
    print(f"\nThe wiki is in {wiki.tree.root}.")
    for path in wiki.tree.pages():
        print(f"\n--- {path}\n{wiki.tree.read(path)}")
    return 1 if failed else 0


def address(file: Path) -> str:
    """Where the model answers; prints which it is. Waits for it to start."""
    deadline = time.monotonic() + START_WITHIN_S
    while not file.exists():
        if time.monotonic() > deadline:
            sys.exit(f"The model did not start; see {file.with_name('server.log')}.")
        time.sleep(0.2)
    base_url, described = file.read_text().splitlines()
    print(f"{time.strftime('%Y-%m-%d')}, {described}", flush=True)
    return base_url


def drop(wiki: Wiki, text: Path) -> str:
    """Put a text into `raw/`, as of a minute ago: what was just written waits. Returns its name there."""
    raw = wiki.tree.root / "raw" / text.name
    shutil.copyfile(text, raw)
    os.utime(raw, (time.time() - 60, time.time() - 60))
    return raw.name


def settings_of(work: Path, base_url: str, *, small: bool) -> Settings:
    """A home and a vault of their own; the small model answers slowly."""
    settings = load_settings({"VAULT_PATH": str(work / "vault")}, hermes_home=work / "hermes")
    patience = {"whole": 900, "first": 600, "between": 120, "deadline": 1800}
    models = {
        "provider": "openai", "base_url": f"{base_url}/v1", "model": "smollm2", "context_tokens": 6000, "concurrency": 1,
        "small": small, "patience": {"curation": patience},
    }  # fmt: skip
    given = settings.values.model_dump(exclude_unset=True)
    return replace(settings, values=Values.model_validate({**given, "models": models}))


async def curate(wiki: Wiki, settings: Settings, name: str) -> bool:
    """Whether the file was done; prints how it went."""
    model = ModelClient.open(settings, MemoryUsage())
    try:
        curated = await wiki.curate(name, model)
    except MemoryOSError as error:
        print(f"{name}: {type(error).__name__}: {error}")
        return False
    finally:
        await model.close()
    pages = len(curated.created) + len(curated.merged)
    print(f"{name}: {curated.status}, {curated.calls} questions, {pages} pages. {curated.reason}")
    for note in curated.notes:
        print(f"  note: {note}")
    return curated.status == "done"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
