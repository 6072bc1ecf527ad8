"""What is forgotten is gone: from every layer, the ledgers, the backups and the bytes on disk; another's stays."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_os.documents import Documents
from memory_os.documents.schema import documents as documents_migrations
from memory_os.errors import BadRequest
from memory_os.fabric import Fabric
from memory_os.fabric.schema import fabric as fabric_migrations
from memory_os.facts import Facts, Statement
from memory_os.facts.schema import facts as facts_migrations
from memory_os.forgetting import Forget
from memory_os.ground_truth.schema import ground_truth as ground_truth_migrations
from memory_os.maintenance.schema import maintenance as maintenance_migrations
from memory_os.memory import Scope, State
from memory_os.tooling import Arguments, Caller
from sessions.conftest import LOCAL, NOW, Memory, open_memory, turn
from sessions.host import HostDb

OTHER = Scope(user="telegram:2")


class Home:
    def __init__(self, memory: Memory) -> None:
        memory.store.migrate(
            facts_migrations, fabric_migrations, documents_migrations, ground_truth_migrations, maintenance_migrations
        )
        parts = (memory.store, memory.index, memory.settings)
        self.memory, self.store, self.index = memory, memory.store, memory.index
        self.facts, self.fabric, self.documents = Facts(*parts), Fabric(*parts), Documents(*parts)
        self.forgetting = Forget(self.store, self.index, memory.sessions, self.facts, self.fabric, self.documents)

    def forget(self, scope: Scope = LOCAL, /, **arguments: Any) -> dict[str, Any]:
        caller = Caller(scope=scope, session_id="s1", now=NOW + 1000)
        return self.forgetting.tool(Arguments("memory_forget", arguments), caller)

    def handle(self, words: str, scope: Scope = LOCAL) -> str:
        return self.memory.found(words, scope)[0].handle

    def remember(self, text: str, scope: Scope = LOCAL, **more: Any) -> Any:
        return self.facts.state(Statement(text, scope, **more), NOW).fact

    def on_disk(self, word: str) -> list[str]:
        """Files of ours that hold a word."""
        files = [path for path in self.memory.settings.home.rglob("*") if path.is_file()]
        return [path.name for path in files if word.encode() in path.read_bytes()]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    memory = open_memory(tmp_path / "home")
    memory.settings.memories_dir.mkdir()
    yield Home(memory)
    memory.store.close()


def test_a_preview_shows_the_text_and_deletes_nothing(home: Home) -> None:
    old = home.remember("The safe opens with quillfeather.")
    listed = home.forget(id=old.handle, preview=True)["would_forget"]
    assert [(one["id"], one["text"]) for one in listed] == [(old.handle, "The safe opens with quillfeather.")]
    home.facts.retire(old, NOW + 1)
    assert home.forget(id=old.handle, preview=True)["would_forget"] == listed, "a removed fact is still shown"
    assert home.forget(all_mine=True, preview=True, confirm=True)["status"] == "confirm"
    assert home.forget(id=old.handle)["status"] == "forgotten"


def test_a_message_by_its_id(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", "I will keep this to myself then."))
    home.memory.sessions.add_turn(turn(2, "The canteen closes at two.", "Noted, at two."))
    result = home.forget(id=f"({home.handle('safe opens')})")
    assert result["status"] == "forgotten"
    assert result["forgotten"]["messages"] == 1
    assert result["proof"] == {"searched_again": 1, "found": 0}
    assert home.memory.found("quillfeather") == []
    assert home.memory.found("canteen")
    assert home.on_disk("quillfeather") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Der Tresor öffnet mit Gänsekiel.", "Gänsekiel"),
        ("O cofre abre com andorinha.", "andorinha"),
        ("Сейф открывается словом ласточка.", "ласточка"),
        ("الخزنة تفتح بكلمة سنونو", "سنونو"),
        ("保险箱的口令是燕子", "保险箱"),
        ("金庫の合言葉はツバメです", "金庫"),
    ],
)
def test_in_every_script(home: Home, text: str, words: str) -> None:
    home.memory.sessions.add_turn(turn(1, text, ""))
    assert home.forget(query=words)["would_forget"][0]["text"]
    assert home.forget(query=words, confirm=True)["status"] == "forgotten"
    assert home.memory.found(words) == []


def test_a_fact_with_its_earlier_versions(home: Home) -> None:
    old = home.remember("The safe opens with quillfeather")
    home.facts.correct(old, Statement("The safe opens with marblecake", LOCAL), NOW + 1)
    result = home.forget(id=home.handle("safe marblecake"))
    assert result["forgotten"]["facts"] == 2
    assert home.on_disk("quillfeather") == []
    assert home.on_disk("marblecake") == []


def test_a_removed_fact_can_still_be_forgotten(home: Home) -> None:
    fact = home.remember("The safe opens with quillfeather")
    home.facts.retire(fact, NOW + 1)
    assert home.forget(id=fact.handle)["forgotten"]["facts"] == 1
    assert home.on_disk("quillfeather") == []


def test_a_query_lists_first_and_deletes_what_it_listed(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", "The safe, noted."))
    home.remember("The safe stands in the cellar")
    home.remember("The cat sleeps in the cellar")
    listed = home.forget(query="safe")
    assert listed["status"] == "confirm"
    assert len(listed["would_forget"]) == 3
    assert home.memory.found("quillfeather")
    result = home.forget(query="safe", confirm=True)
    assert result["forgotten"] == {"messages": 2, "facts": 1}
    assert [passage.text for passage in home.memory.found("cellar")] == ["The cat sleeps in the cellar"]


def test_a_query_means_what_is_archived_and_what_was_superseded_too(home: Home) -> None:
    old = home.remember("The safe opens with quillfeather")
    home.facts.correct(old, Statement("The safe opens with marblecake", LOCAL), NOW + 1)
    home.memory.sessions.add_turn(turn(1, "The cellar opens with quillfeather.", "The cellar, noted."))
    with home.store.write() as db:
        db.execute("UPDATE passages SET archived = 1 WHERE text LIKE '%cellar%'")
    assert home.memory.found("quillfeather") == []
    assert len(home.forget(query="quillfeather")["would_forget"]) == 2
    result = home.forget(query="quillfeather", confirm=True)
    assert result["status"] == "forgotten"
    assert [one.text for one in home.memory.found("marblecake")] == ["The safe opens with marblecake"]
    assert home.on_disk("quillfeather") == []


def test_some_of_the_listed_by_their_ids(home: Home) -> None:
    home.remember("The safe stands in the cellar")
    home.remember("The safe is painted green")
    listed = home.forget(query="safe")["would_forget"]
    home.forget(ids=[one["id"] for one in listed if "green" in one["text"]])
    assert [passage.text for passage in home.memory.found("safe")] == ["The safe stands in the cellar"]


def test_a_whole_session(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", "Noted: quillfeather.", session="s1"))
    home.memory.sessions.add_turn(turn(1, "The canteen closes at two.", "Noted, at two.", session="s2"))
    home.remember("The safe opens with quillfeather", session_id="s1")
    assert home.forget(session="current")["would_forget"] == {"messages": 2, "facts": 1, "other": 0}
    result = home.forget(session="current", confirm=True)
    assert result["status"] == "forgotten"
    assert home.on_disk("quillfeather") == []
    assert home.memory.found("canteen")


def test_all_of_one_user_and_nothing_of_another(home: Home) -> None:
    for scope in (LOCAL, OTHER):
        home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", "Noted.", session=scope.user, user=scope.user))
        home.remember("The safe stands in the cellar", scope)
    assert home.forget(all_mine=True)["status"] == "confirm"
    assert home.forget(all_mine=True, confirm="All my memory")["status"] == "forgotten"
    assert home.memory.found("safe") == []
    assert len(home.memory.found("safe", OTHER)) == 2


def test_another_users_memory_is_as_absent(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", "", user="telegram:1"))
    theirs = home.handle("safe", Scope(user="telegram:1"))
    fact = home.remember("The safe stands in the cellar", Scope(user="telegram:1"))
    for name in (theirs, fact.handle, str(fact.id)):
        with pytest.raises(BadRequest, match="no memory"):
            home.forget(OTHER, id=name)
    assert home.forget(OTHER, query="safe", confirm=True)["status"] == "nothing"
    assert home.forget(OTHER, session="s1", confirm=True)["status"] == "nothing"
    assert len(home.memory.found("safe", Scope(user="telegram:1"))) == 2


@pytest.mark.parametrize("arguments", [{}, {"id": "s:abcdefgh", "query": "x"}, {"session": "s1", "all_mine": True}])
def test_exactly_one_way_is_taken(home: Home, arguments: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="exactly one"):
        home.forget(**arguments)


def test_ledgers_telemetry_and_embeddings_go_too(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", ""))
    passage = home.memory.found("safe")[0]
    pending = home.index.embeddings.pending(10)
    home.index.embeddings.keep({one.embed_hash: np.ones(4, np.float32) for one in pending})
    with home.store.write() as db:
        db.execute("INSERT INTO recalls(turn_id, session_id, scope, at, outcome, milliseconds) VALUES('r1','s9',?,1,'injected',1)",
                   (LOCAL.key,))  # fmt: skip
        db.execute("INSERT INTO recall_lines(turn_id, rank, passage_id, shown) VALUES('r1', 0, ?, 1)", (passage.id,))
        for query in ("safe quillfeather", "weather tomorrow"):
            db.execute("INSERT INTO tool_calls(at, session_id, scope, tool, query) VALUES(1, 's9', ?, 'x', ?)", (LOCAL.key, query))
    home.forget(id=passage.handle)
    assert home.store.value("SELECT count(*) FROM recall_lines") == 0
    assert [row["query"] for row in home.store.rows("SELECT query FROM tool_calls")] == ["weather tomorrow"]
    assert home.store.value("SELECT count(*) FROM embeddings") == 0
    assert home.index.embeddings.deleted_points() == [passage.id]


def test_backups_are_renewed(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", ""))
    home.memory.sessions.add_turn(turn(2, "The canteen closes at two.", ""))
    home.store.backup(home.memory.settings.backups_dir / "memory-20260101-000000.db")
    result = home.forget(id=home.handle("safe"))
    assert result["forgotten"]["backups renewed"] == 1
    assert home.on_disk("quillfeather") == []
    (backup,) = home.memory.settings.backups_dir.iterdir()
    assert b"canteen closes" in backup.read_bytes()


def test_a_backup_that_is_being_made_does_not_keep_it(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", ""))
    handle, folder = home.handle("safe"), home.memory.settings.backups_dir
    home.store.backup(folder / "memory-20260101-000000.db")
    (folder / "memory-20260102-000000.partial").write_bytes(b"quillfeather")
    with ThreadPoolExecutor() as pool:
        with home.store.backing_up:
            forgetting = pool.submit(lambda: home.forget(id=handle))
            with pytest.raises(TimeoutError):
                forgetting.result(0.5)
            home.store.backup(folder / "memory-20260103-000000.db")
            (folder / "memory-20260103-000000.db").write_bytes(b"quillfeather")  # begun before, ended now
        assert forgetting.result(120)["forgotten"]["backups renewed"] == 2
    assert home.on_disk("quillfeather") == []


def test_backups_that_can_not_be_renewed_are_told(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", ""))
    folder = home.memory.settings.backups_dir
    home.store.backup(folder / "memory-20260101-000000.db")
    fresh = time.strftime("memory-%Y%m%d-%H%M%S.db", time.gmtime(NOW + 1000))
    (folder / fresh).mkdir()
    result = home.forget(id=home.handle("safe"))
    assert result["status"] == "incomplete"
    assert "still hold it" in result["notes"][0]


def test_a_reader_that_holds_the_log_is_told(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", ""))
    handle = home.handle("safe")
    with closing(sqlite3.connect(home.store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM messages").fetchall()
        result = home.forget(id=handle)
    assert result["status"] == "incomplete"
    assert "write-ahead log" in result["notes"][0]


def test_a_document_of_which_nothing_is_left_is_not_counted(home: Home, tmp_path: Path) -> None:
    filler = "This is an ordinary sentence. " * 25
    file = tmp_path / "notes.md"
    file.write_text(f"# Safe\n\nquillfeather. {filler}\n\n# Canteen\n\nmarblecake. {filler}\n")
    home.documents.ingest(file)
    first, second = home.index.of_source(f"document:{file}")
    home.forget(id=first.handle)
    assert home.documents.health().figures["passages"] == 1
    home.forget(id=second.handle)
    assert home.documents.health().state is State.EMPTY
    assert home.store.value("SELECT count(*) FROM documents") == 0


@pytest.fixture
def record(home: Home) -> Any:
    """Puts a record into the spool, or among the rejected ones."""

    def put(folder: str = "rejected", raw: bytes = b"", **more: Any) -> Path:
        spool = home.memory.settings.spool_dir / folder
        spool.mkdir(parents=True, exist_ok=True)
        path = spool / f"{len(list(spool.iterdir())):020}-abcdef01.json"
        values = {"v": 1, "type": "turn", "session_id": "s1", "user": "local", "profile": "default", **more}
        path.write_bytes(raw or json.dumps(values).encode())
        return path

    return put


def test_records_in_the_spool_go_with_their_text(home: Home, record: Any) -> None:
    said = "Сейф открывается словом ласточка."
    home.memory.sessions.add_turn(turn(1, said, ""))
    gone = [
        record(user_message=said),
        record(".", session_id="s9", assistant_response=[{"type": "text", "text": said}]),
        record(raw=json.dumps({"user_message": said}).encode()[:-1]),
        record(raw=said.encode() + b"\xff"),
    ]
    kept = [record(user_message=said, user="telegram:2"), record(user_message="Столовая закрывается в два."), record(raw=b"{")]
    assert home.forget(id=home.handle("ласточка"))["forgotten"]["spool records"] == 4
    assert [path.exists() for path in (*gone, *kept)] == [False] * 4 + [True] * 3


def test_a_forgotten_yes_takes_no_record_that_says_more(home: Home, record: Any) -> None:
    home.remember("staging")
    same, more = record(content="staging "), record(content="The staging gateway listens on 8443.")
    home.forget(query="staging", confirm=True)
    assert [path.exists() for path in (same, more)] == [False, True]


def test_records_in_the_spool_go_with_their_session_and_their_owner(home: Home, record: Any) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", "", session="s1"))
    of_session, other = record(user_message="anything"), record(session_id="s2")
    torn, theirs = record(raw=b'{"session_id": "s1", '), record(user="telegram:2")
    home.forget(session="s1", confirm=True)
    assert [path.exists() for path in (of_session, torn, other, theirs)] == [False, False, True, True]
    home.memory.sessions.add_turn(turn(2, "The canteen closes at two.", ""))
    unreadable = record(raw=b"{")
    home.forget(all_mine=True, confirm=True)
    assert [path.exists() for path in (other, unreadable, theirs)] == [False, False, True]


def test_no_import_brings_it_back(home: Home) -> None:
    host = HostDb(home.memory.settings.state_db)
    host.session("s1")
    host.message("s1", "user", "The safe opens with quillfeather.", NOW)
    home.memory.sessions.import_history(now=NOW + 500)
    result = home.forget(id=home.handle("safe"))
    assert any("state.db" in note and "agent.log" in note for note in result["notes"])
    home.store.set_meta("sessions.host_mark", "0")
    home.memory.sessions.import_history(now=NOW + 2000)
    assert home.memory.found("quillfeather") == []
    host.close()


def test_the_hosts_files_are_named_and_not_touched(home: Home) -> None:
    path = home.memory.settings.memories_dir / "MEMORY.md"
    path.write_text("The safe opens with quillfeather")
    fact = home.remember("The safe opens with quillfeather", origin="memory:memory")
    result = home.forget(id=fact.handle)
    assert any(note.startswith("MEMORY.md") for note in result["notes"])
    assert path.read_text() == "The safe opens with quillfeather"


SAFE = "The safe opens with quillfeather."


def test_no_neighbour_of_any_repeat_keeps_the_words(home: Home) -> None:
    for session in ("s1", "s2", "s3"):
        home.memory.sessions.add_turn(turn(1, SAFE, "I will keep this to myself.", session=session))
    result = home.forget(id=home.handle("quillfeather"))
    assert (result["forgotten"]["messages"], result["proof"]["found"]) == (3, 0)
    assert len(home.memory.found("keep this")) == 3
    assert home.on_disk("quillfeather") == []


def test_another_members_neighbour_keeps_no_words_and_another_chat_its_own(home: Home) -> None:
    """Archives made before neighbours were kept apart quote one member of a group beside another's words."""
    home.memory.sessions.add_turn(turn(1, SAFE, "", session="group"))
    home.memory.sessions.add_turn(turn(2, "My lawnmower needs a blade.", "", session="group", user=OTHER.user))
    home.memory.sessions.add_turn(turn(3, SAFE, "The weathervane creaks tonight.", session="apart", user=OTHER.user))
    with home.store.write() as db:
        db.execute("UPDATE messages SET context = ? WHERE text LIKE '%lawnmower%'", (f"user: {SAFE}",))
        row = db.execute("SELECT id FROM messages WHERE text LIKE '%lawnmower%'").fetchone()
        home.memory.sessions.archive.reindex(db, row["id"])
    assert home.forget(id=home.handle("quillfeather"))["proof"]["found"] == 0
    assert [one.context for one in home.memory.found("lawnmower", OTHER)] == [""]
    assert [one.context for one in home.memory.found("weathervane", OTHER)] == [f"user: {SAFE}"]


