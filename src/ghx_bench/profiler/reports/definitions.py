"""What the metrics of the profiler measure, in words: for reports, and for the documentation, which says the same."""

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType

DEFINITIONS = MappingProxyType(
    {
        "success": "whether the scorer found the task done, by an agent that kept to its time and budget and did "
        "not refuse",
        "latency_wall_ms": "from handing the prompt to the agent until it ended its turn or was stopped: its model "
        "calls and all its tool calls, the start of every program (`gh`, `ghx`) included; neither preparing "
        "nor opening the session, and so no start of an MCP server that is opened with it",
        "latency_stage_ms": "preparing what the agent works in, before there is a session",
        "latency_session_ms": "opening the session; the agents that come with the bench start their MCP servers here",
        "latency_prompt_ms": "the stretch of the prompt: the wall time, to the rounding",
        "latency_export_ms": "asking the agent what it did, after it ended its turn",
        "latency_close_ms": "closing the session, with every process that it started",
        "latency_score_ms": "checking what the agent left behind",
        "latency_<label>_ms": "any other stretch that a row tells, summed over its parts of that label",
        "tokens_input": "tokens read by the model, without those that came from a cache or went into one",
        "tokens_output": "tokens written by the model, without reasoning where the agent tells that apart",
        "tokens_reasoning": "tokens of reasoning",
        "tokens_cache_read": "tokens that a cache served",
        "tokens_cache_write": "tokens that went into a cache",
        "tokens_total": "all of these; unknown unless at least input and output are told",
        "tokens_active": "the total without what a cache served; unknown unless the agent tells `tokens_cache_read`",
        "cost_total_usd": "what the agent says that the session cost, or else its tokens at the prices of a table "
        "(`cost.source` on the row says which); of the last attempt only",
        "cost_input_usd": "the part for input, cached tokens among it; known only of a computed cost",
        "cost_output_usd": "the part for output, with reasoning where that is not told apart; computed costs only",
        "cost_reasoning_usd": "the part for reasoning; known only of a computed cost",
        "tool_calls_total": "tool calls of the agent; one shell call is one, whatever programs it runs, and so is a "
        "chain of `ghx`",
        "tool_calls_failed": "those that say they failed, or whose output shows it",
        "tool_calls_retried": "those that repeat a failed call to the letter, before it has succeeded",
        "tool_calls_error_rate": "failed calls over calls whose fate is known",
        "tool_calls_unique": "different tools called, by the agent's names for them",
        "tool_calls_category_<name>": "calls of one category; without a classifier, of one tool",
        "agent_turns": "turns of the agent: what it did between two of its model calls is one",
    }
)
"""By the name of the metric; where a name stands in `<...>`, for every metric that has another word there."""

_WORD = re.compile(r"<\w+>")


def definition_of(metric: str) -> str | None:
    """Say what a metric measures; `None` for those that a run's own collectors added."""
    if metric in DEFINITIONS:
        return DEFINITIONS[metric]
    return next((words for name, words in DEFINITIONS.items() if _stands_for(name, metric)), None)


def defined(metrics: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield those metrics that are defined here, in the order of the definitions, with what they measure."""
    order = list(DEFINITIONS.values())
    found = [(metric, words) for metric in metrics if (words := definition_of(metric)) is not None]
    yield from sorted(found, key=lambda each: order.index(each[1]))


def _stands_for(name: str, metric: str) -> bool:
    """Say whether a metric is one of those that a name with `<...>` in it is about."""
    before, *rest = _WORD.split(name)
    return any(re.fullmatch(f"{re.escape(before)}.+{re.escape(after)}", metric) for after in rest)
