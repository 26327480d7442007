"""How much an agent thought, when, and what about."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ghx_profiler.analyzers.finding_shapes import listed, number, or_unknown, ratio, result, word
from ghx_profiler.analyzers.session_view import Call, SessionView, read_session
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.analysis import AnalysisResult
from ghx_profiler.records.trace import ReasoningEvent
from ghx_profiler.shell import CommandResolver, resolve_command

_LONGEST = 160
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_DECIDES = re.compile(
    r"\b(?:I(?:'ll| will| should| need to|'m going to| am going to| can| decided)|let me|let's"
    r"|we (?:should|need to|can)|(?:best|next|plan|approach|simplest)\b.{0,20}\bis\b|instead|going to"
    r"|plan(?:ning)? to|decid(?:e|ed|ing))\b",
    re.IGNORECASE,
)
_CONFUSED = re.compile(
    r"^\W*(?:wait\b(?=\W*$|[,.!:;-]| —| that| I\b| is| no)|hmm+\b|huh\b|oops\b|actually, (?:no|wait|that))"
    r"|\bI(?:'m| am) (?:not sure|unsure|confused|lost|stuck|puzzled|uncertain)\b"
    r"|\b(?:is|seems|was|it's|that's) (?:unclear|confusing|odd|strange|weird|puzzling|unexpected)\b"
    r"|\bnot sure (?:why|what|how|if|whether|which)\b|\bdon't (?:understand|know) (?:why|what|how)\b"
    r"|\bdoesn't make sense\b|\bmakes no sense\b|\bI (?:made a mistake|misread|misunderstood|was wrong)\b"
    r"|\bthat (?:didn't|did not) work\b|\bwhy (?:is|does|did) (?:this|that|it)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReasoningAnalyzer:
    """Reads what the agent thought aloud; of an agent that shows no thoughts little is known.

    - `reasoning_density`: reasoning tokens / all tokens of the session.
    - `reasoning_per_tool_call`: reasoning tokens for each tool call.
    - `planning_quality`: *proactive* if at least half of the thoughts, by their length, come before the first tool
      call; *reactive* if none does, or if at least half come right after a failure; *mixed* otherwise. Not known where
      the agent shows no thoughts.
    - `key_decisions`: for each thought its headline, or else the first sentence that decides something, or else its
      first sentence.
    - `confusion_signals`: sentences in which the agent admits confusion or a mistake.
    """

    resolve: CommandResolver = resolve_command

    @property
    def name(self) -> str:
        """The name of its results."""
        return "reasoning"

    def analyze(self, evidence: Evidence[Any]) -> AnalysisResult:
        """Return what is known of the agent's reasoning."""
        view = read_session(evidence, self.resolve)
        tokens = view.trace.summary.total_tokens
        thoughts = [each for each in view.events if isinstance(each, ReasoningEvent) and each.content.strip()]
        density = ratio(tokens.reasoning, tokens.total, "reasoning tokens / total tokens")
        calls = view.total_calls
        per_call = None if tokens.reasoning is None or not calls else tokens.reasoning / calls
        signals = [sentence for thought in thoughts for sentence in _sentences(thought) if _CONFUSED.search(sentence)]
        findings = {
            "reasoning_density": density,
            "reasoning_per_tool_call": number(per_call, "tokens/tool_call"),
            "planning_quality": word(_planning(view)),
            "key_decisions": listed(map(_decision, thoughts)),
            "confusion_signals": listed(map(_shorten, signals)),
        }
        percent = "unknown" if density.value is None else f"{100 * density.value:.1f}%"
        counts = (or_unknown(len(each) if view.has_content else None) for each in (thoughts, signals))
        summary = "{} reasoning events, {} confusion signals".format(*counts)
        return result(self.name, findings, f"Reasoning density: {percent}, {summary}")


def _planning(view: SessionView) -> str | None:
    total = before_calls = after_failures = 0
    last_call: Call | None = None
    for each in view.events:
        if isinstance(each, Call):
            last_call = each
        elif isinstance(each, ReasoningEvent):
            length = len(each.content.strip())
            total += length
            before_calls += length if last_call is None else 0
            after_failures += length if last_call is not None and last_call.outcome.failed else 0
    if not total:
        return None
    if 2 * before_calls >= total:
        return "proactive"
    return "reactive" if not before_calls or 2 * after_failures >= total else "mixed"


def _decision(thought: ReasoningEvent) -> str:
    content = thought.content.strip()
    first_line = content.splitlines()[0].strip()
    if first_line.startswith(("**", "#")):
        return _shorten(first_line)
    sentences = list(_sentences(thought))
    return _shorten(next(filter(_DECIDES.search, sentences), sentences[0] if sentences else first_line))


def _sentences(thought: ReasoningEvent) -> Iterator[str]:
    for part in _SENTENCE_END.split(thought.content):
        if sentence := part.strip():
            yield sentence


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
