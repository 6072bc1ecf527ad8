"""Layer 5, vectors: the collection `knowledge_base`, over Qdrant Edge in this process or on a Qdrant server."""

from memory_os.vectors.collection import Collection
from memory_os.vectors.folder import Stamp
from memory_os.vectors.interface import Mode, Scored, Searched, VectorCollection
from memory_os.vectors.points import Payload, Point

__all__ = ["Collection", "Mode", "Payload", "Point", "Scored", "Searched", "Stamp", "VectorCollection"]
