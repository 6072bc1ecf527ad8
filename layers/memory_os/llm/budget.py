"""Model units: what calls cost, and what may still be spent today. Pure.

A unit is what a thousand input tokens cost of a model priced 1: units = (alpha x input + beta x output) / 1000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Protocol

DAY_S = 86_400.0


class Priced(Protocol):
    """alpha and beta of one model."""

    @property
    def input(self) -> float: ...

    @property
    def output(self) -> float: ...


class Means(Enum):
    """What a budget still allows."""

    FULL = "full"
    LIGHT = "light"
    SPENT = "spent"


@dataclass(frozen=True, slots=True)
class Account:
    """One budget: its limit and what was spent of it, in units. A limit of None is none."""

    limit: float | None
    spent: float


def units(price: Priced, input_tokens: float, output_tokens: float) -> float:
    return (price.input * input_tokens + price.output * output_tokens) / 1000.0


def price_of(model: str, prices: Mapping[str, Priced], default: Priced) -> Priced:
    """The first pattern, in the order of the table, that matches the model's name; case does not count."""
    return next((price for pattern, price in prices.items() if fnmatchcase(model.lower(), pattern.lower())), default)


def means(accounts: list[Account], cost: float, light_from: float) -> Means:
    """What may be done when a call costs up to `cost`: the tightest of the accounts decides."""
    limits = [account for account in accounts if account.limit is not None]
    if any(account.spent + cost > (account.limit or 0.0) for account in limits):
        return Means.SPENT
    if any(account.spent + cost > light_from * (account.limit or 0.0) for account in limits):
        return Means.LIGHT
    return Means.FULL


def day_start(now: float) -> float:
    """The beginning of the day, UTC, so that machines that share a budget agree."""
    return now - now % DAY_S
