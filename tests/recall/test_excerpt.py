"""Long passages are quoted in part, where the question's words stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memory_os.recall.excerpt import excerpt

from recall.made import query


@given(st.text(max_size=400), st.lists(st.text(min_size=1, max_size=8), max_size=4), st.integers(20, 120))
def test_an_excerpt_is_never_longer_than_asked(text: str, terms: list[str], longest: int) -> None:
    found = excerpt(text, terms, longest)
    assert len(found.removeprefix("… ").removesuffix(" …")) <= longest
    assert len(text.strip()) > longest or found == text.strip()


def test_an_excerpt_is_about_the_question() -> None:
    text = f"{'Much talk about nothing. ' * 40}The port is 8443. {'And so it goes on. ' * 40}"
    found = excerpt(text, ["port"], 200)
    assert "The port is 8443." in found
    assert found.startswith("… ")
    assert found.endswith(" …")


def test_an_excerpt_is_where_most_of_the_questions_words_stand() -> None:
    text = f"The kiln is old. {'Much talk about nothing. ' * 40}Imke painted the kiln red in May. {'And so it goes on. ' * 40}"
    found = excerpt(text, query("When was the kiln painting finished by Imke?").terms, 200)
    assert "Imke painted the kiln red in May." in found


def test_an_excerpt_of_a_text_without_the_questions_words_is_its_beginning() -> None:
    assert excerpt("First of all. " + "More and more of it. " * 40, ["port"], 100).startswith("First of all.")
