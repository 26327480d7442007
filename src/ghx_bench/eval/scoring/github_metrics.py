"""The metrics that an evaluation adds to those of the profiler: what was asked of GitHub."""

from ghx_bench.profiler.metric_table import METRICS, Metric

EVAL_METRICS = METRICS.with_entries(
    (
        Metric(name="api_calls", heading="API calls", unit="calls", shown={"terminal": 5}),
        Metric(name="api_errors", unit="calls"),
        Metric(name="api_mutations", unit="calls"),
        Metric(name="api_bytes", unit="bytes"),
        Metric(name="api_<surface>_calls", unit="calls"),
        Metric(name="api_<surface>_errors", unit="calls"),
        Metric(name="api_<surface>_mutations", unit="calls"),
        Metric(name="api_<surface>_bytes", unit="bytes"),
    )
)
"""All metrics of an evaluation; docs/reports.md says what they measure."""
