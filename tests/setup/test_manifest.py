"""The record of what was changed: written first, and true after a kill at any moment."""

from __future__ import annotations

import pytest
from memory_os.config import Settings
from memory_os.errors import HostError
from memory_os_workers.setup import manifest
from memory_os_workers.setup.manifest import FileRecord, Manifest, change_file, digest, load, original, save


@pytest.fixture(autouse=True)
def home(settings: Settings) -> None:
    settings.home.mkdir()


def test_it_reads_what_it_wrote(settings: Settings) -> None:
    written = Manifest(version="1", files={"config.yaml": FileRecord("/x", "a", "b", made={"listed": True})})
    save(settings, written)
    assert load(settings) == written


def test_a_damaged_record_is_an_error_with_a_cure(settings: Settings) -> None:
    for text in ("{", "[]", '{"files": {"a": {"unknown": 1}}}', '{"surprise": 1}'):
        (settings.home / manifest.NAME).write_text(text)
        with pytest.raises(HostError, match=r"install\.json"):
            load(settings)


def test_a_second_change_keeps_the_first_backup(settings: Settings) -> None:
    path = settings.hermes_home / "config.yaml"
    path.write_bytes(b"mine\n")
    record = Manifest()
    change_file(settings, record, path, b"mine\nours\n", {"listed": True})
    change_file(settings, record, path, b"mine\nours 2\n", {"provider": True})
    assert original(record.files["config.yaml"], path.read_bytes()) == (True, b"mine\n")
    assert record.files["config.yaml"].made == {"listed": True, "provider": True}


def test_after_an_edit_by_others_a_new_backup_is_taken(settings: Settings) -> None:
    path = settings.hermes_home / "config.yaml"
    path.write_bytes(b"mine\n")
    record = Manifest()
    change_file(settings, record, path, b"mine\nours\n", {})
    path.write_bytes(b"theirs\n")
    assert original(record.files["config.yaml"], b"theirs\n") == (False, None)
    change_file(settings, record, path, b"theirs\nours\n", {})
    assert original(record.files["config.yaml"], path.read_bytes()) == (True, b"theirs\n")


def test_a_file_that_was_missing_goes_back_to_missing(settings: Settings) -> None:
    path = settings.hermes_home / "config.yaml"
    record = Manifest()
    change_file(settings, record, path, b"ours\n", {})
    assert original(record.files["config.yaml"], b"ours\n") == (True, None)


def test_a_changed_backup_is_not_trusted(settings: Settings) -> None:
    path = settings.hermes_home / "config.yaml"
    path.write_bytes(b"mine\n")
    record = Manifest()
    change_file(settings, record, path, b"ours\n", {})
    (settings.backups_dir / record.files["config.yaml"].backup.rsplit("/", 1)[-1]).write_bytes(b"else\n")
    assert original(record.files["config.yaml"], b"ours\n") == (False, None)


def test_the_record_is_there_before_the_file_is(settings: Settings) -> None:
    """A kill between the two leaves the file as it was, and a record that knows it."""
    path = settings.hermes_home / "a folder that is gone" / "config.yaml"
    with pytest.raises(HostError):
        change_file(settings, Manifest(), path, b"ours\n", {})
    assert load(settings).files["config.yaml"].after == digest(b"ours\n")
    assert original(load(settings).files["config.yaml"], None) == (False, None)
