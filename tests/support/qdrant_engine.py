"""Collections of the stand-in for a Qdrant server: each a shard of the real engine (Qdrant Edge), asked in the words of
Qdrant's REST API. Errors are the engine's own.
"""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qdrant_edge as edge

Json = dict[str, Any]

_DISTANCES = {"Cosine": edge.Distance.Cosine, "Dot": edge.Distance.Dot, "Euclid": edge.Distance.Euclid}
_INDEXES = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "float": edge.PayloadSchemaType.Float,
    "integer": edge.PayloadSchemaType.Integer,
    "bool": edge.PayloadSchemaType.Bool,
    "uuid": edge.PayloadSchemaType.Uuid,
}


class Refusal(Exception):
    """An answer other than 200, with the server's words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


@dataclass
class StoredCollection:
    """One collection: its shard, and what the server remembers of how it was made."""

    folder: Path
    params: Json
    metadata: Json
    counts_rarity_of_reader: bool = True
    indexes: dict[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.folder.mkdir(parents=True)
        vectors = {
            name: edge.EdgeVectorParams(size=one["size"], distance=_DISTANCES[one["distance"]])
            for name, one in (self.params.get("vectors") or {}).items()
        }
        sparse = {
            name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if one.get("modifier") == "idf" else None)
            for name, one in (self.params.get("sparse_vectors") or {}).items()
        }
        self._shard = edge.EdgeShard.create(str(self.folder), edge.EdgeConfig(vectors=vectors, sparse_vectors=sparse))

    def drop(self) -> None:
        with self._lock:
            self._shard.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def info(self) -> Json:
        """What `GET /collections/{name}` answers."""
        with self._lock:
            told = self._shard.info()
        return {
            "status": "green",
            "optimizer_status": "ok",
            "points_count": told.points_count,
            "indexed_vectors_count": told.indexed_vectors_count,
            "segments_count": told.segments_count,
            "config": {
                "params": {**self.params, "shard_number": 1, "replication_factor": 1, "write_consistency_factor": 1},
                "hnsw_config": {"m": 0, "payload_m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
                "optimizer_config": {
                    "deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 0,
                    "flush_interval_sec": 5,
                },
                "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
                "metadata": self.metadata,
            },
            "payload_schema": {
                name: {"data_type": schema["type"], "params": schema, "points": told.points_count}
                for name, schema in self.indexes.items()
            },
        }  # fmt: skip

    def create_index(self, name: str, schema: Json | str) -> None:
        asked = {"type": schema} if isinstance(schema, str) else schema
        kind = edge.KeywordIndexParams(is_tenant=True) if asked.get("is_tenant") else _INDEXES[asked["type"]]
        self._update(edge.UpdateOperation.create_field_index(name, kind))
        self.indexes[name] = asked

    def upsert(self, points: list[Json]) -> None:
        made = [edge.Point(one["id"], _vector(one["vector"]), one.get("payload")) for one in points]
        self._update(edge.UpdateOperation.upsert_points(made))

    def delete(self, selected: Json) -> None:
        if selected.get("points") is not None:
            self._update(edge.UpdateOperation.delete_points(list(selected["points"])))
        else:
            self._update(edge.UpdateOperation.delete_points_by_filter(self._filter(selected["filter"])))

    def count(self, asked: Json) -> int:
        with self._lock:
            return self._shard.count(edge.CountRequest(exact=True, filter=self._filter(asked.get("filter"))))

    def scroll(self, asked: Json) -> Json:
        request = edge.ScrollRequest(
            limit=asked.get("limit") or 10,
            offset=asked.get("offset"),
            filter=self._filter(asked.get("filter")),
            with_payload=_chosen(asked.get("with_payload"), True),
            with_vector=_chosen(asked.get("with_vector"), False),
        )
        with self._lock:
            records, offset = self._shard.scroll(request)
        points = [{"id": str(one.id), "payload": one.payload, "vector": _plain(one.vector)} for one in records]
        return {"points": points, "next_page_offset": None if offset is None else str(offset)}

    def query(self, asked: Json) -> Json:
        request = edge.QueryRequest(
            limit=asked.get("limit") or 10,
            query=_query(asked.get("query"), asked.get("using")),
            prefetches=[self._prefetch(one) for one in asked.get("prefetch") or []],
            filter=self._filter(asked.get("filter")),
            params=self._params(asked.get("params")),
            with_payload=_chosen(asked.get("with_payload"), False),
        )
        with self._lock:
            found = self._shard.query(request)
        return {
            "points": [
                {"id": str(one.id), "version": one.version, "score": one.score, "payload": one.payload} for one in found
            ]
        }

    def _update(self, operation: Any) -> None:
        with self._lock:
            self._shard.update(operation)

    def _prefetch(self, asked: Json) -> edge.Prefetch:
        return edge.Prefetch(
            limit=asked.get("limit") or 10,
            query=_query(asked.get("query"), asked.get("using")),
            filter=self._filter(asked.get("filter")),
            params=self._params(asked.get("params")),
        )

    def _params(self, asked: Json | None) -> edge.SearchParams | None:
        corpus = ((asked or {}).get("idf") or {}).get("corpus")
        if corpus is None or not self.counts_rarity_of_reader:  # an older server passes over what it doesn't know
            return None
        return edge.SearchParams(idf=edge.IdfParams(corpus=self._filter(corpus)))

    def _filter(self, asked: Json | None) -> edge.Filter | None:
        if asked is None:
            return None
        parts = {
            name: [self._condition(one) for one in asked[name]]
            for name in ("must", "must_not", "should")
            if asked.get(name) is not None
        }
        return edge.Filter(**parts)

    def _condition(self, asked: Json) -> edge.FieldCondition:
        """Refuses a field without an index, as a server in strict mode does."""
        if asked["key"] not in self.indexes:
            raise Refusal(400, f'Bad request: Index required but not found for "{asked["key"]}".')
        match = asked["match"]
        matching = edge.MatchAny(match["any"]) if "any" in match else edge.MatchValue(match["value"])
        return edge.FieldCondition(asked["key"], match=matching)


def _query(asked: Any, using: str | None) -> Any:
    if isinstance(asked, dict) and "rrf" in asked:
        return edge.Fusion.Rrf(k=asked["rrf"].get("k") or 2, weights=asked["rrf"].get("weights"))
    if isinstance(asked, dict) and "fusion" in asked:
        return edge.Fusion.Rrf(k=2)  # Qdrant's own constant
    nearest = asked["nearest"] if isinstance(asked, dict) and "nearest" in asked else asked
    return edge.Query.Nearest(_vector(nearest), using=using)


def _vector(given: Any) -> Any:
    if isinstance(given, dict) and {"indices", "values"} <= set(given):
        return edge.SparseVector(given["indices"], given["values"])
    if isinstance(given, dict):
        return {name: _vector(one) for name, one in given.items()}
    return given


def _plain(vector: Any) -> Any:
    if isinstance(vector, edge.SparseVector):
        return {"indices": vector.indices, "values": vector.values}
    if isinstance(vector, dict):
        return {name: _plain(one) for name, one in vector.items()}
    return vector


def _chosen(asked: Any, default: bool) -> Any:
    return default if asked is None else asked
