"""Statistics that name their target: pure, seeded, and without numpy until one of them is used.

The names below are loaded on first use (PEP 562): commands that only read a plan start without numpy.
"""

from typing import TYPE_CHECKING

from ghx_base.lazy import lazy_exports

if TYPE_CHECKING:  # numpy costs start-up time: the modules behind these names load with the first use
    from ghx_profiler.stats.comparison import compare_all_modes as compare_all_modes
    from ghx_profiler.stats.comparison import compare_modes as compare_modes
    from ghx_profiler.stats.methods.descriptive import cliffs_delta as cliffs_delta
    from ghx_profiler.stats.methods.descriptive import clustered_mean as clustered_mean
    from ghx_profiler.stats.methods.descriptive import clustered_standard_error as clustered_standard_error
    from ghx_profiler.stats.methods.descriptive import compute_descriptive as compute_descriptive
    from ghx_profiler.stats.methods.descriptive import median_interval as median_interval
    from ghx_profiler.stats.methods.drift import drift_over_run as drift_over_run
    from ghx_profiler.stats.methods.multiplicity import benjamini_hochberg as benjamini_hochberg
    from ghx_profiler.stats.methods.multiplicity import holm as holm
    from ghx_profiler.stats.methods.noise import assumed_amounts as assumed_amounts
    from ghx_profiler.stats.methods.noise import assumed_rates as assumed_rates
    from ghx_profiler.stats.methods.noise import pilot_components as pilot_components
    from ghx_profiler.stats.methods.sample_size import plan_sample_size as plan_sample_size
    from ghx_profiler.stats.observations import Observations as Observations
    from ghx_profiler.stats.observations import observe as observe
    from ghx_profiler.stats.plan import AnalysisPlan as AnalysisPlan
    from ghx_profiler.stats.result_records import ModeComparison as ModeComparison
    from ghx_profiler.stats.result_records import ModeSummary as ModeSummary
    from ghx_profiler.stats.success import clustered_wilson_interval as clustered_wilson_interval
    from ghx_profiler.stats.success import pass_at_k as pass_at_k
    from ghx_profiler.stats.success import pass_curve as pass_curve
    from ghx_profiler.stats.success import pass_hat_k as pass_hat_k
    from ghx_profiler.stats.success import wilson_interval as wilson_interval
    from ghx_profiler.stats.summary import cost_per_success as cost_per_success
    from ghx_profiler.stats.summary import summarize_metric as summarize_metric
    from ghx_profiler.stats.summary import summarize_modes as summarize_modes
    from ghx_profiler.stats.summary import summarize_success as summarize_success

__getattr__, __dir__ = lazy_exports(__name__, extra="report")
