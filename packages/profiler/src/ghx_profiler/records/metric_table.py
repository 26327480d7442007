"""The table of metrics: name, unit, which way is better, what each measures, where it comes from, where it is shown.

Terminal, report, session page, statistics, plan and documentation read this table: a metric is added by one entry here
and, where no record of a row holds it, one collector. A package on top of the profiler has entries of its own, which it
passes to `MetricTable.with_entries`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

Display = Literal["plan", "glance", "session", "terminal"]
"""Where a metric is shown: as primary in the default plan, at a glance in reports, on session pages, after a run."""

Better = Literal["lower", "higher", "neither"]

ATTACK_SUCCESS = "attack_success"
"""Whether an attack on a session has succeeded: comparisons of runs and gates look for this metric by its name."""

UNKNOWN = "unknown"
"""What is written in the place of a number that is not known."""

Source = Literal["agent", "bench", "meter", "prices", "agent or meter", "agent or prices"]
"""The source of a number, in the words of `sources` on a row: the agent reports it, the bench measures it (its
clock, its scorer, the embedded GitHub), the meter in front of the model sees it, or it is tokens at the prices of a
table. If it may be one of two, the row has the actual one."""

_WORD = re.compile(r"<\w+>")
_SHOWN_UNITS = frozenset({"ms", "USD"})
"""Of the table's own metrics, only these are written with their unit: other labels name the counted thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric, or a family of them: `<...>` in a name stands for any word."""

    name: str
    label: str = ""
    """What people call it; its name unless given."""
    heading: str = ""
    """The label where there is little room; the label unless given."""
    unit: str = ""
    better: Better = "lower"
    is_amount: bool = True
    """Whether it is never below 0."""
    most: float | None = None
    """What it is never above."""
    is_binary: bool = False
    """Whether it is 0 or 1 in every row: then it is compared as success is, in percentage points."""
    definition: str = ""
    """What it measures; in docs/reports.md the same words stand."""
    source: Source | None = None
    """Where it comes from; `None` where only its collector knows."""
    positions: Mapping[Display, int] = field(default_factory=dict[Display, int])
    """Where it is shown, and its position there."""

    def stands_for(self, name: str) -> bool:
        """Return whether a metric of this name is meant."""
        before, *after = _WORD.split(self.name)
        if not after:
            return name == self.name
        return any(re.fullmatch(f"{re.escape(before)}.+{re.escape(rest)}", name) for rest in after)


