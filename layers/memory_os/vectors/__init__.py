"""Layer 5, vectors: the collection `knowledge_base` over Qdrant Edge, in this process."""

from memory_os.vectors.collection import Collection, Mode, Scored, Searched
from memory_os.vectors.folder import Stamp
from memory_os.vectors.points import Payload, Point

__all__ = ["Collection", "Mode", "Payload", "Point", "Scored", "Searched", "Stamp"]
