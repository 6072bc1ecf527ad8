"""Contradiction by words: seen where a tool speaks of the same thing, and not where it speaks of another."""

from __future__ import annotations

import time

import pytest
from memory_os.ground_truth.attribution import Action, contradiction

DEAD = "Active: inactive (dead)"


def against(line: str, answer: str, arguments: str, output: str) -> str:
    found = contradiction(line, answer, [Action("terminal", arguments, output)])
    return "" if found is None else found[1]


@pytest.mark.parametrize(
    ("line", "answer", "arguments", "output"),
    [
        ("The service mailgate runs on the old laptop.", "mailgate is stopped.", "systemctl status mailgate", DEAD),
        ("Der Dienst postbote läuft auf dem Laptop.", "postbote ist gestoppt.", "systemctl status postbote", DEAD),
        ("O serviço correio está a correr no portátil.", "O correio está parado.", "systemctl status correio", DEAD),
        ("Служба pochta работает на ноутбуке.", "Служба pochta не работает.", "systemctl status pochta", DEAD),
        ("خدمة barid تعمل على الحاسوب.", "خدمة barid متوقفة.", "systemctl status barid", DEAD),
        ("服务 youju 正在笔记本上运行。", "服务 youju 没有运行。", "systemctl status youju", DEAD),
        ("サービス yubin はノートで稼働しています。", "yubin は停止しています。", "systemctl status yubin", DEAD),
        ("The spam filter is enabled.", "No, the spam filter is off.", "cat mail.conf", "spam_filter = false\nspam filter: disabled"),
        ("Der Spamfilter ist eingeschaltet.", "Der Spamfilter ist ausgeschaltet.", "status", "Spamfilter: ausgeschaltet"),
        ("The file inbox.csv exists in the mail folder.", "That file is missing.", "wc inbox.csv", "inbox.csv: No such file or directory"),
        ("The tool jq is installed on the laptop.", "jq is not installed.", "jq . a.json", "bash: jq: command not found"),
        ("Mailgate is deployed from branch main.", "From develop.", "git -C mailgate branch --show-current", "develop"),
        ("Die Datenbank des Postfachs ist eine SQLite.", "Sie ist PostgreSQL.", "cat c", "datenbank postfach = postgresql"),
        ("邮局网站从 main 分支部署。", "从 develop 部署。", "cat c", "邮局网站 分支 = develop"),
    ],
)  # fmt: skip
def test_the_opposite_of_the_same_thing(line: str, answer: str, arguments: str, output: str) -> None:
    assert against(line, answer, arguments, output)


LINE = "The service mailgate runs on the old laptop."
STOPPED = "mailgate is stopped."


@pytest.mark.parametrize(
    ("answer", "arguments", "output"),
    [
        ("The printer is stopped.", "ssh laptop systemctl status printer", DEAD),  # another service on the same machine
        ("mailgate was stopped; it is running again.", "systemctl start mailgate", f"mailgate was dead\n{DEAD}"),
        ("mailgate runs.", "systemctl status mailgate", DEAD),  # the answer did not take it over
        (STOPPED, "systemctl status mailgate x", f"mailgate.service\nActive: active (running)\nx.service\n{DEAD}"),
        (STOPPED, "systemctl restart mailgate", "Stopped mailgate.\nmailgate started."),
        (STOPPED, "uptime", "load average: 0.1"),
        (STOPPED, "", ""),
    ],
)  # fmt: skip
def test_what_is_no_contradiction(answer: str, arguments: str, output: str) -> None:
    assert not against(LINE, answer, arguments, output)


@pytest.mark.parametrize(
    ("line", "answer", "output"),
    [
        ("The nightly build runs at two.", "The build is stopped.", "nightly build: stopped"),
        ("Dark mode is off by day, enabled at night.", "Dark mode is on.", "dark mode: enabled"),
        ("The flag beta is off.", "beta is off.", "beta: not enabled"),
        ("Mailgate is deployed from branch main.", "It is on develop; main is the old one.", "mailgate branch = develop"),
        ("Mailgate is deployed from branch main.", "It is on develop.", "printer branch = develop"),
        ("The database keeps two copies of the mail.", "It is postgresql.", "mail database = postgresql"),
        ("The log level of mailgate is debug.", "It is debug.", "mailgate log level = debug"),
    ],
)
def test_shy_where_a_line_or_an_answer_leaves_room(line: str, answer: str, output: str) -> None:
    assert not against(line, answer, "show", output)


def test_a_long_output_costs_little() -> None:
    """By processor time: 20,000 characters of service states against one line."""
    output = "\n".join(f"unit{at}.service loaded inactive dead" for at in range(600))[:20_000]
    began = time.thread_time()
    assert not against(LINE, STOPPED, "systemctl list-units", output)
    assert time.thread_time() - began < 1.0
