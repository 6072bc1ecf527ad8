"""One Qdrant Edge shard: its life cycle, its errors as ours, and repair of a flush that failed.

Searches and writes run side by side in many threads; only closing and reloading wants to be alone.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import qdrant_edge as edge

from memory_os import constants
from memory_os.errors import VectorsError, VectorsGone

__all__ = ["DENSE", "SPARSE_NAME", "Shard"]

DENSE = "dense"
SPARSE_NAME = "sparse"

CHECK = "Check free space, its owner and its mode."
CURE = "`memory-os reindex` rebuilds the collection from memory.db; nothing is embedded again."

# Four bits a dimension beside each vector (192 bytes of 1,536). A search goes through the codes, and compares the best of
# them by the vectors themselves: at 100,000 points a fifth of the time, and the engine holds the interpreter as long.
_CODES = edge.TurboQuantQuantizationConfig(bits=edge.TurboQuantBitSize.Bits4)
_ENGINE_FILE = "edge_config.json"
_INDEXES: tuple[tuple[str, edge.PayloadSchemaType | edge.KeywordIndexParams], ...] = (
    ("scope", edge.KeywordIndexParams(is_tenant=True)),
    ("layer", edge.PayloadSchemaType.Keyword),
    ("source", edge.PayloadSchemaType.Keyword),
    ("created_at", edge.PayloadSchemaType.Float),
)


class Shard:
    """A folder held open by this process. The caller holds the collection's lock before making one."""

    def __init__(self, path: Path, shard: edge.EdgeShard) -> None:
        self.path = path
        self.reloads = 0
        self._shard: edge.EdgeShard | None = shard
        self._closed = False
        self._gate = _Gate()

    @classmethod
    def create(cls, path: Path, dimension: int) -> Shard:
        """A new, empty shard with its payload indexes. Raises VectorsError; leaves no half-made folder."""
        config = edge.EdgeConfig(
            vectors={
                DENSE: edge.EdgeVectorParams(
                    size=dimension, distance=edge.Distance.Cosine, quantization_config=_CODES
                )
            },
            sparse_vectors={SPARSE_NAME: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        )
        try:
            path.mkdir(mode=constants.DIRECTORY_MODE, parents=True)
            with typed_errors(f"{path} can't be created"):
                shard = edge.EdgeShard.create(str(path), config)
                for field, schema in _INDEXES:
                    shard.update(edge.UpdateOperation.create_field_index(field, schema))
                shard.flush()
        except OSError as error:
            raise VectorsError(f"{path} can't be created: {error.strerror}.", cure=CHECK) from error
        except VectorsError:
            shutil.rmtree(path, ignore_errors=True)
            raise
        return cls(path, shard)

    @classmethod
    def load(cls, path: Path) -> Shard:
        """An existing shard, proved to answer. Raises VectorsError with the cure if it is damaged."""
        with typed_errors(f"{path} is damaged or unreadable", CURE):
            shard = edge.EdgeShard.load(str(path))
        try:
            with typed_errors(f"{path} is damaged", CURE):
                _probe(shard)
        except VectorsError:
            _close(shard)
            raise
        return cls(path, shard)

    def check_there(self) -> None:
        """Raises VectorsGone where its folder was deleted: what it still answers nobody finds after the next start."""
        if not self.path.is_dir():
            raise VectorsGone(
                f"{self.path} was deleted while it was in use.", cure="It is derived again from memory.db by itself."
            )

    @property
    def has_codes(self) -> bool:
        """Whether its vectors have codes beside them: a shard from before there were any has none until it is rebuilt."""
        try:
            kept = json.loads((self.path / _ENGINE_FILE).read_text("utf-8"))
            return bool(kept["vectors"][DENSE].get("quantization_config"))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False

    @contextmanager
    def use(self) -> Iterator[edge.EdgeShard]:
        """The shard for one operation. Raises VectorsError for whatever the engine raises, or when it is closed."""
        with self._gate.shared():
            if self._shard is None:
                raise VectorsError(f"{self.path} is {'closed' if self._closed else 'out of order'}.", cure=CURE)
            with typed_errors("The vector engine refused"):
                yield self._shard

    def flush(self) -> bool:
        """Put everything on disk (fsync). False when that failed and the shard was closed and reloaded instead.

        The reload replays the engine's own log, so nothing written is lost. Raises VectorsError if it fails too,
        VectorsGone if there is nothing to load.
        """
        try:
            with self.use() as shard:
                shard.flush()
        except VectorsError:
            if self._closed:
                raise
            self._reload()
            return False
        return True

    def close(self) -> None:
        with self._gate.alone():
            self._closed = True
            shard, self._shard = self._shard, None
            if shard is not None:
                _close(shard)

    def _reload(self) -> None:
        with self._gate.alone():
            if self._closed:
                raise VectorsError(f"{self.path} is closed.")
            if self._shard is not None:
                _close(self._shard)
            self._shard = None  # frees the engine's own lock; stays so if loading fails, until the next flush
            self.check_there()
            with typed_errors(f"{self.path} could not be reloaded", CURE):
                self._shard = edge.EdgeShard.load(str(self.path))
                self.reloads += 1
                self._shard.flush()


@contextmanager
def typed_errors(what: str, cure: str = "") -> Iterator[None]:
    """The engine raises bare Exceptions, and its panics derive from BaseException: both become VectorsError."""
    try:
        yield
    except VectorsError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise VectorsError(f"{what}: {' '.join(str(error).split())[:300]}.", cure=cure) from error


def _probe(shard: edge.EdgeShard) -> None:
    """Some damage loads well and then finds nothing: any stored vector must find a neighbour, itself at least."""
    records, _ = shard.scroll(edge.ScrollRequest(limit=1, with_vector=[DENSE]))
    if not records:
        return
    vector = records[0].vector
    values = vector.get(DENSE) if isinstance(vector, dict) else None
    if not isinstance(values, list):
        raise VectorsError(f"{shard.info().points_count} points have no vector.", cure=CURE)
    found = shard.query(edge.QueryRequest(limit=1, query=edge.Query.Nearest(values, using=DENSE)))
    if not found:
        raise VectorsError(f"{shard.info().points_count} points are stored and none is found.", cure=CURE)


def _close(shard: edge.EdgeShard) -> None:
    """Close flushes, and fails where flush fails; the log on disk is complete either way."""
    try:
        with typed_errors("close"):
            shard.close()
    except VectorsError:
        return


class _Gate:
    """Many shared holders or one alone. Whoever wants to be alone goes before new shared ones."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holders = 0
        self._alone_wanted = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._alone_wanted)
            self._holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._alone_wanted += 1
            self._changed.wait_for(lambda: not self._alone and not self._holders)
            self._alone_wanted -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
