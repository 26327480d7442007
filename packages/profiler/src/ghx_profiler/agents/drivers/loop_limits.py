"""Limits and model settings of the agent `loop`; in a module of their own, since its libraries load slowly."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ghx_base.documents.section import Section
from ghx_profiler.records.model_calls import WireKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRoute:
    """How a model is called: its wire, and the name by which its provider knows it."""

    wire: WireKind
    model: str


class LoopLimits(Section):
    """What the loop may use, and what it asks of its model."""

    max_turns: int = Field(default=100, ge=1, description="How often the model is asked before the agent gives up.")
    max_context_tokens: int = Field(
        default=120_000,
        ge=1,
        description="When a request was longer, what tools returned earlier is left out of the next one.",
    )
    max_result_chars: int = Field(
        default=40_000, ge=100, description="What the model gets to see of one tool result; its middle is left out."
    )
    max_attempts: int = Field(
        default=5, ge=1, description="How often a call is made that the model's provider fails to answer."
    )
    max_output_tokens: int | None = Field(
        default=None, ge=1, description="Of one answer; else what the provider allows (Anthropic wants one: 16,000)."
    )
    temperature: float | None = Field(default=None, ge=0, description="Sent only if it is set.")
    effort: Literal["minimal", "low", "medium", "high"] | None = Field(
        default=None, description="How much the model is to reason; sent only if it is set."
    )
