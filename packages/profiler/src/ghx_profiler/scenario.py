"""What the profiler asks of a scenario: `BaseScenario`, named sets of them, and the loader a consumer brings."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import Field, JsonValue, RootModel, Strict, StringConstraints

from ghx_base.wire import Count, StrictInt, WireModel

Text = Annotated[str, Strict(), StringConstraints(min_length=1)]
"""A text that is not blank."""

VARIANT_MARK = "@"
"""Stands between the id of a scenario and the name of a variant: `labels-count-001@large`."""

EVERY_FORM = f"{VARIANT_MARK}*"
"""The suffix that selects a scenario with all its variants."""


def scenario_of(id_: str) -> str:
    """Return the id of the scenario that an id names a form of: of `labels-count-001@large`, `labels-count-001`.

    The forms of a scenario are cells of their own, and paired among themselves; what is said about tasks in general
    counts them as one task.
    """
    base, mark, variant = id_.rpartition(VARIANT_MARK)
    return base if mark and base and variant else id_


def variant_of(id_: str) -> str | None:
    """Return the name of the variant that an id names; None for the scenario as it is."""
    base = scenario_of(id_)
    return None if base == id_ else id_[len(base) + len(VARIANT_MARK) :]


class BaseScenario(WireModel):
    """A task for an agent, with what the runner must know to run it.

    Consumers subclass it with fields of their own; the runner hands the subclass through unchanged.
    """

    id: Text = Field(description="Unique identifier; kebab-case recommended. What follows an @ names a variant.")
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

    @property
    def base_id(self) -> str:
        """The id of the scenario that this is a form of; its own, unless it is a variant."""
        return scenario_of(self.id)

    @property
    def variant(self) -> str | None:
        """The name of the variant that this is; None for the scenario as it is."""
        return variant_of(self.id)


class ScenarioSets(RootModel[dict[Text, tuple[Text, ...]]]):
    """Named groups of scenario ids."""

    model_config = {"frozen": True}

    def names(self) -> tuple[str, ...]:
        """Return the names of all sets, sorted."""
        return tuple(sorted(self.root))

    def get(self, name: str) -> tuple[str, ...] | None:
        """Return the ids of a set, in the order of the file, or `None` if the set is unknown."""
        return self.root.get(name)


S = TypeVar("S", bound=BaseScenario)
"""The consumer's own kind of scenario."""

S_co = TypeVar("S_co", bound=BaseScenario, covariant=True)
S_contra = TypeVar("S_contra", bound=BaseScenario, contravariant=True)

ScenarioLoader = Callable[[Sequence[str]], Awaitable[Sequence[S]]]
"""Brings the scenarios with these ids, validated; called once, at startup."""
