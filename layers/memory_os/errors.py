"""Every error a user or a caller can meet. One base class to catch, leaves that name what failed.

    MemoryOSError
    ├── ConfigError            a key or value of config.yaml, an environment variable, or a flag
    ├── StoreError             memory.db
    │   ├── StoreCorrupt       … cannot be read as a database
    │   └── StoreNewer         … was written by a newer memory-os
    ├── EmbeddingError         the model or its files
    │   ├── EmbeddingUnavailable … can't be asked now, or hangs; it may answer again by itself
    │   └── EmbeddingInvalid   … answers with what is no vector of it: another number or length of them, no direction
    ├── VectorsError           the vector collection
    │   ├── FingerprintMismatch … was built by another model, chunker or sparse setting
    │   ├── VectorsUnavailable … its server can't be reached, is too slow or fails, or another process holds its folder; it may pass
    │   ├── VectorsDenied      … its server refuses the key, or shows a certificate that isn't trusted
    │   └── VectorsGone        … it vanished, from its server or this disk, and is to be derived again from memory.db
    ├── HostError              Hermes or one of its files
    │   └── SoulRejected       SOUL.md as it stands is already refused by the host's scanner
    ├── ServiceError           the service process
    │   ├── ServiceRunning     … already runs for this home
    │   ├── ServiceUnavailable … cannot be reached
    │   ├── WorkerUnfit        … a worker that can't do its work: of another version, or without its model
    │   └── SocketPathTooLong
    ├── QueueError             the job queue (Redis, or the Valkey that is bundled)
    │   ├── QueueAway          … cannot be reached
    │   ├── QueueFull          … takes no more: its memory limit is reached
    │   └── QueueAuth          … refuses the password, or asks for one
    ├── DocumentError          a file that can't be ingested
    │   └── DocumentUnreadable … nor even read: no permission, too large, no regular file, gone
    ├── FabricError            an entry or the folder
    ├── WikiError              the wiki's tree, its SCHEMA.md, a raw file or a page
    │   └── WikiBusy           … another process curates this file
    ├── ModelError             a language model
    │   ├── ModelOff           … none is configured, or not for this job
    │   ├── ModelUnavailable   … can't be reached now; `retry_at` says when to try again
    │   ├── ModelAuth          … refuses the key
    │   ├── ModelContent       … answered, but not with what was asked for
    │   ├── ContextTooLong     … can't take that much at once: split the messages
    │   └── BudgetSpent        … may not be asked more until `resets_at`
    ├── BackupError            a backup that can't be made, or isn't what its manifest says
    ├── AlertError             a route of `alerts` that can't be reached
    └── BadRequest             arguments of a tool, a command or an API call
"""

from __future__ import annotations


class MemoryOSError(Exception):
    """Base of all. `message` is one sentence for a person; `cure` says what to do next, or is empty."""

    code = "error"

    def __init__(self, message: str, *, cure: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.message} {self.cure}".strip()


class ConfigError(MemoryOSError):
    code = "config"


class StoreError(MemoryOSError):
    code = "store"


class StoreCorrupt(StoreError):
    code = "store_corrupt"


class StoreNewer(StoreError):
    code = "store_newer"


class EmbeddingError(MemoryOSError):
    code = "embedding"


class EmbeddingUnavailable(EmbeddingError):
    code = "embedding_unavailable"


class EmbeddingInvalid(EmbeddingError):
    code = "embedding_invalid"


class VectorsError(MemoryOSError):
    code = "vectors"


class FingerprintMismatch(VectorsError):
    code = "fingerprint_mismatch"


class VectorsUnavailable(VectorsError):
    """`retry_after`: seconds the server asked to be left alone, or None."""

    code = "vectors_unavailable"

    def __init__(self, message: str, *, cure: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, cure=cure)
        self.retry_after = retry_after


class VectorsDenied(VectorsError):
    code = "vectors_denied"


class VectorsGone(VectorsError):
    code = "vectors_gone"


class HostError(MemoryOSError):
    code = "host"


class SoulRejected(HostError):
    code = "soul_rejected"


class ServiceError(MemoryOSError):
    code = "service"


class ServiceRunning(ServiceError):
    code = "service_running"


class ServiceUnavailable(ServiceError):
    code = "service_unavailable"


class WorkerUnfit(ServiceError):
    code = "worker_unfit"


class SocketPathTooLong(ServiceError):
    code = "socket_path_too_long"


class QueueError(MemoryOSError):
    code = "queue"


class QueueAway(QueueError):
    code = "queue_away"


class QueueFull(QueueError):
    code = "queue_full"


class QueueAuth(QueueError):
    code = "queue_auth"


class DocumentError(MemoryOSError):
    code = "document"


class DocumentUnreadable(DocumentError):
    """`size` in bytes and `mtime_ns` as far as they are known; `gone`: there is no such file any more."""

    code = "document_unreadable"

    def __init__(self, message: str, *, cure: str = "", size: int = 0, mtime_ns: int = 0, gone: bool = False) -> None:
        super().__init__(message, cure=cure)
        self.size, self.mtime_ns, self.gone = size, mtime_ns, gone


class FabricError(MemoryOSError):
    code = "fabric"


class WikiError(MemoryOSError):
    code = "wiki"


class WikiBusy(WikiError):
    code = "wiki_busy"


class ModelError(MemoryOSError):
    code = "model"


class ModelOff(ModelError):
    code = "model_off"


class ModelUnavailable(ModelError):
    """`retry_at`: epoch seconds before which asking again is pointless; 0: not known."""

    code = "model_unavailable"

    def __init__(self, message: str, *, cure: str = "", retry_at: float = 0.0) -> None:
        super().__init__(message, cure=cure)
        self.retry_at = retry_at


class ModelAuth(ModelError):
    code = "model_auth"


class ModelContent(ModelError):
    """`text`: what the model said instead, for the caller's own salvage; never logged. `cut`: it ran out of room for its
    answer, so that a smaller question may help. `units`: what it cost."""

    code = "model_content"

    def __init__(
        self, message: str, *, cure: str = "", text: str = "", cut: bool = False, units: float = 0.0
    ) -> None:  # fmt: skip
        super().__init__(message, cure=cure)
        self.text = text
        self.cut = cut
        self.units = units


class ContextTooLong(ModelError):
    """`limit`: the tokens that fit, where the provider said so, else 0."""

    code = "context_too_long"

    def __init__(self, message: str, *, cure: str = "", limit: int = 0) -> None:
        super().__init__(message, cure=cure)
        self.limit = limit


class BudgetSpent(ModelError):
    """`resets_at`: epoch seconds when the next budget begins; 0: not known."""

    code = "budget_spent"

    def __init__(self, message: str, *, cure: str = "", resets_at: float = 0.0) -> None:
        super().__init__(message, cure=cure)
        self.resets_at = resets_at


class BackupError(MemoryOSError):
    code = "backup"


class AlertError(MemoryOSError):
    code = "alert"


class BadRequest(MemoryOSError):
    code = "bad_request"


def said_by(error: BaseException, longest: int = 300) -> str:
    """What somebody else's error says, on one line; its class where it says nothing."""
    return " ".join(str(error).split())[:longest] or type(error).__name__
