"""Messages too long are asked about in parts that lose nothing."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_os.errors import ContextTooLong
from memory_os.llm import Answer, Message, Request, ask_in_parts, split_messages, tokens_of
from memory_os.llm.splitting import MESSAGE_TOKENS, split_text
from memory_os.text import token_estimate

SAMPLES = {
    "en": "The deployment moved to Friday. We agreed on that after the review.\n\n",
    "de": "Die Auslieferung wurde auf Freitag verschoben. Das war nach der Durchsicht klar.\n\n",
    "pt": "A entrega foi adiada para sexta-feira. Ficou decidido após a revisão.\n\n",
    "ru": "Выпуск перенесён на пятницу. Так решили после проверки.\n\n",
    "ar": "تم تأجيل النشر إلى يوم الجمعة. اتفقنا على ذلك بعد المراجعة؟\n\n",
    "zh": "部署推迟到星期五。这是评审之后决定的！\n\n",
    "ja": "デプロイは金曜日に延期されました。レビューの後で決めました。\n\n",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_every_script_is_cut_into_parts_that_fit_and_join_to_the_text(language: str) -> None:
    text = SAMPLES[language] * 40
    parts = split_text(text, 200)
    assert "".join(parts) == text
    assert len(parts) > 1
    assert all(token_estimate(part) <= 200 for part in parts)
    assert all(part.endswith("\n\n") for part in parts)


@given(st.text(alphabet=st.sampled_from("ab .\n。你ю"), max_size=600), st.integers(2, 60))
def test_any_text_is_cut_without_loss(text: str, limit: int) -> None:
    parts = split_text(text, limit)
    assert "".join(parts) == text
    assert all(part and token_estimate(part) <= limit for part in parts)


@settings(max_examples=50)
@given(st.integers(100, 3000), st.integers(0, 50))
def test_each_part_carries_the_other_messages_and_fits(words: int, limit_tens: int) -> None:
    limit = 150 + 10 * limit_tens
    messages = [Message("system", "Be brief."), Message("user", "word " * words), Message("user", "What was decided?")]
    asked = split_messages(messages, limit)
    assert "".join(part[1].content for part in asked) == messages[1].content
    for part in asked:
        assert tokens_of(part) <= limit
        assert (part[0], part[2]) == (messages[0], messages[2])


def test_what_fits_stays_one() -> None:
    messages = [Message("user", "short")]
    assert split_messages(messages, 100) == [messages]


@pytest.mark.parametrize(
    "messages", [[Message("system", "x " * 500)], [Message("system", "x " * 500), Message("user", "y " * 500)]]
)
def test_instructions_that_leave_no_room_are_an_error(messages: list[Message]) -> None:
    with pytest.raises(ContextTooLong):
        split_messages(messages, 100)


def test_asking_in_parts_goes_down_until_the_model_takes_it() -> None:
    """The model takes less than it is said to, and says so only once asked."""
    takes, asked = 300, []

    async def ask(request: Request) -> Answer:
        if tokens_of(request.messages) > takes:
            raise ContextTooLong("too long", limit=takes if len(asked) > 1 else 0)
        asked.append(request.messages[0].content)
        return Answer(text=str(len(asked)))

    text = SAMPLES["en"] * 60
    request = Request(messages=[Message("user", text)], job="extraction")
    answers = asyncio.run(ask_in_parts(ask, request, 1000))
    assert "".join(asked) == text
    assert len(answers) == len(asked) > 3
    assert all(token_estimate(part) + MESSAGE_TOKENS <= takes for part in asked)
