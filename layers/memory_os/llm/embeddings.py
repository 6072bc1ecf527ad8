"""Vectors from an OpenAI-compatible endpoint, in batches, with the retries, budgets and time-outs of every other call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from memory_os.config import ModelSettings
from memory_os.llm.budget import Means
from memory_os.llm.clock import Clock
from memory_os.llm.faults import Fault, FaultClass
from memory_os.llm.lane import Lane
from memory_os.llm.messages import Call, Embeddings
from memory_os.llm.retrying import Retrying
from memory_os.llm.spending import Spending
from memory_os.llm.wire import post_json
from memory_os.text import token_estimate

BATCH = 64


@dataclass(slots=True)
class Embedding:
    lane: Lane
    models: ModelSettings
    spending: Spending
    clock: Clock
    session: aiohttp.ClientSession
    jitter: Callable[[], float]
    retries: Counter[str]

    async def vectors(self, texts: Sequence[str]) -> Embeddings:
        """One vector a text, in order. Raises Fault, BudgetSpent, ModelUnavailable."""
        deadline = self.clock.monotonic() + self.models.patience.embedding.deadline
        found: list[list[float]] = []
        units = 0.0
        for start in range(0, len(texts), BATCH):
            batch = list(texts[start : start + BATCH])
            vectors, cost = await self._batch(batch, deadline)
            found += vectors
            units += cost
        return Embeddings(vectors=found, model=self.models.embedding_model, units=units)

    async def _batch(self, texts: list[str], deadline: float) -> tuple[list[list[float]], float]:
        tokens = sum(token_estimate(text) for text in texts)
        cost = self.spending.cost(self.models.embedding_model, tokens, 0)
        if await self.spending.means("embedding", cost) is Means.SPENT:
            raise self.spending.spent("embeddings")
        budget = self.models.retry_budget * tokens
        retrying = Retrying(self.clock, self.jitter, budget, deadline, self.retries, is_open=self.lane.is_open)

        async def attempt() -> list[list[float]]:
            self.spending.reserve("embedding", cost)
            outcome, seconds, failed = "cancelled", 0.0, ""
            try:
                stopwatch = self.lane.stopwatch("embedding", deadline)
                answered = await self.lane.guarded(stopwatch, lambda: self._post(texts))
                outcome, seconds = "ok", stopwatch.seconds
                return _vectors(answered, len(texts))
            except Fault as fault:
                outcome, failed = fault.reason, fault.kind.value
                retrying.charge(tokens)
                raise
            finally:
                spent = tokens if outcome == "ok" else 0
                call = Call(
                    at=self.clock.now(),
                    job="embedding",
                    model=self.models.embedding_model,
                    endpoint=self.lane.endpoint.public,
                    input_tokens=spent,
                    units=cost if spent else 0.0,
                    seconds=seconds,
                    outcome=outcome,
                    fault=failed,
                )
                self.spending.book(call, cost)

        return await retrying.run(attempt), cost

    async def _post(self, texts: list[str]) -> dict[str, Any]:
        endpoint = self.lane.endpoint
        body = {"model": self.models.embedding_model, "input": texts, "encoding_format": "float"}
        headers = self.lane.wire.headers(endpoint)
        return await post_json(self.session, f"{endpoint.base_url}/embeddings", headers, body, endpoint, self.clock.now)


def _vectors(answered: dict[str, Any], count: int) -> list[list[float]]:
    """The vectors by their index. Raises Fault when some are missing or of another length than the others."""
    rows = answered.get("data")
    try:
        ordered = sorted(rows or [], key=lambda row: int(row["index"]))
        vectors = [[float(value) for value in row["embedding"]] for row in ordered]
    except (TypeError, KeyError, ValueError):
        vectors = []
    if len(vectors) != count or len({len(vector) for vector in vectors}) > 1:
        raise Fault(FaultClass.CONTENT, "vectors", f"{len(vectors)} vectors for {count} texts")
    return vectors
