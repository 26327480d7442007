import pytest
from pydantic import ValidationError

from ghx_profiler.stats import AnalysisPlan


def test_the_plan_reads_back_what_it_writes_in_the_spelling_of_config_files() -> None:
    given = {"target": "population", "alpha": 0.01, "margin_pct": 5.0, "primary": ["success"]}
    plan = AnalysisPlan.model_validate(given)

    assert plan.model_dump(mode="json", exclude_unset=True) == given
    assert AnalysisPlan.model_validate(plan.model_dump(mode="json")) == plan
    assert AnalysisPlan().primary == ("success", "tokens_active", "latency_wall_ms", "cost_total_usd")


@pytest.mark.parametrize(
    "wrong",
    [
        {"target": "world"},
        {"alpha": 0},
        {"alpha": 0.5},
        {"margin_pct": 0},
        {"margin_pct": float("inf")},
        {"primary": []},
        {"primary": ["success", "success"]},
        {"resamples": 10},
        {"power": 1},
        {"alfa": 0.05},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AnalysisPlan.model_validate(wrong)


def test_a_plan_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        AnalysisPlan().alpha = 0.1  # type: ignore[misc]
