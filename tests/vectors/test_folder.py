from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from memory_os.errors import FingerprintMismatch, VectorsError
from memory_os.vectors import Collection

from vectors.building import DIMENSION, FINGERPRINT, direction, opened, point

ME = ("default/local",)
HERE = Path(__file__).parents[2]


def shards(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("knowledge_base"))


def filled(folder: Path, count: int = 10) -> Collection:
    collection = opened(folder)
    collection.upsert([point(f"port {n}", near="q") for n in range(count)])
    return collection


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join(str(HERE / part) for part in ("layers", "tests"))
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )


def test_current_names_the_shard_and_its_stamp(folder: Path) -> None:
    opened(folder).close()
    current = json.loads((folder / "current.json").read_text())
    assert current["shard"] == "knowledge_base-1"
    assert current["stamp"]["model"] == FINGERPRINT
    assert current["stamp"]["dimension"] == DIMENSION
    assert {"chunker", "sparse"} <= current["stamp"].keys()
    assert (folder / "current.json").stat().st_mode & 0o777 == 0o600
    assert (folder / "knowledge_base-1").stat().st_mode & 0o777 == 0o700


def test_a_second_opener_in_this_process_is_refused_and_harms_nothing(folder: Path) -> None:
    first = filled(folder)
    for _ in range(3):
        with pytest.raises(VectorsError, match="in use"):
            opened(folder)
    with pytest.raises(VectorsError, match="in use"):
        Collection.open_rebuild(folder, FINGERPRINT, DIMENSION)
    assert first.flush() is True
    assert first.count() == 10
    first.close()


def test_a_second_process_is_refused_and_harms_nothing(folder: Path) -> None:
    first = filled(folder)
    code = "import sys; from pathlib import Path; from vectors.building import opened; opened(Path(sys.argv[1]))"
    other = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE / "layers"), str(HERE / "tests")])},
        capture_output=True,
        text=True,
    )
    assert "is in use by another process" in other.stderr
    first.upsert([point("after")])
    assert first.flush() is True
    first.close()
    again = opened(folder)
    assert again.count() == 11
    again.close()


WRITER = """
import sys
from pathlib import Path
from vectors.building import opened, point
collection = opened(Path(sys.argv[1]))
n = 0
while True:
    one = point(f"port {n}", near="q")
    collection.upsert([one])
    print(one.id, flush=True)
    if n % 50 == 49:
        collection.flush()
    n += 1
"""


@pytest.mark.parametrize("wanted", [20, 180])
def test_killed_while_writing_loses_no_acknowledged_point(folder: Path, wanted: int) -> None:
    writer = python(WRITER, str(folder))
    assert writer.stdout is not None
    try:
        acknowledged = [writer.stdout.readline().strip() for _ in range(wanted)]
    finally:
        writer.kill()
        rest, _ = writer.communicate()
    acknowledged += [line for line in rest.splitlines() if len(line) == 36]
    again = opened(folder)
    assert not again.created
    assert len(acknowledged) >= wanted
    assert set(acknowledged) <= set(again.ids())
    assert len(again.dense(direction("q"), ME, limit=10)) == 10
    again.close()


@pytest.mark.parametrize(
    ("pattern", "content"),
    [
        ("edge_config.json", b""),
        ("segments/*/segment.json", b"\xff\xfe"),
        ("segments/*/vector_storage-dense/vectors/status.dat", b""),  # a panic in the engine
        ("segments/*/payload_storage/config.json", b"{"),
        ("wal/open-1", b"garbage" * 100),
        ("segments/*/vector_storage-dense/vectors/status.dat", None),  # loads, and finds nothing
    ],
)
def test_a_damaged_shard_says_how_to_mend_it_and_a_rebuild_does(
    folder: Path, pattern: str, content: bytes | None
) -> None:
    filled(folder, 200).close()
    (damaged, *_) = (folder / "knowledge_base-1").glob(pattern)
    if content is None:
        damaged.unlink()
    else:
        damaged.write_bytes(content)
    with pytest.raises(VectorsError, match="memory-os reindex"):
        opened(folder)
    Collection.open_rebuild(folder, FINGERPRINT, DIMENSION).swap().close()
    assert shards(folder) == ["knowledge_base-2"]
    fresh = opened(folder)
    assert fresh.count() == 0
    fresh.close()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"shard": "../outside", "stamp": {"model": "m", "dimension": 1, "chunker": "c", "sparse": "s"}}'],
)
def test_a_damaged_alias_is_refused(folder: Path, content: str) -> None:
    opened(folder).close()
    (folder / "current.json").write_text(content)
    with pytest.raises(VectorsError, match=r"current\.json is damaged.*memory-os reindex"):
        opened(folder)
    assert shards(folder) == ["knowledge_base-1"]


def test_an_alias_to_a_missing_shard_is_refused(folder: Path) -> None:
    opened(folder).close()
    (folder / "knowledge_base-1").rename(folder / "elsewhere")
    with pytest.raises(VectorsError, match="memory-os reindex"):
        opened(folder)


def test_a_live_rebuild_answers_from_the_old_until_the_swap(folder: Path) -> None:
    live = filled(folder)
    rebuilt = live.begin_rebuild("new-model", DIMENSION)
    new = point("port rebuilt", near="q")
    rebuilt.upsert([new])
    assert live.count() == 10
    assert shards(folder) == ["knowledge_base-1", "knowledge_base-2"]
    assert rebuilt.swap() is live
    rebuilt.close()  # its shard is the live one's now
    assert [one for one, _ in live.dense(direction("q"), ME)] == [new.id]
    assert shards(folder) == ["knowledge_base-2"]
    live.close()
    with pytest.raises(FingerprintMismatch):
        opened(folder)
    again = opened(folder, "new-model")
    assert again.count() == 1
    again.close()


def test_an_abandoned_rebuild_leaves_nothing(folder: Path) -> None:
    live = filled(folder)
    live.begin_rebuild("new-model", DIMENSION).close()
    assert shards(folder) == ["knowledge_base-1"]
    assert live.count() == 10
    live.close()


def test_an_interrupted_rebuild_is_cleared_at_the_next_open(folder: Path) -> None:
    filled(folder).close()
    (folder / "knowledge_base-2").mkdir()
    (folder / "knowledge_base-2" / "edge_config.json").write_text("half")
    again = opened(folder)
    assert again.count() == 10
    assert shards(folder) == ["knowledge_base-1"]
    again.close()


@pytest.mark.parametrize("damaged", [False, True])
def test_a_rebuild_replaces_what_can_not_be_opened(folder: Path, damaged: bool) -> None:
    filled(folder).close()
    if damaged:
        (folder / "knowledge_base-1" / "edge_config.json").write_text("")
    rebuilt = Collection.open_rebuild(folder, "new-model", 8)
    assert json.loads((folder / "current.json").read_text())["shard"] == "knowledge_base-1"
    assert rebuilt.swap() is rebuilt
    rebuilt.close()
    assert shards(folder) == ["knowledge_base-2"]
    opened(folder, "new-model", 8).close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(VectorsError, match="can't be used: Permission denied"):
            opened(tmp_path / "qdrant")
    finally:
        tmp_path.chmod(0o700)


def test_a_file_in_the_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "qdrant").write_text("a file")
    with pytest.raises(VectorsError, match="can't be used"):
        opened(tmp_path / "qdrant")
