"""Only what may succeed later is tried again, later and later, and not for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.errors import (
    BadRequest,
    BudgetSpent,
    ConfigError,
    DocumentError,
    MemoryOSError,
    ModelUnavailable,
    QueueAway,
    ServiceUnavailable,
    StoreCorrupt,
    StoreError,
)
from memory_os_workers.jobs import retries


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (ServiceUnavailable("away"), True),
        (QueueAway("away"), True),
        (StoreError("busy"), True),
        (TimeoutError(), True),
        (ConnectionResetError(), True),
        (ModelUnavailable("down", retry_at=0), True),
        (StoreCorrupt("damaged"), False),
        (ConfigError("wrong"), False),
        (BadRequest("wrong"), False),
        (DocumentError("no text"), False),
        (ValueError("a fault of ours"), False),
    ],
)
def test_transient_faults_are_tried_again_and_others_not(error: Exception, transient: bool) -> None:
    assert retries.is_transient(error) is transient
    assert retries.is_last(error, 1) is not transient
    assert retries.is_last(error, retries.ATTEMPTS)


@given(st.integers(1, 1_000_000))
def test_the_wait_is_anywhere_up_to_a_bound_that_doubles(attempt: int) -> None:
    assert retries.delay(attempt, lambda low, high: low) == 0.0
    longest = retries.delay(attempt, lambda low, high: high)
    assert longest == min(60.0, 2.0**attempt if attempt < 10 else 60.0)


def test_a_provider_that_says_when_is_not_asked_before() -> None:
    error: MemoryOSError = ModelUnavailable("down", retry_at=1_000.0)
    assert retries.wait_for(error, 1, now=900.0) >= 100.0


def test_waiting_for_a_budget_is_no_failure() -> None:
    error = BudgetSpent("spent", resets_at=1_000.0)
    assert not retries.is_last(error, 10_000)
    assert retries.wait_for(error, 3, now=400.0) >= 600.0
