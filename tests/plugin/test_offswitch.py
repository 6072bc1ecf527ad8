from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
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


def test_nameless_is_on(home: paths.Home) -> None:
    assert not offswitch.is_off(home, "", "")
