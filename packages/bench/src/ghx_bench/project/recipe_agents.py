"""Agents that recipes describe: those that come with the package, and those in a YAML file of the user's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from ghx_base.documents import explain
from ghx_base.documents.section import Section, Text
from ghx_base.errors import InputError
from ghx_bench.project.object_references import is_recipe_file
from ghx_profiler.agents.drivers.recipe import Recipe, built_in_recipe, load_recipe, recipe_names
from ghx_profiler.config import AgentEntry
from ghx_profiler.records.model_calls import WireKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVendor:
    """A vendor of a model API: its address, and the variable of its key."""

    name: str
    base_url: str
    key_env: str | None


VENDORS: Mapping[WireKind, ModelVendor] = {
    "openai-chat": ModelVendor(name="openai", base_url="https://api.openai.com/v1", key_env="OPENAI_API_KEY"),
    "openai-responses": ModelVendor(name="openai", base_url="https://api.openai.com/v1", key_env="OPENAI_API_KEY"),
    "anthropic": ModelVendor(name="anthropic", base_url="https://api.anthropic.com", key_env="ANTHROPIC_API_KEY"),
    "gemini": ModelVendor(
        name="google", base_url="https://generativelanguage.googleapis.com", key_env="GEMINI_API_KEY"
    ),
}
"""Where an agent's model is, unless its options say otherwise."""


class ModelOptions(Section):
    """The options of an agent that asks a model through the meter."""

    base_url: Text | None = Field(
        default=None, description="The address of the model API, as clients take it; else that of its vendor."
    )
    key_env: Text | None = Field(
        default=None,
        description="The variable with the key of the model API. Only the bench reads it, and sessions never see it.",
    )


def has_recipe(agent: str) -> bool:
    """Return whether an agent has a recipe."""
    return agent in recipe_names() or is_recipe_file(agent)


def recipe_of(agent: str) -> Recipe:
    """Return the recipe of an agent, by its name or its file."""
    if not is_recipe_file(agent):
        return built_in_recipe(agent)
    path = Path(agent)
    if not path.is_file():
        raise InputError(f"agent {agent}: there is no such file")
    return load_recipe(path).resolve_paths(path.parent)


def model_vendor(wire: WireKind, options: ModelOptions) -> ModelVendor:
    """Return the vendor of model calls in a wire format: the default one, or the one in the options."""
    first, other = VENDORS[wire], options.base_url
    key_env = options.key_env or (first.key_env if other is None else None)
    return ModelVendor(name=other or first.name, base_url=other or first.base_url, key_env=key_env)


_Options = TypeVar("_Options", bound=ModelOptions)


def read_options(entry: AgentEntry, kind: type[_Options]) -> _Options:
    """Read the options of an agent; raise `InputError` for an unknown option."""
    try:
        return kind.model_validate(entry.options)
    except ValidationError as error:
        first = explain(error, kind, entry.options)[0]
        place = ".".join(("options", *map(str, first.tokens)))
        raise InputError(f"agent {entry.name or entry.id}: {place}: {first}") from None
