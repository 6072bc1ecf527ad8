"""What puts one candidate before another that the two searches find as good."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.index import Whereabouts, whereabouts_of
from memory_os.memory import Author, Layer, Passage
from memory_os.recall.arms import Candidate
from memory_os.recall.query import Query
from memory_os.recall.standing import evidence, foremost, is_bare_question, ranks, speaker_of, weighed

from recall.made import passage, query

cosines = st.floats(-1, 1)
shares = st.floats(0, 1)

LONG = " It took the whole afternoon, and the neighbours came over to help with the heavy parts of it, which was very kind of them all."


def candidate(pk: int = 1, cosine: float = 0.3, coverage: float = 0.2, *, compared: bool = True) -> Candidate:
    return Candidate(pk, cosine, coverage * 10, coverage, compared)


def said(text: str, number: int = 1, *, session: str = "S1", author: Author = Author.USER, context: str = "") -> Passage:
    return passage(text, f"message:{number}", session_id=session, author=author, context=context)


def stand(asked: Query, candidates: Sequence[Candidate], passages: Sequence[Passage]) -> list[float]:
    return ranks(asked, weighed(candidates, whereabouts(passages)), passages)


def whereabouts(passages: Sequence[Passage]) -> list[Whereabouts]:
    return [whereabouts_of(one.id, one.layer.value, one.source, one.session_id) for one in passages]


def order(asked: str, *passages: Passage) -> list[int]:
    """Positions, best first, of passages that both searches find equally good."""
    found = stand(query(asked), [candidate(pk) for pk in range(len(passages))], passages)
    return sorted(range(len(passages)), key=lambda i: -found[i])


def test_what_its_talk_speaks_for_is_read_before_what_stands_alone_and_says_a_little_more() -> None:
    strays = [said("Ten bags of clay." + LONG, 50 * n, session=f"S{n}") for n in range(2, 30)]
    passages = [said("Imke fires the kiln at noon." + LONG, 7), said("Every day, yes." + LONG, 8), *strays]
    found = [candidate(0, 0.6), candidate(1, 0.05), *(candidate(pk, 0.3) for pk in range(2, 30))]
    worth = weighed(found, whereabouts(passages))
    assert foremost(worth, 2) == [0, 1]
    assert foremost(worth, 30) == foremost(worth, 99) == list(range(30))
    assert foremost([0.1, 0.3, 0.2, 0.4], 2) == [1, 3], "in the order they came"


@given(cosines, cosines, shares)
def test_what_is_more_alike_stands_higher(one: float, other: float, coverage: float) -> None:
    low, high = evidence([candidate(1, min(one, other), coverage), candidate(2, max(one, other), coverage)])
    assert low <= high


@given(cosines, shares, shares)
def test_what_has_more_of_the_words_stands_higher(cosine: float, one: float, other: float) -> None:
    low, high = evidence([candidate(1, cosine, min(one, other)), candidate(2, cosine, max(one, other))])
    assert low <= high


@given(cosines)
def test_without_words_the_cosine_is_all(cosine: float) -> None:
    assert evidence([candidate(1, cosine, 0.0)]) == [cosine]


def test_a_word_that_is_little_of_the_question_doesn_t_outweigh_meaning() -> None:
    """A number is all that a Chinese question and an English text share: the best of few words is no full match."""
    alike, number = candidate(1, 0.5, 0.0), candidate(2, 0.3, 0.05)
    by_meaning, by_number = evidence([alike, number])
    assert by_meaning > by_number
    alike, words = candidate(1, 0.5, 0.0), candidate(2, 0.3, 0.8)
    by_meaning, by_words = evidence([alike, words])
    assert by_words > by_meaning


def test_what_has_no_vector_yet_is_ranked_by_its_words() -> None:
    few, many = evidence([candidate(1, 0.0, 0.2, compared=False), candidate(2, 0.0, 0.9, compared=False)])
    assert many > few > 0


def test_a_turn_whose_talk_is_about_it_stands_before_one_that_is_alone() -> None:
    alone = said("The kiln is fired on Fridays.", 50, session="S2")
    among = said("The kiln is fired on Mondays.", 10)
    beside = said("Twelve hours at 1200 degrees, and then it cools.", 12)
    assert order("When is the kiln fired?", alone, among, beside)[-1] == 0


def test_the_nearer_company_counts_for_more() -> None:
    asked = query("When is the kiln fired?")
    found = [candidate(pk) for pk in range(2)]
    near, far = (stand(asked, found, [said("On Fridays." + LONG, 10), said("At 1200." + LONG, 10 + gap)]) for gap in (1, 60))
    assert near[0] > far[0]


def test_pieces_of_one_message_are_no_company_for_each_other() -> None:
    one, other = said("On Fridays." + LONG, 10), said("At 1200." + LONG, 10)
    alone = stand(query(), [candidate(1)], [one])
    assert stand(query(), [candidate(1), candidate(2)], [one, other])[0] == alone[0]


@pytest.mark.parametrize("layer", [Layer.FACTS, Layer.FABRIC, Layer.WIKI, Layer.VECTORS])
def test_what_belongs_to_no_talk_is_not_pushed_behind_chatter(layer: Layer) -> None:
    """A fact has no neighbours; turns that keep each other company and are less alike stay behind it."""
    fact = passage("The kiln is fired on Fridays.", "fact:1", layer=layer)
    talk = [said("Kilns are a thing of beauty, aren't they." + LONG, number, author=Author.AGENT) for number in (1, 2, 3)]
    found = [candidate(0, 0.5, 0.8), *(candidate(n, 0.3, 0.4) for n in (1, 2, 3))]
    standing = stand(query("When is the kiln fired?"), found, [fact, *talk])
    assert standing[0] == max(standing)


@pytest.mark.parametrize(
    ("question", "hers", "his"),
    [
        ("What did Imke buy in Bremen?", "Imke: I bought a kiln there.", "Tarek: Imke, you bought a kiln there?!"),
        ("Was hat Imke in Bremen gekauft?", "Imke: Ich habe dort einen Ofen gekauft.", "Tarek: Imke hat einen Ofen gekauft."),
        ("O que a Imke comprou?", "[Imke] Comprei um forno lá.", "[Tarek] A Imke comprou um forno."),
        ("Что купила Лена?", "Лена: Я купила там печь.", "Борис: Лена купила там печь."),
        ("ماذا اشترت ليلى؟", "ليلى: اشتريت فرنا هناك.", "سامي: اشترت ليلى فرنا هناك."),
        ("小林在不来梅买了什么？", "小林：我在那里买了一个窑。", "老王：小林在那里买了一个窑。"),
        ("田中さんは何を買いましたか？", "田中：そこで窯を買いました。", "鈴木：田中さんは窯を買いました。"),
    ],
)
def test_the_words_of_the_person_asked_about_come_first(question: str, hers: str, his: str) -> None:
    assert order(question, said(his, 1), said(hers, 2))[0] == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Imke: on Tuesday", "imke"),
        ("Imke Berg: on Tuesday", "imke"),
        ("[Imke] on Tuesday", "imke"),
        ("小林：星期二", "小林"),
        ("on Tuesday: nothing", "on"),
        ("It is 9:30 already", ""),
        ("https://example.org/a", ""),
        ("def run():\n    pass", ""),
        ("10:45 is late", ""),
        ("", ""),
    ],
)
def test_who_speaks_is_what_stands_before_the_colon(text: str, name: str) -> None:
    assert speaker_of(text) == name


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("How heavy is the kiln now?", "The kiln weighs 90 kilos."),
        ("Wie schwer ist der Ofen?", "Der Ofen wiegt 90 Kilo."),
        ("Quanto pesa o forno?", "O forno pesa 90 quilos."),
        ("Сколько весит печь?", "Печь весит 90 килограммов."),
        ("كم يزن الفرن؟", "يزن الفرن 90 كيلو."),
        ("这个窑有多重？", "这个窑重九十公斤。"),
        ("窯の重さは？", "窯は90キロです。"),
    ],
)
def test_a_statement_stands_before_a_question_and_an_answer_before_both(question: str, statement: str) -> None:
    assert is_bare_question(question) and not is_bare_question(statement)
    asks, states = said(question, 1, session="S1"), said(statement, 1, session="S2")
    answers = said(statement, 2, session="S3", context=f"assistant: {question}")
    assert order("90", asks, states, answers) == [2, 1, 0]


def test_a_long_message_that_ends_in_a_question_says_something_too() -> None:
    assert not is_bare_question(LONG * 3 + " What do you think?")


def test_the_user_s_own_words_stand_before_an_agent_s() -> None:
    theirs, agents = said("The kiln is in the shed." + LONG, 1, session="S1"), said(
        "The kiln is in the shed." + LONG, 1, session="S2", author=Author.AGENT
    )
    assert order("Where is the kiln?", agents, theirs) == [1, 0]


def test_a_nod_stands_behind_what_says_something() -> None:
    nod, told = said("Yes, the kiln!", 1, session="S1"), said("The kiln is in the shed behind the house." + LONG, 1, session="S2")
    assert order("Where is the kiln?", nod, told) == [1, 0]


@given(st.lists(st.tuples(cosines, shares), max_size=8))
def test_every_candidate_has_a_finite_rank(found: list[tuple[float, float]]) -> None:
    candidates = [candidate(pk, cosine, coverage) for pk, (cosine, coverage) in enumerate(found)]
    passages = [said(f"word {pk}", pk) for pk in range(len(found))]
    assert all(-5 < rank < 6 for rank in stand(query(), candidates, passages))


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), min_size=1, max_size=12, unique_by=lambda one: one[0]))
def test_a_talk_speaks_by_its_nearest_its_next_and_its_best(talk: list[tuple[int, float]]) -> None:
    passages = [said(LONG, number) for number, _ in talk]
    in_talk = stand(query("kiln"), [candidate(n, one, 0.0) for n, (_, one) in enumerate(talk)], passages)
    for (number, one), rank in zip(talk, in_talk, strict=True):
        alone = stand(query("kiln"), [candidate(1, one, 0.0)], [said(LONG, number)])[0]
        others = {at: other for at, other in talk if at != number}
        near = max((other * math.exp((1 - abs(at - number)) / 10) for at, other in others.items()), default=0.0)
        best = sum(sorted(others.values(), reverse=True)[:3]) / 3
        assert rank - alone == pytest.approx(0.75 * near + 0.2 * others.get(number + 1, 0.0) + 0.45 * best, abs=1e-9)


def test_what_the_next_one_answers_stands_before_what_it_is_said_after() -> None:
    hit = said("It is fired on Mondays, the kiln." + LONG, 11)
    before, after = said("So much for the shed." + LONG, 10), said("So much for the shed." + LONG, 12)
    found = [candidate(0, 0.6), candidate(1, 0.3), candidate(2, 0.3)]
    _, first, second = stand(query("When is the kiln fired?"), found, [hit, before, after])
    assert first > second


def test_words_of_the_question_count_less_in_company_than_in_the_passage_itself() -> None:
    """A name that stands in one turn is no evidence that the turn beside it is about its bearer."""
    has = [candidate(0, 0.3, 0.9), candidate(1, 0.3, 0.0)]
    own, beside = stand(query("kiln"), has, [said(LONG, 1), said(LONG, 2)])
    assert own > beside


@pytest.mark.parametrize(
    ("own", "hers"),
    [
        ("When is my flight to Bremen?", "When is Imke's flight to Bremen?"),
        ("Wann geht mein Flug nach Bremen?", "Wann geht der Flug nach Bremen?"),
        ("Quando é o meu voo para Bremen?", "Quando é o voo dela para Bremen?"),
        ("Когда мой рейс в Бремен?", "Когда рейс Лены в Бремен?"),
        ("متى رحلتي عندي؟", "متى رحلة ليلى؟"),
        ("我的航班是什么时候？", "小林的航班是什么时候？"),
        ("私の便はいつですか？", "田中さんの便はいつですか？"),
    ],
)
def test_of_themselves_the_user_s_own_words_tell_most(own: str, hers: str) -> None:
    agents, users = said("Flights to Bremen." + LONG, 1, session="S1", author=Author.AGENT), said(
        "Flights to Bremen." + LONG, 1, session="S2"
    )
    found = [candidate(0), candidate(1)]
    gap, ordinary = (
        second - first for first, second in (stand(query(asked), found, [agents, users]) for asked in (own, hers))
    )
    assert gap > ordinary > 0


def test_what_the_user_wants_always_stands_before_what_they_said_once() -> None:
    wish = said("Always name the glaze by its number.", 1, session="S1")
    said_once = said("They named that glaze by a number.", 1, session="S2")
    by_agent = said("Always name the glaze by its number.", 1, session="S3", author=Author.AGENT)
    assert order("Which glaze is on the blue bowls?", said_once, by_agent, wish)[0] == 2
    found = stand(query("glaze"), [candidate(n) for n in range(2)], [said_once, by_agent])
    assert found[0] > found[1], "an agent's always is no wish"


def test_asked_about_themselves_a_note_of_theirs_is_their_word_and_a_document_half() -> None:
    layers = (Layer.FACTS, Layer.VECTORS)
    texts = [passage("Bremen.", f"x:{layer}", layer=layer) for layer in layers]
    found = [candidate(0), candidate(1)]
    (fact, document), (fact_before, document_before) = (
        stand(query(asked), found, texts) for asked in ("Where is my kiln?", "Where is the kiln?")
    )
    assert fact - fact_before == pytest.approx(2 * (document - document_before)) and document > document_before


@pytest.mark.parametrize(
    ("question", "timed", "other"),
    [
        ("When was the kiln delivered?", "The kiln came last week.", "The kiln came with Raul."),
        ("Wann kam der Ofen?", "Der Ofen kam gestern an.", "Der Ofen kam mit Raul."),
        ("Quando chegou o forno?", "O forno chegou na semana passada.", "O forno chegou com o Raul."),
        ("Когда привезли печь?", "Печь привезли вчера утром.", "Печь привезли с Раулем."),
        ("متى وصل الفرن؟", "وصل الفرن أمس.", "وصل الفرن مع راؤول."),
        ("窑是什么时候到的？", "窑上周到了。", "窑跟小王到了。"),
        ("窯はいつ届きましたか？", "窯は先週届きました。", "窯は田中と届きました。"),
    ],
)
def test_asked_when_what_says_a_time_comes_first(question: str, timed: str, other: str) -> None:
    texts = said(other, 1, session="S1"), said(timed, 1, session="S2")
    assert order(question, *texts) == [1, 0]
    found = [candidate(0), candidate(1)]
    gained = [asked - plain for asked, plain in zip(stand(query(question), found, texts), stand(query("?"), found, texts), strict=True)]
    assert gained == pytest.approx([0.0, 0.35])


def test_a_time_brings_nothing_from_far_behind_to_the_front() -> None:
    asked = query("When was the kiln delivered?")
    texts = [said("The kiln came." + LONG, 1, session=f"S{n}") for n in range(60)]
    texts.append(said("It came yesterday." + LONG, 1, session="last"))
    found = [candidate(n, 0.3 - n / 1000) for n in range(61)]
    assert stand(asked, found, texts)[-1] == pytest.approx(stand(query("kiln"), found, texts)[-1])


@pytest.mark.parametrize("layer", [Layer.VECTORS, Layer.WIKI])
def test_a_year_in_a_document_is_no_answer_to_when(layer: Layer) -> None:
    texts = [passage("The kiln came in May 1994." + LONG, layer=layer), passage("The kiln came with Raul." + LONG, layer=layer)]
    found = [candidate(0), candidate(1)]
    assert stand(query("When was the kiln delivered?"), found, texts) == stand(query("Kiln?"), found, texts)


@pytest.mark.parametrize(
    ("question", "alike", "other", "answer"),
    [
        ("Where did Imke take the picture of the kiln?", "Lovely! Where did you take this picture?", "Nice. Want some tea?", "At sea."),
        ("Wo hat Imke das Bild vom Ofen gemacht?", "Schön! Wo hast du das Bild gemacht?", "Ach so. Willst du Tee?", "Am Meer."),
        ("Onde a Imke tirou a foto do forno?", "Linda! Onde você tirou essa foto?", "Legal. Quer um chá?", "Na praia."),
        ("Где Имке сделала снимок печи?", "Красиво! Где ты сделала этот снимок?", "Ясно. Хочешь чаю?", "У моря."),
        ("أين التقطت إيمكه صورة الفرن؟", "جميلة! أين التقطت صورة كهذه؟", "حسنا. هل تريد شايا؟", "عند البحر."),
        ("小王在哪里拍的窑的照片？", "真好看！这张照片是在哪里拍的？", "好的。你要喝茶吗？", "在海边。"),
        ("田中さんは窯の写真をどこで撮りましたか？", "素敵！その写真はどこで撮ったの？", "なるほど。お茶はいかが？", "海辺です。"),
    ],
)  # fmt: skip
def test_what_was_said_to_a_question_like_it_comes_first(question: str, alike: str, other: str, answer: str) -> None:
    contexts = [f"assistant: {other}", f"assistant: {alike}", f"assistant: {alike} {other}"]
    assert order(question, *(said(answer, 1, session=f"S{n}", context=context) for n, context in enumerate(contexts)))[0] == 1


def test_a_question_of_one_word_is_hardly_the_same() -> None:
    asked = query("Where did Imke take the picture of the kiln?")
    answers = [said("By the sea.", 1, session=f"S{n}", context=f"user: {context}") for n, context in enumerate(["Tea?", "Imke?"])]
    other, alike = stand(asked, [candidate(0), candidate(1)], answers)
    assert 0 < alike - other <= 0.5


def test_only_the_message_s_beginning_answers_what_stands_before_it() -> None:
    asked = query("Where did Imke take the picture?")
    context = "assistant: Where did you take the picture?"
    first, later = (
        passage("By the sea.", "message:1", session_id=f"S{n}", ordinal=n, context=context, author=Author.USER) for n in (0, 1)
    )
    found = stand(asked, [candidate(0), candidate(1)], [first, later])
    assert found[0] > found[1]


def test_what_was_said_to_the_same_question_makes_nothing_look_far_behind() -> None:
    question = "Where did Imke take the picture of the kiln?"
    answer = said("By the sea.", 1, session="S1", context=f"user: {question}")
    statement = said("The picture of the kiln is one Imke took at the sea, on the pier of Lisboa.", 1, session="S2")
    found = stand(query(question), [candidate(0, 0.5), candidate(1, 0.5)], [answer, statement])
    assert 0 < found[0] - found[1] < 0.25
