"""Every error a user or a caller can meet. One base class to catch, leaves that name what failed.

    MemoryOSError
    ├── ConfigError            a key or value of config.yaml, an environment variable, or a flag
    ├── StoreError             memory.db
    │   ├── StoreCorrupt       … cannot be read as a database
    │   └── StoreNewer         … was written by a newer memory-os
    ├── EmbeddingError         the model or its files
    ├── VectorsError           the vector collection
    │   └── FingerprintMismatch … was built by another model, chunker or sparse setting
    ├── HostError              Hermes or one of its files
    │   └── SoulRejected       SOUL.md as it stands is already refused by the host's scanner
    ├── ServiceError           the service process
    │   ├── ServiceRunning     … already runs for this home
    │   ├── ServiceUnavailable … cannot be reached
    │   └── SocketPathTooLong
    ├── DocumentError          a file that can't be ingested
    ├── FabricError            an entry or the folder
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


class VectorsError(MemoryOSError):
    code = "vectors"


class FingerprintMismatch(VectorsError):
    code = "fingerprint_mismatch"


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


class SocketPathTooLong(ServiceError):
    code = "socket_path_too_long"


class DocumentError(MemoryOSError):
    code = "document"


class FabricError(MemoryOSError):
    code = "fabric"


class BadRequest(MemoryOSError):
    code = "bad_request"
