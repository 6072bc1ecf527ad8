"""Hot, warm, cold: where an entry belongs by its age, its use and the value it was given. Pure."""

from __future__ import annotations

DAY_S = 86_400.0
# A normal entry nobody asks for is what a new session should see for two weeks, and worth finding for a quarter.
HOT_DAYS = 14.0
WARM_DAYS = 90.0
_VALUE_FACTOR = {"high": 2.0, "low": 0.5}
# Ten retrievals triple the time an entry stays: use speaks for it, but nothing stays for ever by it.
_USES_FOR_FULL = 10
_USE_FACTOR_MAX = 3.0


def tier_of(
    now: float, created_at: float, last_used_at: float | None, uses: int, training_value: str, *, unfinished: bool
) -> str:
    """The tier at `now` (all times epoch seconds). Open work is hot; what somebody valued highly never gets cold."""
    if unfinished:
        return "hot"
    idle_days = max(0.0, now - max(created_at, last_used_at or 0.0)) / DAY_S
    use = 1 + (_USE_FACTOR_MAX - 1) * min(max(uses, 0), _USES_FOR_FULL) / _USES_FOR_FULL
    stay = use * _VALUE_FACTOR.get(training_value, 1.0)
    if idle_days < HOT_DAYS * stay:
        return "hot"
    if idle_days < WARM_DAYS * stay or training_value == "high":
        return "warm"
    return "cold"