@pytest.mark.parametrize("table", ["messages", "passages"])
def test_the_proof_finds_a_neighbour_that_still_quotes_it(home: Home, table: str) -> None:
    home.memory.sessions.add_turn(turn(1, SAFE, "I will keep this to myself."))
    handle = home.handle("quillfeather")
    with home.store.write() as db:  # as a fault would leave it: the words come back after they were cleared
        db.execute(
            "CREATE TRIGGER fault AFTER UPDATE OF context ON messages WHEN new.context = '' BEGIN UPDATE messages SET context = old.context"
            " WHERE id = new.id; END" if table == "messages" else
            "CREATE TRIGGER fault AFTER INSERT ON passages WHEN new.text LIKE 'I will%' BEGIN"
            f" UPDATE passages SET context = 'user: {SAFE}' WHERE pk = new.pk; END"
        )  # fmt: skip
    result = home.forget(id=handle)
    assert result["status"] == "incomplete"
    assert result["proof"]["found"] >= 1


def test_an_answer_that_repeats_it_is_pointed_out(home: Home) -> None:
    home.memory.sessions.add_turn(turn(1, "The safe opens with quillfeather.", "Understood, the safe opens with quillfeather."))
    result = home.forget(id=next(one.handle for one in home.memory.found("safe") if one.kind == "said"))
    assert result["status"] == "forgotten"
    assert [one["text"] for one in result["similar"]] == ["Understood, the safe opens with quillfeather."]
    home.forget(ids=[one["id"] for one in result["similar"]])
    assert home.on_disk("quillfeather") == []


