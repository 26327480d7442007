"""The agent `loop` in an evaluation: its options, and the ways to the models of a run."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from ghx_bench._base.errors import InputError
from ghx_bench.agents.drivers.loop_limits import LoopLimits, ModelRoute
from ghx_bench.eval.project.recipe_agents import VENDORS, ModelOptions
from ghx_bench.profiler.model_calls import WireKind

LOOP = "loop"
LOOP_DESCRIPTION = "a plain loop round a model of any vendor, with the tools of the mode; to compare models and tools"
_WIRES: Mapping[str, WireKind] = {"openai": "openai-chat", "anthropic": "anthropic", "google": "gemini"}
"""The model API of each vendor."""


class LoopOptions(ModelOptions, LoopLimits):
    """The options of the agent `loop`."""

    wire: WireKind | None = Field(
        default=None,
        description="The model API; else that of the vendor that a model's id begins with, or openai-chat at base_url.",
    )


def route_models(models: Iterable[str], options: LoopOptions) -> dict[str, ModelRoute]:
    """Return how each model is asked; raise `InputError` for one whose vendor is not known."""
    return {model: _route_model(model, options) for model in models}


def _route_model(model: str, options: LoopOptions) -> ModelRoute:
    if options.base_url is not None:
        return ModelRoute(wire=options.wire or "openai-chat", model=model)
    if options.wire is not None:
        return ModelRoute(wire=options.wire, model=model.removeprefix(f"{VENDORS[options.wire].name}/"))
    vendor, _, name = model.partition("/")
    wire = _WIRES.get(vendor)
    if wire is None or not name:
        known = ", ".join(f"{each}/" for each in _WIRES)
        raise InputError(
            f"agent {LOOP}: model {model!r} does not say whose it is: begin its id with one of {known}, or set the "
            "option `wire` or `base_url`"
        )
    return ModelRoute(wire=wire, model=name)
