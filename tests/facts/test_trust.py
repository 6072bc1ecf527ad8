from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_os.facts.trust import (
    ADJUSTMENT_MAX,
    DAY_S,
    FEEDBACK,
    OBSERVED_CONTRADICTION,
    OBSERVED_USE,
    RESTATEMENT,
    Evidence,
    Posterior,
    beta_cdf,
    beta_quantile,
    faded,
    observed,
    posterior,
    weights_for_shift,
    withdrawn,
)

parameters = st.floats(0.05, 200)
weights = st.floats(0, 50)
times = st.floats(0, 4e9)
half_lives = st.floats(1, 4000)


def test_a_new_fact_stands_at_one_half():
    assert posterior(Evidence(), 1e9, 180).mean == 0.5


def test_one_explicit_verdict_is_one_bernoulli_trial():
    up = observed(Evidence(at=1e9), support=FEEDBACK, now=1e9, half_life_days=180)
    assert posterior(up, 1e9, 180) == Posterior(3.0, 2.0)
    assert posterior(up, 1e9, 180).mean == pytest.approx(0.6)


def test_what_is_inferred_weighs_less_than_what_is_said():
    assert 0 < OBSERVED_USE < OBSERVED_CONTRADICTION < FEEDBACK
    assert 0 < RESTATEMENT < FEEDBACK


@pytest.mark.parametrize(
    ("x", "alpha", "beta", "expected"),
    [
        (0.3, 1, 1, 0.3),  # uniform
        (0.5, 2, 2, 0.5),  # symmetric
        (0.25, 2, 2, 3 * 0.25**2 - 2 * 0.25**3),  # closed form of Beta(2, 2)
        (0.2, 3, 1, 0.2**3),  # x^a for b = 1
        (0.2, 1, 4, 1 - 0.8**4),
        (0.9, 0.5, 0.5, 0.7951672353008665),  # arcsine law: 2/pi * asin(sqrt(x))
    ],
)
def test_the_incomplete_beta_function_has_its_known_values(x, alpha, beta, expected):
    assert beta_cdf(x, alpha, beta) == pytest.approx(expected, abs=1e-12)


def test_the_shown_interval_of_the_prior():
    # The root of 3x^2 - 2x^3 = 0.05.
    low, high = Posterior(2, 2).interval()
    assert 3 * low**2 - 2 * low**3 == pytest.approx(0.05, abs=1e-9)
    assert low == pytest.approx(1 - high, abs=1e-9)
    assert (round(low, 2), round(high, 2)) == (0.14, 0.86)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.001, 0.999))
def test_for_whole_numbers_it_is_a_binomial_tail(alpha, beta, x):
    # DLMF 8.17.5: I_x(a, n - a + 1) is the chance of at least a successes in n trials.
    trials = alpha + beta - 1
    tail = sum(comb(trials, k) * x**k * (1 - x) ** (trials - k) for k in range(alpha, trials + 1))
    assert beta_cdf(x, alpha, beta) == pytest.approx(tail, abs=1e-10)


@given(st.floats(0.001, 0.999), st.floats(0.5, 200), st.floats(0.5, 200))
def test_the_quantile_inverts_the_distribution(probability, alpha, beta):
    x = beta_quantile(probability, alpha, beta)
    assert 0 <= x <= 1
    # Bisection is to 1e-10 in x; where the density is steep that is more in probability.
    assert beta_cdf(x - 1e-9, alpha, beta) <= probability + 1e-9
    assert beta_cdf(x + 1e-9, alpha, beta) >= probability - 1e-9


@given(st.floats(0.01, 0.98), st.floats(0.001, 0.01), parameters, parameters)
def test_the_quantile_is_monotone_in_probability(probability, step, alpha, beta):
    assert beta_quantile(probability, alpha, beta) <= beta_quantile(probability + step, alpha, beta)


@given(st.floats(0.05, 0.95), st.floats(0.5, 100), st.floats(0.5, 100), st.floats(0.01, 10))
def test_support_moves_the_quantile_up_and_contradiction_down(probability, alpha, beta, more):
    here = beta_quantile(probability, alpha, beta)
    assert beta_quantile(probability, alpha + more, beta) >= here - 1e-9
    assert beta_quantile(probability, alpha, beta + more) <= here + 1e-9


