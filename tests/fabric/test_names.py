from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.fabric.names import agent_name, file_name, new_id, reference, slug

# What FAT, NTFS and SMB refuse in a name.
REFUSED = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Moved the Redis port to 6380!", "moved-the-redis-port-to-6380"),
        ("Größe der Straße geändert", "größe-der-straße-geändert"),
        ("Decisão sobre a configuração", "decisão-sobre-a-configuração"),
        ("Перенос базы данных", "перенос-базы-данных"),
        ("نقل قاعدة البيانات", "نقل-قاعدة-البيانات"),
        ("把数据库迁移到新服务器", "把数据库迁移到新服务器"),
        ("データベースを移行した", "データベースを移行した"),
        ("हिन्दी में", "हिन्दी-में"),
        ("../../etc/passwd", "etc-passwd"),
        ("👍", ""),
    ],
)
def test_slug_keeps_letters_of_every_script(text: str, expected: str) -> None:
    assert slug(text) == expected


@given(st.text(), st.text(), st.text())
def test_file_name_is_one_safe_short_name(agent: str, kind: str, summary: str) -> None:
    name = file_name(agent, kind, summary, new_id())
    assert not REFUSED.search(name)
    assert Path(name).name == name
    assert not name.startswith((".", "~", " ", "-"))
    assert len(name.encode("utf-8")) <= 143


def test_long_summaries_are_cut_between_characters() -> None:
    name = slug("数" * 200)
    assert set(name) == {"数"}
    assert len(name.encode("utf-8")) <= 54


def test_ids_are_never_numbers() -> None:
    ids = {new_id() for _ in range(500)}
    assert len(ids) == 500
    assert not any(re.fullmatch(r"\d+(e\d+)?", one) for one in ids)


@pytest.mark.parametrize(
    ("given_name", "held"),
    [("builder", "builder"), ("team a: ops", "team-a-ops"), (" \n", "default"), ("Планировщик", "Планировщик")],
)
def test_agent_names_fit_into_references(given_name: str, held: str) -> None:
    assert agent_name(given_name) == held
    assert reference(f"{held}:ab12") == (held, "ab12")


def test_reference_without_an_agent() -> None:
    assert reference("ab12") == ("", "ab12")
