from __future__ import annotations

from pathlib import Path

import pytest
from memory_os.errors import BadRequest
from memory_os.fabric import Fabric
from memory_os.fabric.layer import REPEAT_S
from memory_os.fabric.tiers import DAY_S
from memory_os.memory import Layer, Scope
from memory_os.tooling import Caller

from fabric.conftest import Instance
from fabric.instances import NOW, call, put, write


def only(folder: Path, pattern: str = "*.md") -> Path:
    (path,) = folder.glob(pattern)
    return path


def test_own_entries_move_in_their_files_and_nothing_else_changes(fabric: Fabric, folder: Path) -> None:
    write(fabric, summary="Notiz", content="Körper\n---\nmehr", tags="a,b")
    before = only(folder).read_bytes()
    assert fabric.tier(NOW + DAY_S) == 0
    assert fabric.tier(NOW + 40 * DAY_S) == 1
    assert only(folder).read_bytes() == before.replace(b"tier: hot", b"tier: warm")
    assert fabric.tier(NOW + 400 * DAY_S) == 1
    assert only(folder).read_bytes() == before.replace(b"tier: hot", b"tier: cold")
    assert fabric.tier(NOW + 400 * DAY_S) == 0
    assert fabric.cards()[0].tier == "cold"


def test_a_foreign_file_is_never_touched_but_cools_here(instance: Instance, folder: Path) -> None:
    scout, builder = instance("scout"), instance("builder")
    write(scout, summary="Theirs")
    before = only(folder).read_bytes()
    stamp = only(folder).stat().st_mtime_ns
    builder.refresh()
    hot = builder.index.of_source(f"fabric:{builder.cards()[0].key}")[0].importance
    assert builder.tier(NOW + 400 * DAY_S) == 1
    assert builder.index.of_source(f"fabric:{builder.cards()[0].key}")[0].importance < hot
    assert (only(folder).read_bytes(), only(folder).stat().st_mtime_ns) == (before, stamp)
    assert builder.refresh().changed == 0
    assert builder.cards()[0].tier == "cold"


def test_use_and_open_work_keep_an_entry_hot(fabric: Fabric) -> None:
    write(fabric, type="task", summary="Open work", content="Still to do.")
    write(fabric, summary="Used", content="The gateway token rotates weekly.")
    for _ in range(3):
        assert call(fabric, "fabric_recall", query="gateway token")["total"] == 1
    used_at = fabric.store.value("SELECT max(last_used_at) FROM passages")
    fabric.tier(used_at + 5 * DAY_S)
    assert {card.summary: card.tier for card in fabric.cards()} == {"Open work": "hot", "Used": "hot"}


def test_a_file_that_cannot_be_changed_stays_and_is_counted(fabric: Fabric, folder: Path) -> None:
    put(folder, "odd.md", '---\n"tier": hot\nid: aa11\nagent: builder\ntimestamp: 2020-01-01\nsummary: Odd\n---\nx')
    fabric.refresh()
    assert fabric.tier(NOW) == 0
    assert fabric.store.value("SELECT value FROM counters WHERE name = 'fabric.tier_kept'") == 1


def test_curating_ones_own_entry_changes_its_file(fabric: Fabric, folder: Path) -> None:
    ref = write(fabric, summary="Mine")
    before = only(folder).read_bytes()
    call(fabric, "fabric_curate", entry_id=ref, training_value="high")
    assert only(folder).read_bytes() == before.replace(b"tier: hot\n", b"tier: hot\ntraining_value: high\n")
    assert fabric.index.of_source(f"fabric:{ref}")[0].importance > 0.8


def test_curating_anothers_entry_leaves_its_file(instance: Instance, folder: Path) -> None:
    scout, builder, third = instance("scout"), instance("builder"), instance("third")
    ref = write(scout, summary="Theirs", content="The relay listens on 6380.")
    before = only(folder).read_bytes()
    builder.refresh()
    plain = builder.index.of_source(f"fabric:{ref}")[0].importance
    assert "another agent" in call(builder, "fabric_curate", entry_id=ref, training_value="low")["how"]
    call(builder, "fabric_curate", entry_id=ref, training_value="high")
    assert only(folder, "scout-*").read_bytes() == before
    assert len(list(folder.glob("builder-curation-*"))) == 1
    for one in (builder, third, scout):
        one.refresh()
        assert one.index.of_source(f"fabric:{ref}")[0].importance > plain
        assert [card.ref for card in one.cards()] == [ref]
    call(scout, "fabric_curate", entry_id=ref, training_value="low")
    third.refresh(), builder.refresh()
    assert third.index.of_source(f"fabric:{ref}")[0].importance < plain  # the owner's word
    assert builder.index.of_source(f"fabric:{ref}")[0].importance > plain  # our own judgement


