"""Trust as a Beta posterior over "this fact holds", from evidence that fades.

The model is the Beta-Bernoulli conjugate pair (Gelman et al., Bayesian Data Analysis, 3rd ed., section 2.4): prior
Beta(2, 2), each observation adds its weight to one of the two parameters. Evidence fades exponentially toward the prior
(a discounted or "forgetting" conjugate update: West & Harrison, Bayesian Forecasting and Dynamic Models, section 6.3):
after one half-life an observation counts half. Because fading is linear, two sums with one time stamp say all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

PRIOR_ALPHA = 2.0
PRIOR_BETA = 2.0

# What one observation weighs. An explicit verdict is one Bernoulli trial; everything inferred is a fraction of one.
FEEDBACK = 1.0
RESTATEMENT = 0.5
OBSERVED_CONTRADICTION = 0.4
OBSERVED_USE = 0.2
# A recorded contradiction says that one of two is wrong, not which.
MUTUAL_CONTRADICTION = 0.25

# A wished-for change of the mean never buys more certainty than this much evidence.
ADJUSTMENT_MAX = 20.0

INTERVAL = 0.90
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Weighted observations for and against, as they counted at `at` (epoch seconds)."""

    support: float = 0.0
    against: float = 0.0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Posterior:
    """Beta(alpha, beta)."""

    alpha: float
    beta: float

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha + self.beta)

    def interval(self, level: float = INTERVAL) -> tuple[float, float]:
        """The equal-tailed credible interval, e.g. the 5 % and 95 % quantiles for 0.90."""
        tail = (1 - level) / 2
        return beta_quantile(tail, self.alpha, self.beta), beta_quantile(1 - tail, self.alpha, self.beta)


def faded(evidence: Evidence, now: float, half_life_days: float) -> Evidence:
    """The evidence as it counts at `now`: halved each half-life. A clock that went back fades nothing."""
    factor = _fading(evidence.at, now, half_life_days)
    return Evidence(evidence.support * factor, evidence.against * factor, max(now, evidence.at))


def observed(evidence: Evidence, *, support: float = 0.0, against: float = 0.0, now: float,
             half_life_days: float) -> Evidence:  # fmt: skip
    """The conjugate update: faded evidence plus the new weights."""
    before = faded(evidence, now, half_life_days)
    return Evidence(before.support + max(support, 0.0), before.against + max(against, 0.0), before.at)


def withdrawn(evidence: Evidence, *, support: float = 0.0, against: float = 0.0, given_at: float, now: float,
              half_life_days: float) -> Evidence:  # fmt: skip
    """The evidence without an observation made at `given_at`: what is left of its weight is taken off."""
    before = faded(evidence, now, half_life_days)
    left = _fading(given_at, before.at, half_life_days)
    return Evidence(
        max(before.support - support * left, 0.0), max(before.against - against * left, 0.0), before.at
    )  # fmt: skip


def posterior(evidence: Evidence, now: float, half_life_days: float) -> Posterior:
    current = faded(evidence, now, half_life_days)
    return Posterior(PRIOR_ALPHA + current.support, PRIOR_BETA + current.against)


def weights_for_shift(current: Posterior, delta: float) -> tuple[float, float]:
    """(support, against) that move the mean by `delta`, the target held inside [0.05, 0.95].

    Solves (alpha + w) / (alpha + beta + w) = mean + delta for w, and likewise downward; w is at most ADJUSTMENT_MAX.
    """
    target = min(max(current.mean + delta, 0.05), 0.95)
    total = current.alpha + current.beta
    if delta > 0 and target > current.mean:
        return min(total * (target - current.mean) / (1 - target), ADJUSTMENT_MAX), 0.0
    if delta < 0 and target < current.mean:
        return 0.0, min(total * (current.mean - target) / target, ADJUSTMENT_MAX)
    return 0.0, 0.0


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, alpha: float, beta: float) -> float:
    """The x with P(X <= x) = probability for X ~ Beta(alpha, beta), by bisection to 1e-10."""
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"probability is {probability}; it lies in [0, 1]")
    low, high = 0.0, 1.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        if beta_cdf(middle, alpha, beta) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_cdf(x: float, alpha: float, beta: float) -> float:
    """The regularized incomplete beta function I_x(alpha, beta), for positive alpha and beta.

    Continued fraction DLMF 8.17.22, on the side of the mean where it converges fast, by symmetry 8.17.4.
    """
    if alpha <= 0 or beta <= 0:
        raise ValueError(f"Beta({alpha}, {beta}) needs positive parameters")
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    log_front = (
        math.lgamma(alpha + beta) - math.lgamma(alpha) - math.lgamma(beta)
        + alpha * math.log(x) + beta * math.log1p(-x)
    )  # fmt: skip
    front = math.exp(log_front)
    if x < (alpha + 1) / (alpha + beta + 2):
        return front * _continued_fraction(x, alpha, beta) / alpha
    return 1.0 - front * _continued_fraction(1.0 - x, beta, alpha) / beta


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluated by the modified Lentz algorithm (Thompson & Barnett 1986)."""
    tiny = 1e-300
    c = 1.0
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0), tiny)
    result = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d, tiny)
            c = _away_from_zero(1.0 + term / c, tiny)
            step = c * d
            result *= step
        if abs(step - 1.0) < 1e-14:
            break
    return result


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


def _fading(since: float, now: float, half_life_days: float) -> float:
    return float(0.5 ** (max(now - since, 0.0) / (half_life_days * DAY_S)))
