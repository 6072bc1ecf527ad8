"""mem0 (mem0ai), local and without a language model (infer=False), in its own interpreter. JSON in and out.

Its vectors are of the same model as memory-os's, over the OpenAI-compatible interface it has for that; its store is the
Qdrant client's local mode in a folder, its default.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    from mem0 import Memory

    asked = json.load(sys.stdin)
    folder = Path(asked["folder"])
    key = {"api_key": "unused", "openai_base_url": asked["address"]}
    memory = Memory.from_config(
        {
            "embedder": {"provider": "openai", "config": {**key, "model": "e5", "embedding_dims": 384}},
            # Never asked, but it must be named.
            "llm": {"provider": "openai", "config": {**key, "model": "none"}},
            "vector_store": {"provider": "qdrant", "config": {
                "collection_name": "peers", "path": str(folder / "qdrant"), "embedding_model_dims": 384, "on_disk": True}},
            "history_db_path": str(folder / "history.db"),
        }
    )  # fmt: skip
    started = time.perf_counter()
    at_of: dict[str, int] = {}
    for at, text in enumerate(asked["texts"]):
        if text.strip():
            for one in memory.add(text, user_id="local", infer=False)["results"]:
                at_of[one["id"]] = at
    learning = time.perf_counter() - started
    memory.embedding_model.config.model = "e5-query"
    ranked, times = [], []
    for question in asked["questions"]:
        started = time.perf_counter()
        found = _found(memory, question, asked["limit"])
        times.append((time.perf_counter() - started) * 1e3)
        ranked.append([at_of[one["id"]] for one in found if one["id"] in at_of])
    sys.stdout.write(json.dumps({"ranked": ranked, "milliseconds": times, "learning_s": learning}) + "\n")


def _found(memory: Any, question: str, limit: int) -> list[dict[str, Any]]:
    try:
        found = memory.search(question, filters={"user_id": "local"}, top_k=limit, threshold=0.0)
    except TypeError:  # before 2.0
        found = memory.search(question, user_id="local", limit=limit)
    return list(found["results"])


if __name__ == "__main__":
    main()
