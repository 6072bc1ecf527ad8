"""What words say of a state, and which word stands in which place: seven languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.ground_truth.polarity import assigned, poles, stated

_SAID = [
    ("the printer is running", {("run", 1)}),
    ("the printer is not currently running", {("run", -1)}),
    ("Active: inactive (dead)", {("run", -1), ("enable", -1)}),
    ("Active: active (running)", {("run", 1), ("enable", 1)}),
    ("dark_mode: not enabled", {("enable", -1)}),
    ("dark_mode = true", {("enable", 1), ("truth", 1)}),
    ("there is no such file", {("exist", -1)}),
    ("bash: jq: command not found", {("exist", -1), ("install", -1)}),
    ("der Dienst läuft gerade nicht", {("run", -1)}),
    ("die Datei gibt es nicht mehr", {("exist", -1)}),
    ("der Filter ist aktiviert", {("enable", 1)}),
    ("o filtro está desligado", {("enable", -1)}),
    ("o ficheiro não existe", {("exist", -1)}),
    ("служба не работает", {("run", -1)}),
    ("фильтр включён", {("enable", 1)}),
    ("الخدمة لا تعمل", {("run", -1)}),
    ("المرشح غير مُفعَّل", {("enable", -1)}),
    ("الملف موجود", {("exist", 1)}),
    ("过滤器未启用", {("enable", -1)}),
    ("服务正在运行", {("run", 1)}),
    ("文件不存在", {("exist", -1)}),
    ("サーバーは稼働していません", {("run", -1)}),
    ("フィルターは有効です", {("enable", 1)}),
    ("ファイルは存在しません", {("exist", -1)}),
]


@pytest.mark.parametrize(("text", "expected"), _SAID)
def test_what_a_text_says(text: str, expected: set[tuple[str, int]]) -> None:
    assert {(one.axis, one.pole) for one in poles(text)} == expected


@pytest.mark.parametrize(
    "text",
    [
        "The build runs at two every night.", "Das Backup läuft jede Nacht.", "It depends on the weather.", "is up to date",
        "Turn on the light at six", "aus dem Haus", "No, thank you.", "Offenbach, Einrichtung, onward",
    ],
)  # fmt: skip
def test_what_says_nothing_of_a_state(text: str) -> None:
    assert not [one for one in poles(text) if one.axis in ("run", "enable", "truth")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The site is built from branch main.", {("branch", "main")}),
        ("We release from the stable branch", {("branch", "stable")}),
        ("Die Datenbank der Werkstatt ist eine SQLite.", {("database", "sqlite")}),
        ("O site sai do ramo principal.", {("branch", "principal")}),
        ("Сайт собирается из ветки release.", {("branch", "release")}),
        ("قاعدة بيانات الورشة هي MySQL.", {("database", "mysql")}),
        ("网站从 main 分支部署。", {("branch", "main")}),
        ("サイトはmainブランチから公開されます。", {("branch", "main")}),
        ("The log level is debug.", {("level", "debug")}),
        ("The user wants short answers.", set()),
        ("The database keeps two copies.", set()),
        ("Branch protection is on.", set()),
    ],
)
def test_words_in_their_places(text: str, expected: set[tuple[str, str]]) -> None:
    assert expected <= {(slot.name, slot.value) for slot in stated(text)}
    assert expected or not stated(text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("deploy branch = develop", ("branch", "develop")), ("On branch develop", ("branch", "develop")),
        ("database workshop: postgresql", ("database", "postgresql")), ("ветка: release", ("branch", "release")),
        ("log level debug;", ("level", "debug")), ("部署 分支 = develop", ("branch", "develop")),
    ],
)  # fmt: skip
def test_what_a_line_of_output_gives(line: str, expected: tuple[str, str]) -> None:
    assert [(slot.name, slot.value) for slot in assigned(line)] == [expected]


@pytest.mark.parametrize("line", ["branch protection: off", "Switched to a new branch", "the branch was merged by Ines today", ""])
def test_what_gives_nothing(line: str) -> None:
    assert assigned(line) == ()


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert all(one.pole in (1, -1) for one in poles(text))
    assert all(slot.value for slot in (*stated(text), *assigned(text)))
