"""The rotated log, on real files."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_os.config import Settings, load_settings
from memory_os.errors import ServiceError
from memory_os_workers import logs
from memory_os_workers.run_files import prepare_home


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    root = logging.getLogger()
    kept, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    root.handlers.clear()
    found = load_settings({"HERMES_HOME": str(tmp_path)})
    prepare_home(found)
    yield found
    for handler in root.handlers[:]:
        root.removeHandler(handler)
        handler.close()
    root.handlers.extend(kept)
    root.setLevel(level)
    logging.raiseExceptions = raising


def test_old_logs_are_five_and_all_are_private(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_BYTES", 2000)
    logs.configure_logs(settings)
    for number in range(400):
        logging.getLogger("memory_os_workers").warning("line %d with half a character \ud83d", number)
    files = sorted(settings.logs_dir.iterdir())
    assert len(files) == 1 + logs.OLD_FILES
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    assert all(one.stat().st_size <= 2000 for one in files)


def test_a_log_that_cannot_be_opened_is_a_clear_error(settings: Settings) -> None:
    (settings.logs_dir / "service.log").mkdir()
    with pytest.raises(ServiceError, match=r"service\.log"):
        logs.configure_logs(settings)
