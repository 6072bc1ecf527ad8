"""Layer 7: what is outside the block stays as it is, to the byte."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os import ground_truth
from memory_os.errors import HostError, SoulRejected
from memory_os.ground_truth import BlockState, apply_block, block_state, remove_block, with_block, without_block
from memory_os.text import token_estimate

NOTE = ground_truth.RULEBOOK_NOTE
DEFAULT_SOUL = "You are Hermes Agent. Be direct."


def accepts(text: str) -> list[str]:
    return []


# Bytes a SOUL.md may hold: any script, both line ends, a byte order mark, what is no UTF-8.
texts = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(
        st.sampled_from([b"\n", b"\r\n", b"\r", b"  ", b"\xef\xbb\xbf", b"text", b"\xff", b"-->", "§ 漢字 نص".encode()])
    ).map(b"".join),
).filter(lambda data: b"memory-os:" not in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")))


@given(texts)
def test_removing_restores_every_byte(data: bytes) -> None:
    assert without_block(with_block(data)) == data


@given(texts)
def test_applying_twice_is_applying_once(data: bytes) -> None:
    once = with_block(data)
    assert with_block(once) == once
    assert block_state(once) is BlockState.APPLIED


@given(texts)
def test_the_users_text_stays_in_front(data: bytes) -> None:
    assert with_block(data).startswith(data)


@given(texts, texts)
def test_text_written_below_the_block_is_kept(before: bytes, below: bytes) -> None:
    left = without_block(with_block(before) + below)
    assert left.startswith(before)
    assert left.endswith(below)
    # Nothing but one line break may stand between the two.
    assert left[len(before) : len(left) - len(below)] in (b"", b"\n", b"\r\n")


@given(texts)
def test_an_older_block_is_replaced_in_its_place(data: bytes) -> None:
    older = with_block(data).replace(b"memory-os:begin v2", b"memory-os:begin v1").replace(b"Take stock", b"Look")
    below = older + b"the user's afterword"
    assert block_state(below) is BlockState.OUTDATED
    assert with_block(below) == with_block(data) + b"the user's afterword"


def test_an_edited_block_is_called_altered() -> None:
    assert block_state(with_block(b"me\n").replace(b"Take stock", b"Take a nap")) is BlockState.ALTERED


def test_the_block_takes_the_files_line_ends() -> None:
    assert b"\n" not in with_block(b"one\r\ntwo\r\n").replace(b"\r\n", b"")
    assert b"\r" not in with_block(b"one\ntwo\n")


@pytest.mark.parametrize(
    "broken",
    [
        b"me\n<!-- memory-os:begin v1 -->\nrules\n",
        b"me\n<!-- memory-os:end -->\n",
        b"<!-- memory-os:end -->\n<!-- memory-os:begin v1 -->\n",
        with_block(b"") + with_block(b""),
    ],
    ids=["no end", "no begin", "wrong order", "two"],
)
def test_half_a_block_is_refused(broken: bytes, tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_bytes(broken)
    for change in (with_block, without_block, block_state):
        with pytest.raises(HostError, match="marker"):
            change(broken)
    with pytest.raises(HostError, match="left alone"):
        apply_block(soul, scan=accepts, backups=tmp_path / "backups")
    assert soul.read_bytes() == broken


def test_a_marker_inside_a_sentence_is_the_users_text() -> None:
    data = b"They write `<!-- memory-os:begin v1 -->` there.\n"
    assert without_block(with_block(data)) == data


def test_utf_16_is_refused() -> None:
    with pytest.raises(HostError, match="UTF-16"):
        with_block("me".encode("utf-16"))


def test_the_rules_say_what_the_layer_is_for() -> None:
    text = ground_truth.render()
    order = ["Terminal output", "Injected memory", "Official documentation", "Trained knowledge"]
    assert sorted(order, key=text.index) == order
    for label in ("facts", "fabric", "sessions", "qdrant", "workspace", "pending"):
        assert f"`[{label}]`" in text
    steps = ["**Take stock**", "**Match**", "**Use**", "**Act**"]
    assert sorted(steps, key=text.index) == steps
    assert token_estimate(text) <= 450


def test_apply_backs_up_and_keeps_the_mode(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_bytes(b"be brief")
    soul.chmod(0o640)
    change = apply_block(soul, scan=accepts, backups=tmp_path / "backups")
    assert change.changed and change.backup is not None
    assert change.backup.read_bytes() == b"be brief"
    assert stat.S_IMODE(change.backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(soul.stat().st_mode) == 0o640
    assert not apply_block(soul, scan=accepts, backups=tmp_path / "backups").changed
    assert len(list((tmp_path / "backups").iterdir())) == 1
    assert remove_block(soul, backups=tmp_path / "backups").changed
    assert soul.read_bytes() == b"be brief"
    assert not remove_block(soul, backups=tmp_path / "backups").changed


def test_a_missing_file_is_seeded_with_the_hosts_text_and_goes_again(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    apply_block(soul, scan=accepts, backups=tmp_path / "backups", seed=DEFAULT_SOUL)
    assert soul.read_text("utf-8").startswith(DEFAULT_SOUL)
    assert block_state(soul.read_bytes()) is BlockState.APPLIED
    remove_block(soul, backups=tmp_path / "backups")
    assert not soul.exists()


def test_a_seeded_file_that_the_user_wrote_into_stays(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    apply_block(soul, scan=accepts, backups=tmp_path / "backups", seed=DEFAULT_SOUL)
    soul.write_bytes(soul.read_bytes().replace(b"Be direct.", b"Be kind."))
    remove_block(soul, backups=tmp_path / "backups")
    assert soul.read_text("utf-8") == "You are Hermes Agent. Be kind."


def test_without_a_seed_a_missing_file_stays_missing(tmp_path: Path) -> None:
    assert not apply_block(tmp_path / "rulebook.md", scan=accepts, backups=tmp_path, note=NOTE).changed
    assert list(tmp_path.iterdir()) == []


def test_the_rulebook_says_that_nobody_loads_it(tmp_path: Path) -> None:
    rulebook = tmp_path / "rulebook.md"
    rulebook.write_text("# Rules\n", "utf-8")
    apply_block(rulebook, scan=accepts, backups=tmp_path / "backups", note=NOTE)
    assert "does not load rulebook.md" in rulebook.read_text("utf-8")
    assert block_state(rulebook.read_bytes(), note=NOTE) is BlockState.APPLIED


def test_a_file_the_scanner_refuses_is_reported_and_not_touched(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_bytes(b"sliver of hope\n")
    with pytest.raises(SoulRejected, match=r"as it stands .*known_c2_framework"):
        apply_block(soul, scan=lambda text: ["known_c2_framework"] if "sliver" in text else [], backups=tmp_path)
    assert soul.read_bytes() == b"sliver of hope\n"
    assert [path.name for path in tmp_path.iterdir()] == ["SOUL.md"]


def test_a_whole_that_the_scanner_refuses_is_not_written(tmp_path: Path) -> None:
    """The user's text alone may pass, and fail with ours: an open `<!--` swallows what follows."""
    soul = tmp_path / "SOUL.md"
    soul.write_bytes(b"<!-- open\n")
    with pytest.raises(SoulRejected, match="with the memory-os block"):
        apply_block(soul, scan=lambda text: ["html"] if text.count("<!--") > 1 else [], backups=tmp_path)
    assert soul.read_bytes() == b"<!-- open\n"