def test_a_line_of_creative(home: Home) -> None:
    home.forgetting.workspace.learn("The safe opens with quillfeather.", NOW)
    assert home.forget(id=home.handle("safe"))["forgotten"]["workspace"] == 1
    assert "quillfeather" not in (home.memory.settings.memories_dir / "CREATIVE.md").read_text()
    assert home.memory.found("safe") == []


def test_one_passage_of_a_document(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Safe\n\nThe safe opens with quillfeather.\n\n# Canteen\n\nThe canteen closes at two.\n")
    home.documents.ingest(file)
    shared = [one for one in home.index.of_source(f"document:{file}") if "quillfeather" in one.text]
    with pytest.raises(BadRequest, match="shared"):
        home.forget(OTHER, id=shared[0].handle)
    result = home.forget(id=shared[0].handle)
    assert result["status"] == "forgotten"
    assert "an edited file may bring it back; remove it from the file" in result["notes"][0]
    assert all("quillfeather" not in one.text for one in home.index.of_source(f"document:{file}"))
    os.utime(file, (1, 1))
    (report,) = home.documents.ingest(file).files
    assert (report.chunks, report.notes) == (0, ("1 passage stays forgotten",))


def sections(*words: str) -> str:
    filler = "This is an ordinary sentence. " * 25
    return "\n\n".join(f"# {word}\n\n{word} stands here. {filler}" for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Shelf 20 of the Quarzlager holds the felt.", "Quarzlager"),
        ("Der Tresor öffnet mit Gänsekiel.", "Gänsekiel"),
        ("O cofre abre com andorinha.", "andorinha"),
        ("Сейф открывается словом ласточка.", "ласточка"),
        ("الخزنة تفتح بكلمة سنونو", "سنونو"),
        ("保险箱的口令是燕子", "保险箱"),
        ("金庫の合言葉はツバメです", "金庫"),
    ],
)
@pytest.mark.parametrize("name", ["notes.md", "wiki/raw/notes.md", "wiki/entities/notes.md"])
def test_a_query_finds_documents_and_pages_of_the_wiki(home: Home, name: str, text: str, words: str) -> None:
    file = home.memory.settings.vault / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    home.documents.ingest(file)
    assert home.forget(OTHER, query=words, confirm=True)["status"] == "nothing", "shared: not another's to forget"
    result = home.forget(query=words, confirm=True)
    assert (result["status"], result["forgotten"], result["proof"]["found"]) == ("forgotten", {"passages": 1}, 0)
    assert home.forget(query=words)["status"] == "nothing"


