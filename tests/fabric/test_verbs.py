from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from memory_os.errors import BadRequest, FabricError
from memory_os.fabric import Fabric
from memory_os.memory import Layer, Passage, Scope
from memory_os.tooling import Arguments, Caller

from fabric.conftest import Instance
from fabric.instances import NOW, call, put, summaries, write

# (language, summary, content, question)
LANGUAGES = [
    ("en", "Backups moved to the new server", "Backups now run at four in the morning.", "When do backups run?"),
    (
        "de",
        "Größe der Warteschlange geändert",
        "Die Warteschlange fasst tausend Einträge.",
        "Wie groß ist die Warteschlange?",
    ),
    (
        "pt",
        "Configuração do servidor de correio",
        "O servidor de correio usa a porta 2525.",
        "Qual porta usa o correio?",
    ),
    ("ru", "Перенос базы данных", "База данных перенесена на новый сервер.", "Куда перенесена база данных?"),
    ("ar", "نقل قاعدة البيانات", "تم نقل قاعدة البيانات إلى الخادم الجديد.", "أين قاعدة البيانات؟"),
    ("zh", "数据库迁移", "数据库已经迁移到新服务器上。", "数据库在哪里?"),
    ("ja", "キャッシュの設定を変更", "キャッシュの有効期限は十分です。", "キャッシュの有効期限は?"),
]


@pytest.mark.parametrize(("language", "summary", "content", "question"), LANGUAGES)
def test_entries_are_recalled_and_searched_in_every_language(
    instance: Instance, folder: Path, language: str, summary: str, content: str, question: str
) -> None:
    writer, reader = instance("writer"), instance("reader")
    for other, title, body, _ in LANGUAGES:
        if other != language:
            write(writer, summary=title, content=body)
    write(writer, summary=summary, content=content, tags=[language])
    assert summaries(call(reader, "fabric_recall", query=question))[0] == summary
    assert summaries(call(reader, "fabric_search", query=content.split()[0].strip("。"))) == [summary]
    name = next(path.name for path in folder.iterdir() if content in path.read_text("utf-8"))
    assert summary.split()[0].lower() in name


def test_write_takes_icarus_arguments(fabric: Fabric, folder: Path) -> None:
    first = write(fabric, type="Decision", summary="Base")
    done = call(
        fabric, "fabric_write", type="review", content="Holds.", summary="Reviewed", tags="db, review", status="completed",
        outcome="success", review_of=first, revises="", customer_id="c-7", assigned_to="lead", training_value="HIGH",
        verified="true", evidence="tests pass", source_tool="terminal", artifact_paths="src/a.py,src/b.py", project="shop",
    )  # fmt: skip
    text = (folder / done["path"]).read_text("utf-8")
    for line in (
        "type: review", 'tags: ["db", "review"]', "status: completed", "outcome: success", f'review_of: "{first}"',
        "customer_id: c-7", "assigned_to: lead", "training_value: high", "verified: true", 'evidence: "tests pass"',
        "source_tool: terminal", 'artifact_paths: ["src/a.py", "src/b.py"]', "platform: cli", "project_id: shop",
    ):  # fmt: skip
        assert f"\n{line}\n" in text, line
    assert "revises" not in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"type": "poem"}, "task, decision"),
        ({"type": ""}, "`type` is required"),
        ({"content": ""}, "`content` is required"),
        ({"content": "   "}, "content"),
        ({"summary": "x" * 401}, "at most 400"),
        ({"content": "x" * 100_001}, "at most 100000"),
        ({"status": "perhaps"}, "in-progress"),
        ({"training_value": "gold"}, "high, normal, low"),
        ({"review_of": "nobody:1234"}, "no such entry"),
        ({"type": "review"}, "review_of"),
        ({"tags": {"a": 1}}, "list of strings"),
    ],
)
def test_errors_say_what_to_change(fabric: Fabric, folder: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest) as error:
        write(fabric, **changes)
    assert says in str(error.value)
    assert not folder.exists()


def test_secrets_are_not_written(fabric: Fabric, folder: Path) -> None:
    secret = "ghp_abcdefghijklmnopqrstuvwx0123"
    done = call(
        fabric,
        "fabric_write",
        type="note",
        content=f"token {secret}",
        summary=f"s {secret}",
        evidence=secret,
        tags=secret,
    )
    assert done["redacted"] == 4
    assert secret not in (folder / done["path"]).read_text("utf-8")


def test_secrets_of_others_are_not_shown(fabric: Fabric, folder: Path) -> None:
    secret = "ghp_abcdefghijklmnopqrstuvwx0123"
    put(folder, "a.md", f"---\nid: aa11\nagent: scout\nsummary: relay {secret}\n---\nThe relay token is {secret}.")
    for tool in ("fabric_recall", "fabric_search"):
        assert secret not in json.dumps(call(fabric, tool, query="relay"))