def test_forgetting_ones_own_entry_deletes_its_file(fabric: Fabric, folder: Path) -> None:
    ref = write(fabric, summary="Private", content="The alarm code is written here.")
    data = only(folder).read_bytes()
    done = fabric.forget(f"fabric:{ref}")
    assert (done.passages, done.file_deleted, list(folder.iterdir())) == (1, True, [])
    put(folder, "restored-by-a-sync-tool.md", data)
    fabric.refresh()
    assert fabric.index.count(Layer.FABRIC) == 0


def test_forgetting_anothers_entry_is_ours_alone(instance: Instance, folder: Path) -> None:
    scout, builder = instance("scout"), instance("builder")
    ref = write(scout, summary="Theirs")
    builder.refresh()
    assert not builder.forget(ref).file_deleted
    builder.refresh()
    assert builder.cards() == []
    assert [card.ref for card in scout.cards()] == [ref]
    with pytest.raises(BadRequest):
        builder.forget(ref)


def test_entries_are_found_by_every_name(fabric: Fabric) -> None:
    ref = write(fabric, summary="One")
    entry_id = ref.split(":")[1]
    handle = call(fabric, "fabric_recall", query="special")["results"][0]["handle"]
    for name in (ref, entry_id, entry_id[:6], ref[:-3], handle):
        found = fabric.find(name)
        assert found is not None and found.ref == ref, name
    assert fabric.find("builder:zzzz") is None
    assert fabric.find("") is None


def test_an_ambiguous_id_is_an_error(fabric: Fabric, folder: Path) -> None:
    for agent in ("scout", "lead"):
        put(folder, f"{agent}.md", f"---\nid: aa11\nagent: {agent}\nsummary: x\n---\n")
    fabric.refresh()
    with pytest.raises(BadRequest, match="lead:aa11, scout:aa11"):
        fabric.find("aa11")
    found = fabric.find("scout:aa11")
    assert found is not None and found.agent == "scout"


def test_a_repeated_call_writes_once(fabric: Fabric, folder: Path) -> None:
    first = write(fabric, summary="Same", content="Same body")
    assert write(fabric, summary="Same", content="Same body", now=NOW + 5) == first
    assert write(fabric, summary="Same", content="Other body", now=NOW + 5) != first
    assert write(fabric, summary="Same", content="Same body", now=NOW + REPEAT_S + 60) != first
    assert len(list(folder.glob("*.md"))) == 3


def test_pending_shows_the_callers_project_first(fabric: Fabric) -> None:
    write(fabric, type="task", summary="Shop", project="shop", content="a")
    write(fabric, type="task", summary="Blog", project="blog", content="b", now=NOW + 5)
    caller = Caller(scope=Scope(), project="shop")
    assert [card.summary for card in fabric.pending(caller)] == ["Shop", "Blog"]


def test_an_agent_named_like_a_path_stays_inside(instance: Instance, folder: Path) -> None:
    evil = instance("../../evil: agent")
    ref = write(evil, type="task", summary="../../x", content="y")
    assert only(folder).name.startswith("evil-agent-task-x-")
    assert ref.startswith("../../evil-agent:")
    assert call(evil, "fabric_pending")["total"] == 1


def test_health_when_the_folder_is_a_file(fabric: Fabric, folder: Path) -> None:
    folder.write_text("x")
    health = fabric.health()
    assert (health.state, bool(health.cure)) == ("degraded", True)


def test_forgetting_joins_the_callers_transaction(fabric: Fabric, folder: Path) -> None:
    ref = write(fabric, summary="Private")
    with pytest.raises(RuntimeError), fabric.store.write():
        fabric.mirror.forget(fabric.cards()[0], NOW)
        raise RuntimeError("the caller's own failure")
    assert [card.ref for card in fabric.cards()] == [ref]
    assert fabric.index.count(Layer.FABRIC) == 1


def test_forgetting_a_revision_brings_back_what_it_revised(fabric: Fabric) -> None:
    first = write(fabric, type="decision", summary="Port", content="The relay port is 6380.")
    second = write(fabric, type="decision", summary="Port", content="The relay port is 6390.", revises=first)
    fabric.forget(second)
    assert [item["id"] for item in call(fabric, "fabric_recall", query="relay port")["results"]] == [first]