def test_the_byte_order_mark_is_not_scanned(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_bytes("\ufeffbe brief\n".encode())
    apply_block(soul, scan=lambda text: ["U+FEFF"] if "\ufeff" in text else [], backups=tmp_path / "backups")
    assert soul.read_bytes().startswith("\ufeffbe brief\n".encode())


def test_length_and_encoding_are_cautioned(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_bytes(b"\xff" + b"x" * ground_truth.SOUL_MAX_CHARS)
    change = apply_block(soul, scan=accepts, backups=tmp_path / "backups")
    assert len(change.warnings) == 2


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "SOUL.md"
    real.parent.mkdir()
    real.write_bytes(b"be brief\n")
    link = tmp_path / "SOUL.md"
    link.symlink_to(real)
    apply_block(link, scan=accepts, backups=tmp_path / "backups")
    assert link.is_symlink()
    assert block_state(real.read_bytes()) is BlockState.APPLIED
    remove_block(link, backups=tmp_path / "backups")
    assert real.read_bytes() == b"be brief\n"


def test_without_a_backup_nothing_is_changed(tmp_path: Path) -> None:
    soul = tmp_path / "SOUL.md"
    soul.write_bytes(b"be brief\n")
    (tmp_path / "backups").write_text("in the way")
    with pytest.raises(HostError, match="no backup"):
        apply_block(soul, scan=accepts, backups=tmp_path / "backups")
    assert soul.read_bytes() == b"be brief\n"
