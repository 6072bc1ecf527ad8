# ruff: noqa: T201 - a script that shows what it saw
"""Curate one text with the model at an address, print what came of it, and fail if the pages don't lint clean."""

from __future__ import annotations

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


def main(work: Path, text: Path) -> int:
    settings = settings_of(work, address(work / "address"))
    wiki = Wiki(settings)
    wiki.init()
    raw = wiki.tree.root / "raw" / text.name
    shutil.copyfile(text, raw)
    os.utime(raw, (time.time() - 60, time.time() - 60))
    started = time.monotonic()
    asyncio.run(curate(wiki, settings, raw.name))
    print(f"{time.monotonic() - started:.0f} s. The wiki is in {wiki.tree.root}.")
    for path in wiki.tree.pages():
        print(f"\n--- {path}\n{wiki.tree.read(path)}")
    findings = wiki.lint()
    for one in findings:
        print(f"{one.level}: {one.check}, {one.path}: {one.message}")
    faults = [one for one in findings if one.level == "fault"]
    print(f"{len(wiki.tree.pages())} pages, {len(faults)} faults, {len(findings) - len(faults)} to review.")
    return 1 if faults else 0


def address(file: Path) -> str:
    deadline = time.monotonic() + START_WITHIN_S
    while not file.exists():
        if time.monotonic() > deadline:
            sys.exit(f"The model did not start; see {file.with_name('server.log')}.")
        time.sleep(0.2)
    return file.read_text().strip()


def settings_of(work: Path, base_url: str) -> Settings:
    """A home and a vault of their own; the small model answers slowly."""
    settings = load_settings({"VAULT_PATH": str(work / "vault")}, hermes_home=work / "hermes")
    patience = {"whole": 900, "first": 600, "between": 120, "deadline": 1800}
    models = {
        "provider": "openai", "base_url": f"{base_url}/v1", "model": "smollm2", "context_tokens": 6000, "concurrency": 1,
        "patience": {"curation": patience},
    }  # fmt: skip
    given = settings.values.model_dump(exclude_unset=True)
    return replace(settings, values=Values.model_validate({**given, "models": models}))


async def curate(wiki: Wiki, settings: Settings, name: str) -> None:
    model = ModelClient.open(settings, MemoryUsage())
    try:
        print(await wiki.curate(name, model))
    except MemoryOSError as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        await model.close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