def test_a_task_is_answered(instance: Instance) -> None:
    lead, builder = instance("lead"), instance("builder")
    task = write(lead, type="task", summary="Move the relay", content="To the new host.", assigned_to="builder")
    assert call(builder, "fabric_pending")["open_tasks"] == 1
    assert call(lead, "fabric_pending")["waiting_for_others"] == 1
    done = call(
        builder, "fabric_write", type="resolution", summary="Moved", content="It runs there now.", review_of=task
    )
    assert done["closes"] == [task]
    for one in (lead, builder):
        assert call(one, "fabric_pending")["total"] == 0
    found = call(lead, "fabric_recall", query="relay new host")["results"]
    assert [item.get("answered_by") for item in found if item["id"] == task] == [done["id"]]


def test_pending_of_a_customer(fabric: Fabric) -> None:
    for customer in ("c1", "c2"):
        write(fabric, type="task", summary=f"Ticket {customer}", customer_id=customer)
    assert summaries(call(fabric, "fabric_pending", customer_id="c2")) == ["Ticket c2"]
    assert call(fabric, "fabric_pending")["open_tickets"] == 2


def test_recall_is_narrowed_and_limited(instance: Instance) -> None:
    builder, scout = instance("builder"), instance("scout")
    for number in range(6):
        write(builder, summary=f"Relay {number}", content="The relay restarts.", project="shop")
    write(scout, summary="Relay seen", content="The relay restarts.", project="blog")
    assert call(builder, "fabric_recall", query="relay restarts", max_results=3)["total"] == 3
    assert summaries(call(builder, "fabric_recall", query="relay", agent="Scout")) == ["Relay seen"]
    found = builder.tools()["fabric_recall"](
        Arguments("fabric_recall", {"query": "relay", "project": "blog", "max_results": "9"}), Caller(now=NOW)
    )
    assert summaries(found) == ["Relay seen"]
    assert call(builder, "fabric_recall", query="zeppelin")["results"] == []
    with pytest.raises(BadRequest):
        call(builder, "fabric_recall", query="")


def test_recall_is_by_entry_and_counts_use(fabric: Fabric) -> None:
    write(fabric, summary="Long", content="\n\n".join(f"The relay, part {i}. {'word ' * 200}" for i in range(5)))
    found = call(fabric, "fabric_recall", query="relay")
    assert len(found["results"]) == 1
    assert fabric.store.value("SELECT sum(uses) FROM passages") == 1
    assert call(fabric, "fabric_recall", query="part 4")["results"][0]["text"].startswith("The relay, part 4")


def test_recall_uses_the_engines_search_when_there_is_one(fabric: Fabric) -> None:
    write(fabric, summary="Found by meaning", content="Kein gemeinsames Wort.")
    asked: list[tuple[str, Sequence[Layer]]] = []

    def searcher(
        query: str, caller: Caller, layers: Sequence[Layer], limit: int, sources: Sequence[str] | None = None
    ) -> list[Passage]:
        asked.append((query, layers))
        return fabric.index.of_source(f"fabric:{fabric.cards()[0].key}")

    fabric.searcher = searcher
    assert summaries(call(fabric, "fabric_recall", query="zeppelin")) == ["Found by meaning"]
    assert asked == [("zeppelin", (Layer.FABRIC,))]


def test_search_wants_every_word(fabric: Fabric) -> None:
    write(fabric, summary="DNS", content="The DNS resolver caches answers for an hour.")
    write(fabric, summary="Cache", content="The page cache holds an hour of answers.")
    found = call(fabric, "fabric_search", query="DNS answers")
    assert summaries(found) == ["DNS"]
    assert "resolver" in found["results"][0]["matches"][0]
    assert call(fabric, "fabric_search", query="DNS zeppelin")["total"] == 0
    assert call(fabric, "fabric_search", query='"; DROP TABLE')["total"] == 0


def test_long_results_come_in_pages(fabric: Fabric) -> None:
    for number in range(30):
        write(fabric, type="task", summary=f"Task {number} {'with many words ' * 10}", content=str(number))
    first = call(fabric, "fabric_pending")
    assert first["total"] == 30 and 0 < len(first["results"]) < 30
    second = call(fabric, "fabric_pending", cursor=first["cursor"])
    assert not set(summaries(first)) & set(summaries(second))


def test_a_brief_is_what_a_new_session_needs(instance: Instance) -> None:
    builder, scout = instance("builder"), instance("scout")
    write(builder, type="task", summary="Open task", content="a")
    old = write(builder, type="decision", summary="Old decision", content="b")
    write(builder, type="decision", summary="New decision", content="c", revises=old, now=NOW + 1)
    write(scout, type="research", summary="Scouted", content="d")
    write(builder, summary="Own note", content="e")
    brief = call(builder, "fabric_brief", now=NOW + 2)
    shown = {key: [item["summary"] for item in value] for key, value in brief.items() if isinstance(value, list)}
    assert shown == {
        "pending": ["Open task"],
        "recent_decisions": ["New decision"],
        "hot": ["Own note"],
        "from_other_agents": ["Scouted"],
    }


