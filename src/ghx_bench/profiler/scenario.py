"""What the profiler asks of a scenario: `BaseScenario`, named sets of them, and the loader a consumer brings."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import Field, JsonValue, RootModel, Strict, StringConstraints

from ghx_bench._base.wire import Count, StrictInt, WireModel

Text = Annotated[str, Strict(), StringConstraints(min_length=1)]
"""A text that says something."""


class BaseScenario(WireModel):
    """A task for an agent, with what the runner must know to run it.

    Consumers subclass it with fields of their own; the runner hands the subclass through unchanged.
    """

    id: Text = Field(description="Unique identifier; kebab-case recommended.")
    name: Text = Field(description="Human-readable name.")
    description: Text = Field(description="What this scenario tests.")
    prompt: Text = Field(description="The prompt sent to the agent.")
    timeout_ms: Annotated[StrictInt, Field(gt=0)] = Field(
        description="The longest the agent may take, in milliseconds."
    )
    allowed_retries: Count = Field(default=0, description="Additional attempts after a transient failure.")
    tags: tuple[Text, ...] = Field(default=(), description="Words to filter by.")
    extensions: dict[str, JsonValue] = Field(
        default={}, description="Data of the consumer's own, passed to scorers, collectors and analyzers."
    )


class ScenarioSets(RootModel[dict[Text, tuple[Text, ...]]]):
    """Named groups of scenario ids."""

    model_config = {"frozen": True}

    def names(self) -> tuple[str, ...]:
        """Return the names of all sets, sorted."""
        return tuple(sorted(self.root))

    def get(self, name: str) -> tuple[str, ...] | None:
        """Return the ids of a set, in the order of the file, or `None` if there is no such set."""
        return self.root.get(name)


S = TypeVar("S", bound=BaseScenario)
"""The consumer's own kind of scenario."""

S_co = TypeVar("S_co", bound=BaseScenario, covariant=True)
S_contra = TypeVar("S_contra", bound=BaseScenario, contravariant=True)

ScenarioLoader = Callable[[Sequence[str]], Awaitable[Sequence[S]]]
"""Brings the scenarios with these ids, validated; called once, at startup."""
