"""Which class a fault is of, and how long the provider asks to wait."""

from __future__ import annotations

import json
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.llm.faults import FaultClass, clean, of_event, of_status, wait_asked

NOW = 1_800_000_000.0


def _error(message: str, code: str = "") -> str:
    return json.dumps({"error": {"message": message, "code": code}})


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (429, _error("Rate limit reached. Add a payment method: https://x/account/billing"), FaultClass.TRANSIENT, "rate_limited"),
        (429, _error("You exceeded your current quota", "insufficient_quota"), FaultClass.AUTH, "payment"),
        (500, "boom", FaultClass.TRANSIENT, "server_error"),
        (503, "<html>", FaultClass.TRANSIENT, "server_error"),
        (529, _error("Overloaded", "overloaded_error"), FaultClass.TRANSIENT, "server_error"),
        (408, "", FaultClass.TRANSIENT, "timeout"),
        (401, _error("Incorrect API key"), FaultClass.AUTH, "key_refused"),
        (402, _error("Insufficient credits"), FaultClass.AUTH, "payment"),
        (403, _error("Country not supported"), FaultClass.AUTH, "forbidden"),
        (400, _error("maximum context length is 8,192 tokens", "context_length_exceeded"), FaultClass.TOO_LONG, "context_too_long"),
        (400, _error("prompt is too long: 210000 tokens > 200000 maximum"), FaultClass.TOO_LONG, "context_too_long"),
        (400, _error("the request exceeds the available context size"), FaultClass.TOO_LONG, "context_too_long"),
        (413, "", FaultClass.TOO_LONG, "context_too_long"),
        (500, _error("input (301 tokens) is too large to process. increase the batch size"), FaultClass.TOO_LONG, "context_too_long"),
        (404, _error("model 'x' not found"), FaultClass.REFUSED, "not_found"),
        (400, _error("'max_tokens' is not supported. Use 'max_completion_tokens'."), FaultClass.REFUSED, "parameter"),
        (400, _error("messages: roles must alternate"), FaultClass.REFUSED, "refused"),
    ],
)  # fmt: skip
def test_http_errors(status: int, body: str, kind: FaultClass, reason: str) -> None:
    found = of_status(status, {}, body, NOW)
    assert (found.kind, found.reason) == (kind, reason)


def test_the_limit_and_the_refused_parameter_are_read_from_the_message() -> None:
    assert of_status(400, {}, _error("maximum context length is 8,192 tokens, you sent 9,000"), NOW).limit == 8192
    said = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    assert of_status(400, {}, _error(said), NOW).parameter == "max_tokens"
    assert of_status(422, {}, json.dumps({"detail": "response_format: Extra inputs are not permitted"}), NOW).parameter


@given(st.integers(0, 100_000))
def test_retry_after_in_seconds_and_as_a_date_mean_the_same(seconds: int) -> None:
    assert wait_asked({"retry-after": str(seconds)}, NOW) == seconds
    date = formatdate(NOW + seconds, usegmt=True)
    assert wait_asked({"Retry-After": date}, NOW) == pytest.approx(seconds, abs=1)


def test_a_date_in_the_past_asks_for_no_wait_and_nonsense_for_nothing() -> None:
    assert wait_asked({"Retry-After": formatdate(NOW - 60, usegmt=True)}, NOW) == 0
    assert wait_asked({"Retry-After": "soon"}, NOW) is None
    assert wait_asked({"Retry-After": "-5"}, NOW) is None
    assert wait_asked({}, NOW) is None
    assert wait_asked({"retry-after-ms": "1500", "retry-after": "2"}, NOW) == 1.5


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "slow down"}, FaultClass.TRANSIENT),
        ({"code": 502, "message": "upstream"}, FaultClass.TRANSIENT),
        ({"type": "overloaded_error", "message": "Overloaded"}, FaultClass.TRANSIENT),
        ({"type": "authentication_error", "message": "invalid x-api-key"}, FaultClass.AUTH),
        ({"code": 400, "message": "maximum context length is 100 tokens"}, FaultClass.TOO_LONG),
        ("broken", FaultClass.TRANSIENT),
        (None, FaultClass.TRANSIENT),
    ],
)
def test_errors_inside_an_answer(error: object, kind: FaultClass) -> None:
    assert of_event(error).kind is kind


@given(st.text(max_size=300), st.sampled_from(["opaque-key-1234", "sk-live-0123456789abcdefghij"]))
def test_a_key_is_in_no_message(text: str, key: str) -> None:
    found = clean(f"{text} Incorrect API key provided: {key}. {text}", key)
    assert key not in found
    assert len(found) <= 201
