"""What a variant of a scenario has instead of the scenario's own: `ScenarioChanges`, and `Variant`, which says why."""

import re
from typing import Annotated, cast

from pydantic import BeforeValidator, Field, JsonValue, Strict, StringConstraints

from ghx_base.documents import RefusedError
from ghx_base.documents.section import Flag
from ghx_base.problems import describe_value, shortened
from ghx_base.texts.templates import VARIABLE
from ghx_base.wire import OMITTABLE, StrictInt, WireModel
from ghx_bench.scenario.condition_base import LIMIT_ITEMS, Bounded
from ghx_profiler.scenario import VARIANT_MARK, Text

LONGEST_TIMEOUT_MS = 86_400_000
LONGEST_VARIANT_NAME = 40
MOST_VARIANTS = 50

VARIANT_NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"
CLEAN, BENIGN = "clean", "benign"
RESERVED = (CLEAN, BENIGN)
"""Names of the variants of scenarios with a threat."""

_LONGEST_QUOTED = 128

Timeout = Annotated[StrictInt, Field(gt=0, le=LONGEST_TIMEOUT_MS)]
VariableName = Annotated[str, Strict(), StringConstraints(pattern=f"^{VARIABLE}$"), Field(examples=["pr_number"])]
"""A name that can stand in `{{...}}`."""


def _name_variables(bindings: object) -> object:
    # Before the type's own check, which could only quote the pattern; here a name that would do is suggested.
    for name in cast("dict[object, object]", bindings) if isinstance(bindings, dict) else ():
        if isinstance(name, str) and not re.fullmatch(VARIABLE, name):
            variable = re.sub(r"[^A-Za-z0-9_]+", "_", name[:_LONGEST_QUOTED]).strip("_") or "pr_number"
            raise RefusedError(
                f"{shortened(name)} cannot be a variable",
                at=(name,),
                at_key=True,
                suggestion=f"write {variable!r}: letters, digits and underscores",
            )
    return cast("object", bindings)


Bindings = Annotated[dict[VariableName, Text], LIMIT_ITEMS, BeforeValidator(_name_variables)]
"""For each variable, the path to its value."""


class FixtureChanges(WireModel):
    """Keys of `fixture` that a variant replaces, each as a whole."""

    repo: Annotated[Text | None, OMITTABLE] = Field(default=None, description="The repository of the fixtures.")
    requires: Annotated[Bounded[tuple[Text, ...]] | None, OMITTABLE] = Field(
        default=None, description="The names of the fixtures.", examples=[["many_labels"]]
    )
    bindings: Annotated[Bindings | None, OMITTABLE] = Field(
        default=None, description="For each {{variable}}, the path into the manifest's fixtures where its value is."
    )
    reseed_per_iteration: Annotated[Flag | None, OMITTABLE] = Field(
        default=None, description="Reset the fixtures' branches before each iteration."
    )
    seed_per_iteration: Annotated[Flag | None, OMITTABLE] = Field(
        default=None, description="Create the fixtures anew before each iteration."
    )


class ScenarioChanges(WireModel):
    """The changes of a variant; a key that is left out or null is inherited."""

    prompt: Annotated[Text | None, OMITTABLE] = Field(default=None, description="The task as the agent is given it.")
    timeout_ms: Annotated[Timeout | None, OMITTABLE] = Field(
        default=None, description="The longest the agent may take, in milliseconds.", examples=[240_000]
    )
    fixture: Annotated[FixtureChanges | None, OMITTABLE] = Field(
        default=None, description="What is on GitHub; each key replaces that of the scenario's fixture."
    )
    extensions: Annotated[dict[str, JsonValue] | None, OMITTABLE] = Field(
        default=None, description="Each key replaces that of the scenario's extensions; null takes it away."
    )


class Variant(ScenarioChanges):
    """A scenario with something else in it: a larger world, fewer rights, another wording."""

    description: Annotated[Text | None, OMITTABLE] = Field(
        default=None, description="What is different, for people.", examples=["1,000 issues instead of 137"]
    )


def is_variant_name(name: object) -> bool:
    """Return whether a variant can be called so."""
    return isinstance(name, str) and len(name) <= LONGEST_VARIANT_NAME and bool(re.fullmatch(VARIANT_NAME, name))


def _check_names(variants: object) -> object:
    if variants is None:
        return {}
    if not isinstance(variants, dict):
        example = "write variants by name, such as {large: {fixture: {requires: [many_labels]}}}"
        reason = f"expected an object, got {describe_value(variants)}"
        raise RefusedError(reason, suggestion=example)
    for name in cast("dict[object, object]", variants):
        if not is_variant_name(name):
            what = f"lower-case words joined by hyphens, at most {LONGEST_VARIANT_NAME} characters"
            reason = f"{shortened(name)} cannot be the name of a variant"
            raise RefusedError(reason, at=(str(name),), at_key=True, suggestion=f"write {what}: 'large'")
        if name in RESERVED:
            reason = f"{name!r} is what a form of scenarios with a threat is called: ID{VARIANT_MARK}{name}"
            raise RefusedError(reason, at=(name,), at_key=True, suggestion="give the variant another name")
    return cast("object", variants)


Variants = Annotated[dict[str, Variant], Field(max_length=MOST_VARIANTS), BeforeValidator(_check_names)]
"""The variants of a scenario by name."""
