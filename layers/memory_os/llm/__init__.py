"""Language models: one client for every remote call, with time-outs, retries, budgets and a breaker of our own.

`ModelClient` is imported when it is first asked for: its HTTP client has no part in the start of the service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_os.llm.messages import Answer, Call, Embeddings, Job, JobClass, Message, Probe, Request
from memory_os.llm.resolve import allows
from memory_os.llm.splitting import ask_in_parts, split_messages, tokens_of
from memory_os.llm.usage import MemoryUsage, StoreUsage, UsageLog

if TYPE_CHECKING:
    from memory_os.llm.client import ModelClient

__all__ = [
    "Answer",
    "Call",
    "Embeddings",
    "Job",
    "JobClass",
    "MemoryUsage",
    "Message",
    "ModelClient",
    "Probe",
    "Request",
    "StoreUsage",
    "UsageLog",
    "allows",
    "ask_in_parts",
    "split_messages",
    "tokens_of",
]


def __getattr__(name: str) -> Any:
    if name == "ModelClient":
        from memory_os.llm.client import ModelClient

        return ModelClient
    raise AttributeError(name)
