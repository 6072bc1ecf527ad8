"""Language models: one client for every remote call, with time-outs, retries, budgets and a breaker of our own.

Nothing here is imported until somebody asks a model: the service starts without it.
"""

from __future__ import annotations

from memory_os.llm.client import ModelClient
from memory_os.llm.messages import Answer, Call, Embeddings, Job, JobClass, Message, Request
from memory_os.llm.usage import MemoryUsage, StoreUsage, UsageLog

__all__ = [
    "Answer",
    "Call",
    "Embeddings",
    "Job",
    "JobClass",
    "MemoryUsage",
    "Message",
    "ModelClient",
    "Request",
    "StoreUsage",
    "UsageLog",
]
