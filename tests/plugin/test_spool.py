from __future__ import annotations

import json
import stat
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os_plugin import paths, spool


def test_a_record_is_complete_private_and_alone(home: paths.Home) -> None:
    path = spool.write(home, {"type": "turn", "user_message": "räum 好的 👍"})
    assert json.loads(path.read_bytes()) == {"type": "turn", "user_message": "räum 好的 👍"}
    assert list(home.spool.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(each.stat().st_mode) for each in (home.root, home.spool)] == [0o700, 0o700]


@given(st.text())
def test_every_text_survives(text: str) -> None:
    home = paths.current_home()
    path = spool.write(home, {"t": text})
    assert json.loads(path.read_bytes()) == {"t": text}
    path.unlink()


def test_a_lone_surrogate_survives(home: paths.Home) -> None:
    assert json.loads(spool.write(home, {"t": "cut \ud83d"}).read_bytes()) == {"t": "cut \ud83d"}


def test_names_sort_as_written_even_when_the_clock_goes_back(home: paths.Home, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time_ns()
    clock = iter([real + 5_000_000_000, real, real - 9_000_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    names = [spool.write(home, {"n": n}).name for n in range(3)]
    assert names == sorted(names)


def test_many_threads_lose_nothing(home: paths.Home) -> None:
    threads = [threading.Thread(target=lambda: [spool.write(home, {}) for _ in range(25)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(home.spool.glob("*.json"))) == 200


def test_a_place_that_cannot_be_written_is_an_os_error_and_leaves_nothing(home: paths.Home) -> None:
    home.root.parent.mkdir(parents=True, exist_ok=True)
    home.root.write_text("a file where the folder should be")
    with pytest.raises(OSError):
        spool.write(home, {})
