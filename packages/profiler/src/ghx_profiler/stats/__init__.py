"""Statistics that name their target: pure, seeded, and without numpy until one of them is used.

The names below are found when they are asked for (PEP 562): commands that only read a plan start without numpy.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # numpy costs start-up time: the modules behind these names load with the first use
    from ghx_profiler.stats.comparison import compare_all_modes, compare_modes
    from ghx_profiler.stats.methods.descriptive import (
        cliffs_delta,
        clustered_mean,
        clustered_standard_error,
        compute_descriptive,
        median_interval,
    )
    from ghx_profiler.stats.methods.drift import drift_over_run
    from ghx_profiler.stats.methods.multiplicity import benjamini_hochberg, holm
    from ghx_profiler.stats.methods.noise import assumed_amounts, assumed_rates, pilot_components
    from ghx_profiler.stats.methods.sample_size import plan_sample_size
    from ghx_profiler.stats.observations import Observations, observe
    from ghx_profiler.stats.plan import AnalysisPlan
    from ghx_profiler.stats.result_records import ModeComparison, ModeSummary
    from ghx_profiler.stats.success import (
        clustered_wilson_interval,
        pass_at_k,
        pass_curve,
        pass_hat_k,
        wilson_interval,
    )
    from ghx_profiler.stats.summary import cost_per_success, summarize_metric, summarize_modes, summarize_success

__all__ = [
    "AnalysisPlan",
    "ModeComparison",
    "ModeSummary",
    "Observations",
    "assumed_amounts",
    "assumed_rates",
    "benjamini_hochberg",
    "cliffs_delta",
    "clustered_mean",
    "clustered_standard_error",
    "clustered_wilson_interval",
    "compare_all_modes",
    "compare_modes",
    "compute_descriptive",
    "cost_per_success",
    "drift_over_run",
    "holm",
    "median_interval",
    "observe",
    "pass_at_k",
    "pass_curve",
    "pass_hat_k",
    "pilot_components",
    "plan_sample_size",
    "summarize_metric",
    "summarize_modes",
    "summarize_success",
    "wilson_interval",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "comparison": "compare_all_modes compare_modes",
        "methods.descriptive": "cliffs_delta clustered_mean clustered_standard_error compute_descriptive "
        "median_interval",
        "methods.drift": "drift_over_run",
        "methods.multiplicity": "benjamini_hochberg holm",
        "methods.noise": "assumed_amounts assumed_rates pilot_components",
        "observations": "Observations observe",
        "plan": "AnalysisPlan",
        "result_records": "ModeComparison ModeSummary",
        "methods.sample_size": "plan_sample_size",
        "success": "clustered_wilson_interval pass_at_k pass_curve pass_hat_k wilson_interval",
        "summary": "cost_per_success summarize_metric summarize_modes summarize_success",
    },
    extra="report",
)
