"""How several sources stand to each other: parts of one comparison, or a before and an after."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

from ghx_bench.profiler.reports.errors import NothingToReportError
from ghx_bench.profiler.reports.inventory import Inventory, moment_of
from ghx_bench.profiler.reports.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Sources in the order in which they are compared."""

    sources: tuple[Source, ...]
    is_before_and_after: bool = False
    """Whether sources have modes in common, which are then compared from run to run."""
    is_by_time: bool = False
    """Whether the order is that in which the runs began, rather than that in which they were named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Glimpse:
    """What must be known of a source before its rows are read for the report."""

    source: Source
    run_ids: frozenset[str]
    modes: frozenset[str]
    began: datetime | None


def arrange(sources: Sequence[Source]) -> Arrangement:
    """Say how sources are compared; refuse a run that is named twice.

    Parts of one run may lie in several files as long as no two have a mode in common.
    """
    if len(sources) == 1:
        return Arrangement(sources=tuple(sources))
    glimpses = [_glimpse(source) for source in sources]
    for one, other in combinations(glimpses, 2):
        if one.modes & other.modes and (common := one.run_ids & other.run_ids):
            raise NothingToReportError(
                f"{other.source.rows_path}: has rows of run {min(common)}, as {one.source.rows_path} does; "
                "a run cannot be compared with itself, name each run once"
            )
    if not any(one.modes & other.modes for one, other in combinations(glimpses, 2)):
        return Arrangement(sources=tuple(sources))
    moments = [each.began for each in glimpses if each.began is not None]
    if len(set(moments)) < len(glimpses):
        return Arrangement(sources=tuple(sources), is_before_and_after=True)
    ordered = [source for _, source in sorted(zip(moments, sources, strict=True), key=lambda each: each[0])]
    return Arrangement(sources=tuple(ordered), is_before_and_after=True, is_by_time=True)


def _glimpse(source: Source) -> _Glimpse:
    """Look at what the run wrote down; only rows alone have to be read for it."""
    if (record := source.record) is not None:
        return _Glimpse(
            source=source,
            run_ids=frozenset({record.run_id}),
            modes=frozenset(record.matrix.modes),
            began=moment_of(record.created_at),
        )
    seen = Inventory.of(source.rows())
    return _Glimpse(source=source, run_ids=frozenset(seen.run_ids), modes=frozenset(seen.modes), began=seen.began)
