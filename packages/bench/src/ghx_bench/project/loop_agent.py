"""The agent `loop` in an evaluation: its options; and the ways to the models of a run, for it and for functions."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from ghx_base.errors import InputError
from ghx_bench.project.recipe_agents import VENDORS, ModelOptions
from ghx_profiler.agents.drivers.loop_limits import LoopLimits, ModelRoute
from ghx_profiler.records.model_calls import WireKind

LOOP = "loop"
LOOP_DESCRIPTION = "a plain loop round a model of any vendor, with the tools of the mode; to compare models and tools"
_WIRES: Mapping[str, WireKind] = {"openai": "openai-chat", "anthropic": "anthropic", "google": "gemini"}
"""The model API of each vendor."""


class RouteOptions(ModelOptions):
    """The options of an agent that leaves it to the bench how its models are reached."""

    wire: WireKind | None = Field(
        default=None,
        description="The model API; else that of the vendor that a model's id begins with, or openai-chat at base_url.",
    )


class LoopOptions(RouteOptions, LoopLimits):
    """The options of the agent `loop`."""


def route_models(models: Iterable[str], options: LoopOptions) -> dict[str, ModelRoute]:
    """Return the route to each model; raise `InputError` for an unknown vendor."""
    routes = {model: route_model(model, options) for model in models}
    for model, route in routes.items():
        if route is None:
            wires = ", ".join(f"{each}/" for each in _WIRES)
            raise InputError(
                f"agent {LOOP}: model {model!r} does not say whose it is: begin its id with one of {wires}, or set the "
                "option `wire` or `base_url`"
            )
    return {model: route for model, route in routes.items() if route is not None}


def route_model(model: str, options: RouteOptions) -> ModelRoute | None:
    """Return the route to a model; `None` for an unknown vendor."""
    if options.base_url is not None:
        return ModelRoute(wire=options.wire or "openai-chat", model=model)
    if options.wire is not None:
        return ModelRoute(wire=options.wire, model=model.removeprefix(f"{VENDORS[options.wire].name}/"))
    vendor, _, name = model.partition("/")
    wire = _WIRES.get(vendor)
    return None if wire is None or not name else ModelRoute(wire=wire, model=name)