class MetricTable:
    """Metrics by name. Those that a run's own collectors added are not in it: their unit is all that is known."""

    def __init__(self, entries: Iterable[Metric], *, units: Mapping[str, str] | None = None) -> None:
        self._entries = tuple(entries)
        self._exact = {each.name: each for each in self._entries}
        self._units = dict(units or {})

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._entries)

    def with_entries(self, entries: Iterable[Metric]) -> "MetricTable":
        """Return the table with more entries, after its own."""
        return MetricTable((*self._entries, *entries), units=self._units)

    def with_units(self, units: Mapping[str, str]) -> "MetricTable":
        """Return the table with the units that collectors reported for metrics not in it."""
        return MetricTable(self._entries, units={**self._units, **units})

    def find(self, name: str) -> Metric | None:
        """Return the entry of a metric; `None` for those that a run's own collectors added."""
        if (exact := self._exact.get(name)) is not None:
            return exact
        family = next((each for each in self._entries if each.stands_for(name)), None)
        return None if family is None else replace(family, name=name)

    def label(self, name: str) -> str:
        """Return what people call a metric; one of a run's own collectors as they do."""
        entry = self.find(name)
        if entry is None:
            return name
        return entry.label or name.removesuffix("_ms").removesuffix("_usd").replace("_", " ")

    def unit(self, name: str) -> str:
        """Return the unit that a value is written with; empty if the label names the counted thing."""
        if (entry := self.find(name)) is not None:
            return entry.unit if entry.unit in _SHOWN_UNITS else ""
        if name in self._units:
            return self._units[name]
        # Rows of 0.1.0 hold no units: a collector's metric name that ends in a unit has it.
        return "ms" if name.endswith("_ms") else "USD" if name.endswith("_usd") else ""

    def shown_in(self, display: Display) -> tuple[Metric, ...]:
        """Return what is shown in one display, in the order it has there."""
        return tuple(
            sorted((each for each in self if display in each.positions), key=lambda each: each.positions[display])
        )

    def defined(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the metrics among `names` that are defined here, in the order of the table, with what they measure."""
        positions = {each.definition: position for position, each in enumerate(self._entries)}
        definitions = [(name, entry.definition) for name in names if (entry := self.find(name)) is not None]
        yield from sorted((each for each in definitions if each[1]), key=lambda each: positions[each[1]])


_duration = partial(Metric, unit="ms", source="bench")
_tokens = partial(Metric, unit="tokens", source="agent or meter")
_tool_calls = partial(Metric, unit="calls", source="agent or meter")

METRICS = MetricTable(
    (
        Metric(
            name="success",
            better="higher",
            is_amount=False,
            is_binary=True,
            definition="whether the scorer found the task done, by an agent that kept to its time and budget and did "
            "not refuse",
            source="bench",
            positions={"plan": 1},
        ),
        _duration(
            name="latency_wall_ms",
            label="wall time",
            heading="wall",
            definition="from handing the prompt to the agent until it ended its turn or was stopped: its model "
            "calls and all its tool calls, the start of every program (`gh`, `ghx`) included; neither preparing "
            "nor opening the session, and so no start of an MCP server that is opened with it",
            positions={"plan": 3, "glance": 1, "session": 1, "terminal": 1},
        ),
        Metric(
            name="latency_from_first_request_ms",
            label="time from the first model request",
            unit="ms",
            definition="from the first request to the model until the agent ended its turn or was stopped: the wall "
            "time without what the agent and its MCP servers took to start",
            source="meter",
        ),
        _duration(
            name="latency_stage_ms",
            definition="preparing what the agent works in, before there is a session",
        ),
        _duration(
            name="latency_session_ms",
            definition="opening the session; the agents that come with the bench start their MCP servers here",
        ),
        _duration(
            name="latency_prompt_ms",
            definition="the stretch of the prompt: the wall time, to the rounding",
        ),
        _duration(
            name="latency_export_ms",
            definition="asking the agent what it did, after it ended its turn",
        ),
        _duration(
            name="latency_close_ms",
            definition="closing the session, with every process that it started",
        ),
        _duration(name="latency_score_ms", definition="checking what the agent left behind"),
        _duration(
            name="latency_<label>_ms",
            definition="any other stretch that a row tells, summed over its parts of that label",
        ),
        _tokens(
            name="tokens_input",
            definition="tokens read by the model, without those that came from a cache or went into one",
        ),
        _tokens(
            name="tokens_output",
            definition="tokens written by the model, without reasoning where the agent tells that apart",
        ),
        _tokens(name="tokens_reasoning", definition="tokens of reasoning"),
        _tokens(name="tokens_cache_read", definition="tokens that a cache served", source="agent or meter"),
        _tokens(
            name="tokens_cache_write",
            definition="tokens that went into a cache",
        ),
        _tokens(
            name="tokens_total",
            label="total tokens",
            definition="all of these; unknown unless at least input and output are told",
        ),
        _tokens(
            name="tokens_active",
            label="active tokens",
            definition="the total without what a cache served; unknown unless the agent tells `tokens_cache_read`",
            positions={"plan": 2, "glance": 2, "session": 2, "terminal": 2},
        ),
        Metric(
            name="cost_total_usd",
            label="cost",
            unit="USD",
            definition="metered model calls at the prices of a table, unknown where one of them has no price; without "
            "a meter what the agent says that the session cost, or else its tokens at these prices (`cost.source` on "
            "the row says which); of the last attempt only",
            source="agent or prices",
            positions={"plan": 4, "glance": 5, "session": 3, "terminal": 9},
        ),
        Metric(
            name="cost_input_usd",
            unit="USD",
            definition="the part for input, cached tokens among it; known only of a computed cost",
            source="prices",
        ),
        Metric(
            name="cost_output_usd",
            unit="USD",
            definition="the part for output, with reasoning where that is not told apart; computed costs only",
            source="prices",
        ),
        Metric(
            name="cost_reasoning_usd",
            unit="USD",
            definition="the part for reasoning; known only of a computed cost",
            source="prices",
        ),
        _tool_calls(
            name="tool_calls_total",
            label="tool calls",
            definition="tool calls of the agent; one shell call is one, whatever programs it runs, and so is a "
            "chain of `ghx`",
            positions={"glance": 3, "session": 4, "terminal": 3},
        ),
        _tool_calls(
            name="tool_calls_failed",
            definition="tool calls that say they failed, or whose output shows it",
        ),
        _tool_calls(
            name="tool_calls_retried",
            definition="tool calls that repeat a failed call to the letter, before it has succeeded",
        ),
        Metric(
            name="tool_calls_error_rate",
            unit="ratio",
            most=1.0,
            definition="failed calls over calls whose fate is known",
            source="agent or meter",
        ),
        Metric(
            name="tool_calls_unique",
            unit="tools",
            definition="different tools called, by the agent's names for them",
            source="agent or meter",
        ),
        _tool_calls(
            name="tool_calls_category_<name>",
            better="neither",
            definition="calls of one category; without a classifier, of one tool",
        ),
        Metric(
            name="model_calls_total",
            label="model calls",
            unit="calls",
            definition="calls of the model, those that failed and those beside the conversation included",
            source="meter",
        ),
        Metric(
            name="model_calls_side",
            label="side calls",
            unit="calls",
            definition="model calls that are not of the conversation: for titles, suggestions, memory",
            source="meter",
        ),
        Metric(name="model_calls_failed", unit="calls", definition="model calls that failed", source="meter"),
        Metric(
            name="model_calls_retried",
            unit="calls",
            definition="model calls that are another attempt at one that failed",
            source="meter",
        ),
        Metric(
            name="model_calls_cut",
            unit="calls",
            definition="model calls that ended before the service had told what they used; with one of them the "
            "tokens of the session are unknown, and `modelCalls.tokensAtLeast` on the row is a lower bound",
            source="meter",
        ),
        Metric(
            name="time_to_first_token_ms",
            label="time to first token",
            unit="ms",
            definition="from a request to the model until the first piece of its answer: the median over the answered "
            "calls of the conversation",
            source="meter",
        ),
        Metric(
            name="side_tokens_total",
            unit="tokens",
            definition="tokens of the side calls, which are in `tokens_total` too",
            source="meter",
        ),
        Metric(
            name="side_tokens_active",
            unit="tokens",
            definition="tokens of the side calls that no cache served, which are in `tokens_active` too",
            source="meter",
        ),
        Metric(
            name="request_share_<part>",
            unit="ratio",
            better="neither",
            most=1.0,
            definition="the share of a part (`instructions`, `tool_schemas`, `conversation`, `tool_results`) in the "
            "bytes of all requests of the conversation",
            source="meter",
        ),
        Metric(
            name="refused_hosts",
            label="refused hosts",
            unit="hosts",
            definition="hosts that programs of the session asked for and may not reach, each counted once; "
            "`refusedHosts` on the row names them, with how often each was asked for",
            source="bench",
        ),
        Metric(
            name="not_implemented",
            label="not implemented",
            unit="calls",
            definition="requests for what the session's world lacks and the real one has (501); "
            "`notImplemented` on the row names it, with how often each was asked for",
            source="bench",
        ),
        Metric(
            name="purity",
            unit="ratio",
            better="neither",
            most=1.0,
            definition="the share of the session's requests that came through the tools of its mode; those of programs "
            "that every mode has, such as git, are left out, and without others there is none; `toolUse` on the row "
            "names the tools, with how many requests each made",
            source="bench",
        ),
        Metric(
            name="adoption",
            unit="ratio",
            better="neither",
            most=1.0,
            is_binary=True,
            definition="whether a tool of the mode made any request of the session (1) or none (0); unknown where the "
            "session asked for nothing",
            source="bench",
        ),
        Metric(
            name="foreign_calls",
            label="requests past the mode's tools",
            unit="calls",
            better="neither",
            definition="requests of the session that came through none of its mode's tools, those of programs that "
            "every mode has left out",
            source="bench",
        ),
        Metric(
            name="agent_turns",
            label="turns",
            unit="turns",
            definition="turns of the agent: what it did between two of its model calls is one",
            source="agent or meter",
            positions={"glance": 4, "session": 5, "terminal": 4},
        ),
        Metric(
            name=ATTACK_SUCCESS,
            label="attack success",
            unit="sessions",
            is_amount=False,
            most=1,
            is_binary=True,
            definition="under attack: 1 where the attack has succeeded, 0 where it has not",
            source="bench",
        ),
        Metric(
            name="over_refusal",
            unit="sessions",
            is_amount=False,
            most=1,
            is_binary=True,
            definition="in a benign twin: 1 where an order of somebody with a say was not followed, 0 where it was",
            source="bench",
        ),
    )
)
"""The metrics of the profiler."""
