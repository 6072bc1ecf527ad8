from __future__ import annotations

import os
import time

from hypothesis import given
from hypothesis import strategies as st
from memory_os.sessions.off import digest
from memory_os_plugin import offswitch, paths

names = st.text(min_size=1)


@given(names, names)
def test_off_is_for_one_chat_and_ends(name: str, other: str) -> None:
    home = paths.current_home()
    offswitch.turn_off(home, name)
    assert offswitch.is_off(home, name, "") and offswitch.is_off(home, "", name)
    assert offswitch.is_off(home, other, "") == (other == name)
    offswitch.turn_on(home, "", name)
    assert not offswitch.is_off(home, name, name)


def test_the_service_can_tell_from_when_until_when_it_was_off(home: paths.Home) -> None:
    offswitch.turn_off(home, "s1")
    (marker,) = (home.root / "off").iterdir()
    os.utime(marker, (1000, 1000))
    offswitch.turn_off(home, "s1")
    assert marker.stat().st_mtime == 1000, "switched off again, it is off since the first time"
    assert marker.name == digest("s1")
    before = time.time_ns()
    offswitch.turn_on(home, "s1", "never-off")
    (ended,) = (home.root / "off").iterdir()
    name, _, until = ended.name.partition(".ended-")
    assert name == digest("s1") and before <= int(until) <= time.time_ns() and ended.stat().st_mtime == 1000


def test_nameless_is_on(home: paths.Home) -> None:
    assert not offswitch.is_off(home, "", "")
