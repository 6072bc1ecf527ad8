"""Forgetting in the spool: also what a killed host left half-written, and not what one is writing."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from memory_os.forgetting.spool import Forgotten, remove_traces
from memory_os.memory import Scope

SECRETS = (
    "The blue ledger lies under the third stair.", "Das blaue Heft liegt unter der dritten Stufe.",
    "O caderno azul está sob o terceiro degrau.",
    "Синяя тетрадь лежит под третьей ступенью.", "الدفتر الأزرق تحت الدرجة الثالثة.",
    "蓝色账本放在第三级台阶下面。", "青い帳面は三段目の階段の下にある。",
)  # fmt: skip


def part(spool: Path, text: str, age_s: float) -> Path:
    """A record cut off behind its user's words."""
    path = spool / f".{time.time_ns():020}-00000001.json.part"
    path.write_text('{"v": 1, "type": "turn", "session_id": "s1", "user_message": "' + text + '", "assist', "utf-8")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


@pytest.mark.parametrize("text", SECRETS)
def test_a_part_that_a_killed_host_left_goes_with_what_it_holds(tmp_path: Path, text: str) -> None:
    abandoned, other = part(tmp_path, text, 3600), part(tmp_path, "Lunch is at noon on Friday in the canteen.", 3600)
    assert remove_traces(tmp_path, Forgotten(Scope(), [text]), {}) == 1
    assert not abandoned.exists() and other.exists()


def test_a_part_that_is_being_written_stays(tmp_path: Path) -> None:
    writing = part(tmp_path, SECRETS[0], 1)
    assert remove_traces(tmp_path, Forgotten(Scope(), [SECRETS[0]], everything=True), {}) == 0
    assert writing.exists(), "its host would have nothing to rename"
