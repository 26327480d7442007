"""Outputs of earlier checkpoints in later ones: `{{checkpoints.pr-created.items.0.number}}`."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from pydantic import JsonValue

from ghx_base.documents import Complaint
from ghx_base.problems import Tokens, did_you_mean
from ghx_base.texts.templates import MISSING, ValueOf, follow, placeholder
from ghx_bench.scenario.binding import BindingError
from ghx_bench.scenario.condition_base import Slot
from ghx_bench.scenario.eval_scenario import Checkpoint, Origin
from ghx_bench.scenario.placeholders import (
    CHECKPOINTS,
    Use,
    fill_checkpoint,
    has_references,
    is_before_session,
)

_LONGEST_CIRCLE = 8


class Reference(NamedTuple):
    """A placeholder for an earlier output: whose, and the path into it."""

    checkpoint_id: str
    steps: tuple[str, ...]


def reference_of(name: str, ids: Collection[str]) -> Reference | None:
    """Read the name of a placeholder as a reference to one of these checkpoints, whose ids may contain dots."""
    steps = name.removeprefix(CHECKPOINTS).split(".")
    # The longest id first: with ids `a` and `a.b`, `a.b.c` leads into what the second returned.
    for end in range(len(steps), 0, -1):
        if (checkpoint := ".".join(steps[:end])) in ids:
            return Reference(checkpoint, tuple(steps[end:]))
    return None


def bind_references(checkpoint: Checkpoint, outputs: Mapping[str, JsonValue]) -> Checkpoint:
    """Return a checkpoint with its references replaced by what earlier checkpoints returned, given by id.

    Other placeholders stay, and so does what came into the checkpoint with the value of a variable. Raises
    `BindingError` where an output has nothing at that path: the checkpoint cannot be made, and has not passed.
    """
    if not has_references(checkpoint):
        return checkpoint
    original, values = checkpoint.origin or Origin(checkpoint, {})
    outputs_so_far = _Outputs(outputs, values)
    # From the checkpoint as it was written: a reference in the bound one may come from the value of a variable.
    bound, misfits = fill_checkpoint(original, outputs_so_far.values_for)
    if findings := outputs_so_far.findings or misfits:
        raise BindingError.about(f"checkpoint {checkpoint.id}", findings)
    return bound


class _Outputs:
    """The outputs of earlier checkpoints, as values of placeholders; collects what is looked for and not there."""

    def __init__(self, outputs: Mapping[str, JsonValue], values: Mapping[str, JsonValue]) -> None:
        self.findings: list[Complaint] = []
        self._outputs = outputs
        self._values = values

    def values_for(self, slot: Slot) -> ValueOf:
        def value_of(name: str) -> JsonValue:
            if not name.startswith(CHECKPOINTS):
                return self._values[name]
            value = self._find(name, slot.tokens)
            if value is None and not slot.takes_anything:
                self._miss(slot.tokens, f"{placeholder(name)} is null, which cannot be put into a text")
            return value

        return value_of

    def _find(self, name: str, tokens: Tokens) -> JsonValue:
        reference = reference_of(name, self._outputs)
        if reference is None:
            return self._miss(tokens, f"nothing is known of {placeholder(name)}")
        value = follow(self._outputs[reference.checkpoint_id], reference.steps)
        if value is MISSING:
            whose, path = reference.checkpoint_id, ".".join(reference.steps)
            return self._miss(tokens, f"checkpoint {whose!r} returned nothing at {path!r}")
        return value

    def _miss(self, tokens: Tokens, reason: str) -> None:
        if not any(each.tokens == tokens for each in self.findings):
            self.findings.append(Complaint(tokens=tokens, reason=reason))


def check_references(checkpoints: Sequence[Checkpoint], uses: Iterable[Use]) -> Iterator[Complaint]:
    """Yield what is wrong with references: to no checkpoint, to a later one, to itself, or in a circle."""
    order = {checkpoint.id: index for index, checkpoint in enumerate(checkpoints)}
    references = [
        (checkpoints[cast("int", use.tokens[2])].id, use, reference_of(use.name, order))
        for use in uses
        if not is_before_session(use.tokens) and use.name.startswith(CHECKPOINTS)
    ]
    targets: dict[str, set[str]] = {}
    for source, _, reference in references:
        if reference:
            targets.setdefault(source, set()).add(reference.checkpoint_id)
    for source, use, reference in references:
        if reference is None:
            yield unknown_checkpoint(use.name, use.tokens, order)
        elif order[reference.checkpoint_id] >= order[source]:
            yield _explain_order(source, reference.checkpoint_id, use.tokens, targets)


def unknown_checkpoint(name: str, tokens: Tokens, ids: Collection[str]) -> Complaint:
    """Return the finding that a placeholder names a checkpoint that the scenario does not have."""
    rest = name.removeprefix(CHECKPOINTS)
    hint = did_you_mean(rest.partition(".")[0], ids)
    return Complaint(tokens=tokens, reason=f"{placeholder(name)} names no checkpoint of this scenario", suggestion=hint)


def _explain_order(source: str, target: str, tokens: Tokens, targets: Mapping[str, Collection[str]]) -> Complaint:
    if source == target:
        return Complaint(
            tokens=tokens,
            reason=f"checkpoint {source!r} refers to its own output",
            suggestion="refer to an earlier checkpoint",
        )
    circle = _find_path(target, source, targets)
    if circle:
        ids = [source, *circle]
        chain = " -> ".join(ids if len(ids) <= _LONGEST_CIRCLE else [*ids[: _LONGEST_CIRCLE - 2], "…", ids[-1]])
        return Complaint(
            tokens=tokens, reason=f"checkpoints refer to each other in a circle: {chain}", suggestion="break the circle"
        )
    return Complaint(
        tokens=tokens,
        reason=f"checkpoint {target!r} comes after {source!r}",
        suggestion=f"move {target!r} up: checkpoints are made in order",
    )


def _find_path(start: str, end: str, targets: Mapping[str, Collection[str]]) -> list[str] | None:
    """Return the checkpoints on the shortest way from one to another along their references."""
    before: dict[str, str | None] = {start: None}
    reached = [start]
    for each in reached:
        if each == end:
            break
        onward = [target for target in sorted(targets.get(each, ())) if target not in before]
        before.update(dict.fromkeys(onward, each))
        reached += onward
    else:
        return None
    way: list[str] = []
    at: str | None = end
    while at is not None:
        way.append(at)
        at = before[at]
    return way[::-1]
