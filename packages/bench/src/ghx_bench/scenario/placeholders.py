"""Placeholders in scenarios: what names they have, where they stand, and how they are replaced there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

from pydantic import ValidationError

from ghx_base.documents import Complaint, explain
from ghx_base.problems import Tokens
from ghx_base.texts import templates
from ghx_base.texts.templates import ValueOf, in_braces, keys_in, only_name_in, strings_in
from ghx_base.wire import JsonObject
from ghx_bench.scenario.condition_base import FixedText, Slot, put
from ghx_bench.scenario.eval_scenario import Checkpoint, EvalScenario
from ghx_bench.scenario.extensions import FAULTS, WORKSPACE, names_in_workspace
from ghx_bench.scenario.threat import THREAT, strings_in_threat

CHECKPOINTS = "checkpoints."
"""How the name of a placeholder begins that stands for the output of an earlier checkpoint; no other has a dot."""

PROMPT: Tokens = ("prompt",)
CHECKPOINT_LIST: Tokens = ("assertions", "checkpoints")

WORKSPACE_PLACE: Tokens = ("extensions", WORKSPACE)
FAULTS_PLACE: Tokens = ("extensions", FAULTS)
THREAT_PLACE: Tokens = ("extensions", THREAT)
SUCCESS_CHECK_PLACE: Tokens = (*THREAT_PLACE, "succeeds", "checkpoint")
ORDER_FOLLOWED = "order-followed"
"""The checkpoint of a benign variant: what its text asks for was done."""

PlacedText = tuple[Tokens, str]
"""A text that may contain placeholders, and where it is."""


class Use(NamedTuple):
    """A placeholder in a scenario: where it stands, and its name."""

    tokens: Tokens
    name: str


def is_name(name: str) -> bool:
    """Return whether a scenario may use this name: a variable, or a path into what a checkpoint returned."""
    return "." not in name or name.startswith(CHECKPOINTS)


def names_in(text: str) -> list[str]:
    """Return the names of the placeholders in a text, in their order."""
    return [name for name in templates.names_in(text) if is_name(name)]


def near_misses_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield texts that only look like a placeholder, such as `{{pr-number}}`, and the name in them."""
    for spelling, name in in_braces(text):
        if only_name_in(spelling) is None or not is_name(name):
            yield spelling, name


def uses_in(texts: Iterable[PlacedText]) -> list[Use]:
    """Return the placeholders in texts, each once for each text."""
    return [Use(tokens, name) for tokens, text in texts for name in dict.fromkeys(names_in(text))]


def texts_of(scenario: EvalScenario) -> Iterator[PlacedText]:
    """Yield the texts of a scenario that can have placeholders, the prompt first, except `fixture.repo`."""
    yield PROMPT, scenario.prompt
    yield from (((*WORKSPACE_PLACE, key), text) for key, text in names_in_workspace(scenario.extensions))
    yield from strings_in((scenario.extensions or {}).get(FAULTS), FAULTS_PLACE)
    yield from strings_in_threat(scenario.extensions)
    if (look := success_check(scenario)) is not None:
        yield from (((*SUCCESS_CHECK_PLACE, *slot.tokens), slot.text) for slot in slots_of(look))
    for index, checkpoint in enumerate(scenario.assertions.checkpoints):
        for slot in slots_of(checkpoint):
            yield (*CHECKPOINT_LIST, index, *slot.tokens), slot.text


def is_before_session(tokens: Tokens) -> bool:
    """Return whether a text is needed before the session, when no checkpoint has returned anything yet."""
    return tokens == PROMPT or tokens[:2] in {WORKSPACE_PLACE, FAULTS_PLACE, THREAT_PLACE}


def success_check(scenario: EvalScenario) -> Checkpoint | None:
    """Return the check of the state for a successful attack on a scenario, if it has one."""
    try:
        threat = scenario.known_extensions.threat
    except ValidationError:
        return None  # the extensions have mistakes of their own
    if threat is None or threat.succeeds.checkpoint is None:
        return None
    look = threat.succeeds.checkpoint
    return Checkpoint(
        id=ORDER_FOLLOWED,
        description="What the planted text asks for was done",
        task=look.task,
        input=look.input,
        condition=look.condition,
    )


def slots_of(checkpoint: Checkpoint) -> Iterator[Slot]:
    """Yield the texts of a checkpoint's input and condition that may contain placeholders."""
    yield from (Slot(tokens, text) for tokens, text in strings_in(checkpoint.input, ("input",)))
    yield from checkpoint.condition.slots(("condition",))


def names_used_by(checkpoint: Checkpoint) -> set[str]:
    """Return the names of the placeholders in a checkpoint."""
    return {name for slot in slots_of(checkpoint) for name in names_in(slot.text)}


def has_references(checkpoint: Checkpoint) -> bool:
    """Return whether a placeholder in a checkpoint stands for the output of an earlier one."""
    return any(name.startswith(CHECKPOINTS) for name in names_used_by(checkpoint))


def fixed_texts_of(checkpoint: Checkpoint) -> Iterator[FixedText]:
    """Yield the texts of a checkpoint in which nothing is replaced: keys, and what conditions name."""
    yield from (FixedText(tokens, key, is_key=True) for tokens, key in keys_in(checkpoint.input, ("input",)))
    yield from checkpoint.condition.fixed_texts(("condition",))


def fill_checkpoint(
    checkpoint: Checkpoint, values_for: Callable[[Slot], ValueOf]
) -> tuple[Checkpoint, Sequence[Complaint]]:
    """Return a checkpoint with its placeholders replaced, and which values its condition cannot take.

    `values_for` is asked for each slot. A placeholder for which it has no value (`KeyError`) stays.
    """
    slots = [slot for slot in slots_of(checkpoint) if names_in(slot.text)]
    if not slots:
        return checkpoint, ()
    changed: JsonObject = deepcopy({"input": checkpoint.input, "condition": checkpoint.condition.to_wire()})
    for slot in slots:
        put(changed, slot.tokens, slot.fill(values_for(slot)))
    # By its own class, and not as part of a checkpoint: so any kind of condition can be bound, listed there or not.
    kind = type(checkpoint.condition)
    try:
        condition = kind.model_validate(changed["condition"])
    except ValidationError as error:
        findings = explain(error, kind, changed["condition"])
        return checkpoint, [replace(each, tokens=("condition", *each.tokens)) for each in findings]
    return checkpoint.model_copy(update={"input": changed["input"], "condition": condition}), ()