def test_a_report_counts(fabric: Fabric, folder: Path) -> None:
    write(fabric, type="task", summary="a", status="blocked")
    write(fabric, type="decision", summary="b", now=NOW - 40 * 86400)
    put(folder, "mine.md", "# Written by hand")
    (folder / "leak.md").symlink_to("/etc/hostname")
    report = call(fabric, "fabric_report")
    assert (report["by_type"], report["total"]) == ({"note": 1, "task": 1, "decision": 1}, 3)
    assert report["by_agent"] == {"builder": 2, "(a person)": 1}
    assert report["by_age"]["within a quarter"] == 1
    assert report["skipped"] == [{"path": "leak.md", "reason": "a link out of the folder"}]
    assert report["pending"] == 1


def test_telemetry_is_the_callers_own(fabric: Fabric) -> None:
    with fabric.store.write() as db:
        for scope, turn in (("default/local", "t1"), ("default/telegram:7", "t2")):
            db.execute(
                "INSERT INTO recalls(turn_id, session_id, scope, at, outcome, milliseconds) VALUES(?, 's', ?, ?, 'injected', 12)",
                (turn, scope, NOW),
            )
            db.execute(
                "INSERT INTO tool_calls(at, session_id, scope, tool, query) VALUES(?, 's', ?, 'fabric_recall', ?)",
                (NOW + 1, scope, f"asked by {scope}"),
            )
    result = fabric.tools()["fabric_telemetry"](
        Arguments("fabric_telemetry", {"last_n": 10}), Caller(scope=Scope("telegram:7"), now=NOW)
    )
    assert [item["event"] for item in result["results"]] == ["tool", "recall"]
    assert result["results"][0]["query"] == "asked by default/telegram:7"
    assert "milliseconds" not in result["results"][0], "nobody measures it"
    assert (result["recalls"], result["tools"]) == ({"injected": 1}, {"fabric_recall": 1})


def test_obsidian_starters_are_never_entries_and_never_overwrite(fabric: Fabric, folder: Path) -> None:
    put(folder, ".obsidian/app.json", "{}")
    assert call(fabric, "fabric_init_obsidian")["created"] == ["Home.md"]
    (folder / "Home.md").write_text("mine now", "utf-8")
    assert call(fabric, "fabric_init_obsidian")["created"] == []
    assert (folder / "Home.md").read_text("utf-8") == "mine now"
    assert (folder / ".obsidian/app.json").read_text("utf-8") == "{}"


def test_starters_of_a_new_folder_leave_the_fabric_empty(fabric: Fabric) -> None:
    assert len(call(fabric, "fabric_init_obsidian")["created"]) == 2
    assert fabric.refresh().added == 0


@contextmanager
def being_read(fabric: Fabric) -> Iterator[None]:
    """Another thread reads a folder that never ends."""
    started, ended = threading.Event(), threading.Event()

    def read() -> None:
        with fabric.mirror._lock:
            started.set()
            ended.wait(60)

    thread = threading.Thread(target=read)
    thread.start()
    started.wait(60)
    yield
    ended.set()
    thread.join()


def test_writing_does_not_wait_for_a_folder_that_is_being_read(fabric: Fabric, folder: Path) -> None:
    known = write(fabric, summary="Known before")
    with being_read(fabric):
        started = time.monotonic()
        written = call(fabric, "fabric_write", type="task", summary="Meanwhile", content="x")
        judged = call(fabric, "fabric_curate", entry_id=known, training_value="high")
        assert time.monotonic() - started < 50, "the reader takes a minute"
    assert written["status"] == "written" and "still being read" in written["note"]
    assert "handle" not in written
    assert (folder / written["path"]).is_file()
    assert judged["training_value"] == "high"
    fabric.refresh()
    found = {card.ref: card for card in fabric.cards()}
    assert found[written["id"]].summary == "Meanwhile"
    assert found[known].training_value == "high"


def test_links_for_the_graph(fabric: Fabric, folder: Path) -> None:
    first = write(fabric, type="decision", summary="First")
    stem = next(folder.glob("*first*")).stem
    call(fabric, "fabric_write", type="review", summary="Second", content="x", review_of=first)
    assert f'links: ["[[{stem}]]"]' in next(folder.glob("*second*")).read_text("utf-8")


def test_a_folder_that_cannot_be_written_is_a_typed_error(fabric: Fabric, folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    with pytest.raises(FabricError) as error:
        write(fabric)
    assert error.value.cure
    assert "not a folder" in call(fabric, "fabric_recall", query="anything")["note"]
    assert fabric.cards() == []


def test_cards_carry_no_secrets(fabric: Fabric, folder: Path) -> None:
    put(folder, "a.md", "---\nid: aa11\nagent: scout\ntype: task\nsummary: relay ghp_abcdefghijklmnopqrstuvwx0123\n---\n")
    fabric.refresh()
    assert "ghp_" not in fabric.pending(Caller(now=NOW))[0].summary
