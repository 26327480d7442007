"""Every statistic that statsmodels also has, against statsmodels."""

import warnings

import numpy as np
import pytest
from stats_rows import row, rows_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its own imports are not our business
    pytest.importorskip("statsmodels", reason="statsmodels is not installed")
    import statsmodels.api as sm
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.power import TTestPower
    from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint
    from statsmodels.stats.weightstats import ttost_paired

from ghx_profiler.stats import (
    AnalysisPlan,
    benjamini_hochberg,
    clustered_standard_error,
    compare_modes,
    drift_over_run,
    holm,
    wilson_interval,
)
from ghx_profiler.stats.methods.probability import detectable_shift, t_power

PLAN = AnalysisPlan(resamples=999)
POPULATION = AnalysisPlan(target="population", resamples=999)


def test_the_clustered_standard_error_is_that_of_a_regression_on_a_constant() -> None:
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(20), rng.integers(3, 9, 20))
    values = rng.normal(0, 1, 20)[clusters] + rng.normal(0, 0.5, clusters.size)

    fit = sm.OLS(values, np.ones(values.size)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )

    uncorrected = float(fit.bse[0])
    assert clustered_standard_error(values, clusters.tolist()) == pytest.approx(uncorrected * np.sqrt(20 / 19))


@pytest.mark.parametrize(("k", "n"), [(0, 5), (5, 5), (3, 7), (40, 100)])
def test_wilson(k: int, n: int) -> None:
    result = wilson_interval(k, n)

    assert (result.low, result.high) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)


@pytest.mark.slow
def test_holm_and_benjamini_hochberg() -> None:
    p = np.random.default_rng(1).uniform(1e-6, 1, 15) ** 3

    assert holm(p.tolist()) == pytest.approx(multipletests(p, method="holm")[1])
    assert benjamini_hochberg(p.tolist()) == pytest.approx(multipletests(p, method="fdr_bh")[1])


@pytest.mark.parametrize("n", [3, 6, 10, 40, 400])
def test_power_and_the_smallest_detectable_effect(n: int) -> None:
    power = TTestPower()

    assert t_power(2.0, n - 1, 0.05) == pytest.approx(power.power(2.0 / n**0.5, n, 0.05), abs=1e-5)
    expected = power.solve_power(nobs=n, alpha=0.05, power=0.8) * n**0.5
    assert detectable_shift(n - 1, 0.05, 0.8) == pytest.approx(expected, rel=1e-4)


def test_equivalence_on_tasks_like_these_is_a_paired_tost() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(5, 1, 12)
    b = a + rng.normal(0.01, 0.08, 12)
    rows = rows_of(
        {mode: {f"s{n:02}": [float(np.exp(v))] for n, v in enumerate(vs)} for mode, vs in (("a", a), ("b", b))}
    )

    result = compare_modes(rows, "a", "b", "latency_wall_ms", POPULATION).intention_to_treat.population

    margin = np.log(1.1)
    theirs = ttost_paired(b, a, -margin, margin)[0]
    assert result.equivalence.p == pytest.approx(theirs)


def test_success_once_per_scenario_is_mcnemars_exact_test() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(13) < 0.8, rng.random(13) < 0.4
    rows = rows_of({mode: {f"s{n:02}": [v] for n, v in enumerate(vs)} for mode, vs in (("a", a), ("b", b))}, "success")

    result = compare_modes(rows, "a", "b", "success", AnalysisPlan(resamples=9_999))

    table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
    assert "exact" in result.intention_to_treat.suite.method
    assert result.p == pytest.approx(mcnemar(table, exact=True).pvalue)


def test_always_against_never_has_newcombes_interval() -> None:
    rows = rows_of({"a": {"s1": [0] * 12}, "b": {"s1": [1] * 12}}, "success")

    result = compare_modes(rows, "a", "b", "success", PLAN)

    theirs = confint_proportions_2indep(12, 12, 0, 12, method="newcomb", compare="diff")
    assert (result.low, result.high) == pytest.approx(100 * np.array(theirs), abs=1e-6)


def test_drift_is_the_slope_of_a_regression_with_a_constant_for_each_scenario_and_mode() -> None:
    rng = np.random.default_rng(4)
    groups = rng.integers(0, 6, 60)
    values = np.exp(groups + 0.01 * np.arange(60) + rng.normal(0, 0.3, 60))
    rows = [
        row("ab"[group % 2], f"s{group // 2}", at, latency_wall_ms=float(value), startOrder=at)
        for at, (group, value) in enumerate(zip(groups, values, strict=True))
    ]

    result = drift_over_run(rows, "latency_wall_ms")

    dummies = (groups[:, None] == np.unique(groups)).astype(float)
    fit = sm.OLS(np.log(values), np.column_stack([np.arange(60), dummies])).fit()
    low, high = fit.conf_int()[0]
    assert result.p == pytest.approx(fit.pvalues[0])
    assert (result.change, result.low, result.high) == pytest.approx(
        tuple(100 * np.expm1(59 * each) for each in (fit.params[0], low, high))
    )
