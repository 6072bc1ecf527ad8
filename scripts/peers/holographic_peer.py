"""Hermes's bundled holographic provider, in its own interpreter: one fact a text, then its own search. JSON in and out."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    from plugins.memory.holographic.retrieval import FactRetriever
    from plugins.memory.holographic.store import MemoryStore

    asked = json.load(sys.stdin)
    store = MemoryStore(db_path=Path(asked["folder"]) / "memory_store.db")
    started = time.perf_counter()
    at_of: dict[int, int] = {}
    for at, text in enumerate(asked["texts"]):
        if text.strip():
            at_of.setdefault(store.add_fact(text), at)
    learning = time.perf_counter() - started
    retriever = FactRetriever(store)
    ranked, times = [], []
    for question in asked["questions"]:
        started = time.perf_counter()
        found = retriever.search(question, limit=asked["limit"])
        times.append((time.perf_counter() - started) * 1e3)
        ranked.append([at_of[one["fact_id"]] for one in found if one["fact_id"] in at_of])
    sys.stdout.write(json.dumps({"ranked": ranked, "milliseconds": times, "learning_s": learning}) + "\n")


if __name__ == "__main__":
    main()
