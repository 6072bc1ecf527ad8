"""Plain FTS5 as anybody would set it up."""

from __future__ import annotations

from memory_os_workers.eval.floor import PlainFts5


def test_words_are_stemmed_and_the_best_stands_first() -> None:
    with PlainFts5(["the kiln arrives", "the kilns arrived with the glaze", "nothing"]) as floor:
        assert floor.search("Which kiln came with a glaze?", 10) == [1, 0]
        assert floor.search("???", 10) == []


def test_scripts_without_spaces_are_cut_into_trigrams() -> None:
    with PlainFts5(["窯の鍵は赤い箱に入っています。", "最初の教室は満員です。"]) as floor:
        assert floor.search("赤い箱はどこ？", 10) == [0]


def test_a_question_is_never_query_syntax() -> None:
    with PlainFts5(['say "port" NEAR host']) as floor:
        assert floor.search('"port" OR NEAR( AND *', 10) == [0]
