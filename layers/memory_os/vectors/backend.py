"""Where the collection lives: in this process, or on the server that the settings name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memory_os.config import ServerSettings
from memory_os.errors import VectorsError
from memory_os.vectors.collection import Collection
from memory_os.vectors.connection import Address
from memory_os.vectors.folder import CURRENT_FILE, lock_folder, remove_others
from memory_os.vectors.interface import VectorCollection
from memory_os.vectors.server import ServerCollection

__all__ = ["Backend", "Embedded", "OnServer", "backend_of"]


class Backend(Protocol):
    """Opens the collection of one home. `folder` is what it writes to on this machine's disk, if it does."""

    @property
    def folder(self) -> Path | None: ...

    def open(self, fingerprint: str, dimension: int) -> VectorCollection:
        """The current collection, or the first. Raises FingerprintMismatch, VectorsError."""

    def open_rebuild(self, fingerprint: str, dimension: int) -> VectorCollection:
        """A new, empty one beside a current one that can't be used. Raises VectorsError."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Qdrant Edge in a folder of this home."""

    folder: Path

    def open(self, fingerprint: str, dimension: int) -> VectorCollection:
        return Collection.open(self.folder, fingerprint, dimension)

    def open_rebuild(self, fingerprint: str, dimension: int) -> VectorCollection:
        return Collection.open_rebuild(self.folder, fingerprint, dimension)


@dataclass(frozen=True, slots=True)
class OnServer:
    """A Qdrant server. `unused` is the folder the embedded engine would use."""

    address: Address
    home: str
    unused: Path

    @property
    def folder(self) -> None:
        return None

    def open(self, fingerprint: str, dimension: int) -> VectorCollection:
        opened = ServerCollection.open(self.address, self.home, fingerprint, dimension)
        self._clear_embedded()
        return opened

    def open_rebuild(self, fingerprint: str, dimension: int) -> VectorCollection:
        return ServerCollection.open_rebuild(self.address, self.home, fingerprint, dimension)

    def _clear_embedded(self) -> None:
        """A collection that nobody keeps in step would go on holding what is forgotten; it is derived data."""
        if not (self.unused / CURRENT_FILE).exists():
            return
        with suppress(VectorsError, OSError):  # whoever holds it lets go some day; then the next start clears it
            lock = lock_folder(self.unused)
            try:
                (self.unused / CURRENT_FILE).unlink()
                remove_others(self.unused, "")
            finally:
                lock.release()


def backend_of(folder: Path, servers: ServerSettings, home: str) -> Backend:
    """`servers.qdrant_url` decides. `home`: `Store.home_id`."""
    if not servers.qdrant_url:
        return Embedded(folder)
    address = Address(servers.qdrant_url, servers.qdrant_api_key.get_secret_value(), servers.qdrant_ca_file)
    return OnServer(address, home, folder)
