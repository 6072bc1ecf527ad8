"""The breaker as a state machine, against a plain model of what it promises."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from memory_os.llm.breaker import COOL_FIRST_S, COOL_MAX_S, FAILURES, Breaker, BreakerState


class BreakerMachine(RuleBasedStateMachine):
    """Calls that end well, badly, or are cancelled, at any time; at most one may be out while it is half-open."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = Breaker()
        self.now = 1000.0
        self.probes = 0
        self.failed_in_a_row = 0

    @rule(seconds=st.floats(0, 700))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(end=st.sampled_from(["ok", "failed", "cancelled", "running"]), asked=st.none() | st.floats(0, 2000))
    def call(self, end: str, asked: float | None) -> None:
        state = self.breaker.state(self.now)
        admitted = self.breaker.admit(self.now)
        assert admitted == (state is BreakerState.CLOSED or (state is BreakerState.HALF_OPEN and self.probes == 0))
        if not admitted:
            return
        probe = state is BreakerState.HALF_OPEN
        if end == "running":
            self.probes += probe
            return
        self._end(end, asked, probe)

    @rule(end=st.sampled_from(["ok", "failed", "cancelled"]), asked=st.none() | st.floats(0, 2000))
    def probe_ends(self, end: str, asked: float | None) -> None:
        if self.probes:
            self.probes -= 1
            self._end(end, asked, True)

    def _end(self, end: str, asked: float | None, probe: bool) -> None:
        if end == "ok":
            self.breaker.succeeded()
            self.failed_in_a_row = self.probes = 0
            assert self.breaker.state(self.now) is BreakerState.CLOSED
        elif end == "failed":
            self.breaker.failed(self.now, asked)
            self.failed_in_a_row += 1
            if probe or self.failed_in_a_row >= FAILURES:
                assert self.breaker.state(self.now) is BreakerState.OPEN
                cool = self.breaker.open_until - self.now
                assert COOL_FIRST_S <= cool <= max(COOL_MAX_S, asked or 0.0) + 1e-6
                assert asked is None or cool >= asked - 1e-6
        elif probe:
            self.breaker.abandoned()

    @invariant()
    def closed_before_enough_failures(self) -> None:
        if self.failed_in_a_row < FAILURES and not self.breaker.openings:
            assert self.breaker.state(self.now) is BreakerState.CLOSED


TestBreaker = BreakerMachine.TestCase


def test_each_failed_probe_doubles_the_pause_up_to_ten_minutes() -> None:
    breaker, now, pauses = Breaker(), 0.0, []
    for _ in range(FAILURES):
        breaker.failed(now)
    for _ in range(7):
        pauses.append(breaker.open_until - now)
        now = breaker.open_until
        assert breaker.admit(now) and not breaker.admit(now)
        breaker.failed(now)
    assert pauses == [30, 60, 120, 240, 480, 600, 600]


def test_a_late_failure_of_an_older_call_does_not_lengthen_the_pause() -> None:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker.failed(0.0)
    until = breaker.open_until
    breaker.failed(10.0, 500.0)
    assert breaker.open_until == until