def test_a_library_never_crowds_out_what_was_said(home: Home, tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"{number}.md").write_text(f"The safe of building {number} stands there.")
    home.documents.ingest(tmp_path)
    home.remember("The safe stands in the cellar")
    first = home.forget(query="safe", confirm=True)
    assert first["forgotten"] == {"facts": 1, "passages": 19}
    assert first["more"] == 6, "what the same search still finds is said"
    second = home.forget(query="safe", confirm=True)
    assert second["forgotten"] == {"passages": 6} and "more" not in second


def test_a_passage_leaves_the_rest_of_its_document_and_says_so(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(sections("quillfeather", "marblecake", "tinroof"))
    home.documents.ingest(file)
    first, *_ = home.index.of_source(f"document:{file}")
    result = home.forget(id=first.handle)
    assert result["documents"] == [{"path": str(file), "forgotten": 1, "left": 2}]
    assert any(note.startswith(f"2 passages of {file} remain") for note in result["notes"])


@pytest.mark.parametrize("relative", [True, False])
def test_a_whole_document(home: Home, relative: bool) -> None:
    file = home.memory.settings.vault / "wiki/raw/notes.md"
    file.parent.mkdir(parents=True)
    file.write_text(sections("quillfeather", "marblecake"))
    home.documents.ingest(file)
    name = "wiki/raw/notes.md" if relative else str(file)
    assert home.forget(document=name) == {
        "status": "confirm", "would_forget": {"passages": 2}, "next": "Call again with confirm=true, or with ids=[…]."
    }  # fmt: skip
    with pytest.raises(BadRequest, match="shared"):
        home.forget(OTHER, document=name, confirm=True)
    result = home.forget(document=name, confirm=True)
    assert result["documents"] == [{"path": "wiki/raw/notes.md", "forgotten": 2, "left": 0}]
    assert home.on_disk("quillfeather") == [] and file.exists()
    os.utime(file, (1, 1))
    home.documents.ingest(file)
    assert home.index.of_source("document:wiki/raw/notes.md") == [], "it stays forgotten"
    with pytest.raises(BadRequest, match="nothing of a document"):
        home.forget(document=name, confirm=True)


def test_the_same_words_in_another_document_are_pointed_out(home: Home, tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("The safe opens with quillfeather.")
    home.documents.ingest(tmp_path)
    (one,) = home.index.of_source(f"document:{tmp_path / 'a.md'}")
    result = home.forget(id=one.handle)
    assert [one["text"] for one in result["similar"]] == ["The safe opens with quillfeather."]


def test_a_forgotten_fact_is_no_reason_to_cut_a_document(home: Home, tmp_path: Path) -> None:
    home.forget(id=home.remember("The canteen closes at two.").handle)
    file = tmp_path / "notes.md"
    file.write_text("The canteen closes at two.")
    assert home.documents.ingest(file).chunks == 1


def test_a_fabric_entry(home: Home) -> None:
    tools = home.fabric.tools()
    written = tools["fabric_write"](
        Arguments("fabric_write", {"type": "note", "summary": "The safe", "content": "The safe opens with quillfeather."}),
        Caller(scope=LOCAL, session_id="s1", now=NOW),
    )
    assert "error" not in written
    row = home.store.row("SELECT handle FROM passages WHERE layer = 'fabric' AND text LIKE '%quillfeather%'")
    assert row is not None
    result = home.forget(id=row["handle"])
    assert result["forgotten"]["fabric"] == 1
    assert home.store.value("SELECT count(*) FROM passages WHERE layer = 'fabric'") == 0
    assert all(b"quillfeather" not in path.read_bytes() for path in home.memory.settings.fabric_dir.rglob("*.md"))
