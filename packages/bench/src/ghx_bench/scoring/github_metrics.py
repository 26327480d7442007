"""The metrics that an evaluation adds to those of the profiler: requests to GitHub."""

from ghx_profiler.records.metric_table import METRICS, Metric

EVAL_METRICS = METRICS.with_entries(
    (
        Metric(
            name="api_calls",
            heading="API calls",
            unit="calls",
            definition="requests: REST, GraphQL and git over HTTP, those of MCP servers and of programs alike",
            source="bench",
            positions={"terminal": 5},
        ),
        Metric(
            name="api_errors",
            unit="calls",
            definition="requests answered with 4xx or 5xx, or by GraphQL with errors",
            source="bench",
        ),
        Metric(
            name="api_faults",
            unit="calls",
            definition="requests that met a fault which the scenario asks for; those answered with an error are among "
            "`api_errors` as well",
            source="bench",
        ),
        Metric(name="api_mutations", unit="calls", definition="requests that changed something", source="bench"),
        Metric(
            name="api_bytes",
            unit="bytes",
            definition="bytes of requests and answers, without headers",
            source="bench",
        ),
        Metric(
            name="api_<surface>_calls",
            unit="calls",
            definition="requests in one way of asking: `rest`, `graphql` or `git`",
            source="bench",
        ),
        Metric(
            name="api_<surface>_errors",
            unit="calls",
            definition="requests in one way of asking that were answered with an error",
            source="bench",
        ),
        Metric(
            name="api_<surface>_faults",
            unit="calls",
            definition="requests in one way of asking that met a fault which the scenario asks for",
            source="bench",
        ),
        Metric(
            name="api_<surface>_mutations",
            unit="calls",
            definition="requests in one way of asking that changed something",
            source="bench",
        ),
        Metric(
            name="api_<surface>_bytes",
            unit="bytes",
            definition="bytes of the requests and answers of one way",
            source="bench",
        ),
    )
)
"""All metrics of an evaluation."""
