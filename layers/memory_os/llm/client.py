"""The model client: one async interface to whatever language model there is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
from pydantic import ValidationError

from memory_os.config import Settings
from memory_os.errors import ModelContent, ModelOff, ModelUnavailable
from memory_os.llm.messages import Answer, Call, Embeddings, Request
from memory_os.llm.usage import UsageLog


class ModelClient:
    """Ask a model. Make it with `open` inside a running event loop, end it with `close`."""

    def __init__(self, settings: Settings, usage: UsageLog) -> None:
        self._models = settings.values.models
        self._usage = usage
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    def open(cls, settings: Settings, usage: UsageLog) -> ModelClient:
        """Opening connects to nothing. Without a model the client opens all the same, and `available` is False."""
        return cls(settings, usage)

    @property
    def available(self) -> bool:
        """Whether a model is configured. Whether it answers now is in `status`."""
        return bool(self._models.base_url)

    async def ask(self, request: Request) -> Answer:
        """Ask. Raises ModelOff, ModelUnavailable, ModelAuth, ModelContent, ContextTooLong or BudgetSpent."""
        if not self.available:
            if request.rule is not None:
                return _by_rule(request)
            raise ModelOff("No language model is configured.", cure="See `models` in docs/configuration.md.")
        started = time.monotonic()
        payload: dict[str, Any] = {
            "model": self._models.model,
            "messages": [{"role": one.role, "content": one.content} for one in request.messages],
            "max_tokens": request.max_output_tokens,
        }
        answered = await self._post("/chat/completions", payload)
        text = str(answered["choices"][0]["message"].get("content") or "")
        usage = answered.get("usage") or {}
        await self._usage.record(Call(at=time.time(), job=request.job, model=self._models.model))
        try:
            parsed = request.schema.model_validate_json(text) if request.schema else None
        except ValidationError as error:
            raise ModelContent("The model's answer has another shape than asked for.", text=text) from error
        return Answer(
            text=text,
            parsed=parsed,
            model=self._models.model,
            input_tokens=int(usage.get("prompt_tokens") or 0),
            output_tokens=int(usage.get("completion_tokens") or 0),
            seconds=time.monotonic() - started,
        )

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """One vector a text, by the configured embedding model. Raises as `ask` does."""
        raise ModelOff("No embedding model is configured.", cure="Set models.embedding_model.")

    async def probe(self) -> bool:
        """Whether the model answers; never waits behind other work, and costs a few tokens."""
        return self.available

    def status(self) -> dict[str, Any]:
        """What `memory-os status` shows of it."""
        return {"provider": self._models.provider, "model": self._models.model, "available": self.available}

    async def close(self) -> None:
        """End open connections; calls that still run are cancelled by their callers."""
        if self._session is not None:
            await self._session.close()

    async def _post(self, path: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        try:
            async with self._session.post(self._models.base_url.rstrip("/") + path, json=payload) as response:
                response.raise_for_status()
                answered: dict[str, Any] = await response.json(content_type=None)
                return answered
        except aiohttp.ClientError as error:
            raise ModelUnavailable(f"The model can't be reached: {error}.", retry_at=time.time() + 60) from error


def _by_rule(request: Request) -> Answer:
    given = request.rule() if request.rule is not None else ""
    return (
        Answer(text=given, source="rule")
        if isinstance(given, str)
        else Answer(text=given.model_dump_json(), parsed=given, source="rule")
    )
