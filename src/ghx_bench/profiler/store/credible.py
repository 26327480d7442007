"""What of a row can be believed: the older packages wrote 0 for a cost that nobody had reckoned."""

from collections.abc import Mapping

from ghx_bench._base.wire import Number
from ghx_bench.profiler.metrics import Cost
from ghx_bench.profiler.row import ProfileRow


def known_cost(row: ProfileRow) -> Cost:
    """Return what a row knows of its cost; the row itself stays as it was written."""
    return Cost() if _has_made_up_cost(row) else row.cost


def known_metrics(row: ProfileRow) -> Mapping[str, Number]:
    """Return every number of a row that is known, by metric name, as the statistics see it."""
    told = row.known_metrics
    if not _has_made_up_cost(row):
        return told
    made_up = {metric.name for metric in row.cost.metrics()}
    return {name: value for name, value in told.items() if name not in made_up or name in row.metrics}


def _has_made_up_cost(row: ProfileRow) -> bool:
    """Say whether tokens were spent and cost nothing, in a file that had no way to say "unknown"."""
    if row.version is not None or row.cost.total_usd != 0:
        return False
    return any(metric.value for metric in row.tokens.metrics())