@given(parameters, parameters)
def test_symmetry_of_the_interval(alpha, beta):
    low, high = Posterior(alpha, beta).interval()
    mirrored_low, mirrored_high = Posterior(beta, alpha).interval()
    assert low <= high
    assert low == pytest.approx(1 - mirrored_high, abs=1e-8)
    assert high == pytest.approx(1 - mirrored_low, abs=1e-8)


def test_more_evidence_makes_the_interval_narrower():
    def width(n: int) -> float:
        low, high = Posterior(2 + n, 2 + n).interval()
        return high - low

    assert width(0) > width(5) > width(50)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 1), (1, -1)])
def test_impossible_parameters_are_refused(alpha, beta):
    with pytest.raises(ValueError, match="positive"):
        beta_cdf(0.5, alpha, beta)


def test_an_impossible_probability_is_refused():
    with pytest.raises(ValueError, match="probability"):
        beta_quantile(1.5, 2, 2)


@given(weights, weights, times, half_lives)
def test_evidence_halves_each_half_life(support, against, at, half_life):
    later = faded(Evidence(support, against, at), at + half_life * DAY_S, half_life)
    assert later.support == pytest.approx(support / 2, rel=1e-4, abs=1e-9)
    assert later.against == pytest.approx(against / 2, rel=1e-4, abs=1e-9)


@given(weights, weights, half_lives, st.floats(0, 3000), st.floats(0, 3000))
def test_fading_moves_the_mean_toward_the_prior_and_never_past_it(support, against, half_life, days, more):
    evidence = Evidence(support, against, 0.0)
    sooner = posterior(evidence, days * DAY_S, half_life).mean
    later = posterior(evidence, (days + more) * DAY_S, half_life).mean
    assert min(sooner, 0.5) - 1e-9 <= later <= max(sooner, 0.5) + 1e-9


@given(weights, weights, half_lives, st.floats(0, 1000), st.floats(0, 1000))
def test_fading_in_two_steps_is_fading_in_one(support, against, half_life, first, second):
    evidence = Evidence(support, against, 0.0)
    once = faded(evidence, (first + second) * DAY_S, half_life)
    twice = faded(faded(evidence, first * DAY_S, half_life), (first + second) * DAY_S, half_life)
    assert twice.support == pytest.approx(once.support, rel=1e-6, abs=1e-9)
    assert twice.against == pytest.approx(once.against, rel=1e-6, abs=1e-9)


@given(weights, weights, times, st.floats(1, 1e9), half_lives)
def test_a_clock_that_goes_back_changes_nothing(support, against, at, back, half_life):
    evidence = Evidence(support, against, at)
    assert faded(evidence, at - back, half_life) == evidence


@given(weights, weights, st.floats(0.01, 5), st.floats(0, 700), st.floats(0, 700), half_lives)
def test_withdrawing_an_observation_takes_off_what_is_left_of_it(support, against, weight, first, second, half_life):
    start = Evidence(support, against, 0.0)
    given_at, now = first * DAY_S, (first + second) * DAY_S
    after = observed(start, support=weight, now=given_at, half_life_days=half_life)
    without = withdrawn(after, support=weight, given_at=given_at, now=now, half_life_days=half_life)
    expected = faded(start, now, half_life)
    assert without.support == pytest.approx(expected.support, rel=1e-6, abs=1e-6)
    assert without.against == pytest.approx(expected.against, rel=1e-6, abs=1e-6)


@given(st.floats(2, 100), st.floats(2, 100), st.floats(-1, 1))
def test_a_wished_shift_of_trust_is_met_unless_it_would_take_too_much_evidence(alpha, beta, delta):
    current = Posterior(alpha, beta)
    support, against = weights_for_shift(current, delta)
    moved = Posterior(alpha + support, beta + against).mean
    target = min(max(current.mean + delta, 0.05), 0.95)
    assert 0 <= support <= ADJUSTMENT_MAX
    assert 0 <= against <= ADJUSTMENT_MAX
    assert support == 0 or against == 0
    if max(support, against) < ADJUSTMENT_MAX and (target - current.mean) * delta > 0:
        assert moved == pytest.approx(target, abs=1e-9)
    if delta >= 0:
        assert against == 0
    else:
        assert support == 0
