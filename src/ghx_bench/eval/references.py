"""Outputs of earlier checkpoints in later ones: `{{checkpoints.pr-created.items.0.number}}`."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from pydantic import JsonValue, ValidationError

from ghx_bench._base.documents import Finding, explain
from ghx_bench._base.problems import listed, nearest
from ghx_bench.eval.binding import BindingError
from ghx_bench.eval.paths import MISSING, follow
from ghx_bench.eval.scenario import Checkpoint
from ghx_bench.eval.slots import PROMPT, Use, Values, filled
from ghx_bench.eval.templates import CHECKPOINTS, Tokens


class Reference(NamedTuple):
    """A placeholder for an earlier output: whose, and the path into it."""

    checkpoint_id: str
    steps: tuple[str, ...]


def reference_of(name: str, ids: Collection[str]) -> Reference | None:
    """Read the name of a placeholder as a reference to one of these checkpoints, whose ids may contain dots."""
    rest = name.removeprefix(CHECKPOINTS)
    meant = max((each for each in ids if rest == each or rest.startswith(f"{each}.")), key=len, default=None)
    if meant is None:
        return None
    path = rest[len(meant) + 1 :]
    return Reference(meant, tuple(path.split(".")) if path else ())


def bind_references(checkpoint: Checkpoint, outputs: Mapping[str, JsonValue]) -> Checkpoint:
    """Return a checkpoint with its references replaced by what earlier checkpoints returned, given by id.

    Raises `BindingError` where an output has nothing at that path: the checkpoint cannot be made, and has not passed.
    """
    findings: list[Finding] = []

    def values_for(tokens: Tokens) -> Values:
        def value_of(name: str) -> JsonValue:
            reference = reference_of(name, outputs) if name.startswith(CHECKPOINTS) else None
            if reference is None:
                findings.append(Finding(tokens=tokens, reason=f"nothing is known of {{{{{name}}}}}"))
                return None
            found = follow(outputs[reference.checkpoint_id], reference.steps)
            if found is MISSING:
                whose, path = reference.checkpoint_id, ".".join(reference.steps)
                findings.append(Finding(tokens=tokens, reason=f"checkpoint {whose!r} returned nothing at {path!r}"))
                return None
            return found

        return value_of

    wire = filled(checkpoint, values_for)
    if wire is None:
        return checkpoint
    place = f"checkpoint {checkpoint.id}"
    if findings:
        raise BindingError.about(place, findings)
    try:
        return Checkpoint.model_validate(wire)
    except ValidationError as error:
        raise BindingError.about(place, explain(error, Checkpoint, wire)) from None


def check_references(checkpoints: Sequence[Checkpoint], uses: Iterable[Use]) -> Iterator[Finding]:
    """Yield what is wrong with references: to no checkpoint, to a later one, to itself, or in a circle."""
    order = {checkpoint.id: index for index, checkpoint in enumerate(checkpoints)}
    references = [
        (checkpoints[cast("int", use.tokens[2])].id, use, reference_of(use.name, order))
        for use in uses
        if use.tokens != PROMPT and use.name.startswith(CHECKPOINTS)
    ]
    targets: dict[str, set[str]] = {}
    for source, _, reference in references:
        if reference:
            targets.setdefault(source, set()).add(reference.checkpoint_id)
    for source, use, reference in references:
        if reference is None:
            yield _unknown(use.name, use.tokens, order)
        elif order[reference.checkpoint_id] >= order[source]:
            yield _too_early(source, reference.checkpoint_id, use.tokens, targets)


def _unknown(name: str, tokens: Tokens, ids: Collection[str]) -> Finding:
    rest = name.removeprefix(CHECKPOINTS)
    meant = nearest(rest.partition(".")[0], ids)
    hint = f"did you mean {meant!r}?" if meant else f"known: {listed(ids)}"
    return Finding(tokens=tokens, reason=f"{{{{{name}}}}} names no checkpoint of this scenario", suggestion=hint)


def _too_early(source: str, target: str, tokens: Tokens, targets: Mapping[str, Collection[str]]) -> Finding:
    if source == target:
        return Finding(
            tokens=tokens,
            reason=f"checkpoint {source!r} refers to its own output",
            suggestion="refer to an earlier checkpoint",
        )
    circle = _way(target, source, targets)
    if circle:
        shown = " -> ".join([source, *circle])
        return Finding(
            tokens=tokens, reason=f"checkpoints refer to each other in a circle: {shown}", suggestion="break the circle"
        )
    return Finding(
        tokens=tokens,
        reason=f"checkpoint {target!r} comes after {source!r}",
        suggestion=f"move {target!r} up: checkpoints are made in order",
    )


def _way(start: str, end: str, targets: Mapping[str, Collection[str]]) -> list[str] | None:
    """Return a way from one checkpoint to another along their references."""
    ways = [[start]]
    seen = {start}
    for way in ways:
        if way[-1] == end:
            return way
        onward = [each for each in sorted(targets.get(way[-1], ())) if each not in seen]
        seen.update(onward)
        ways += [[*way, each] for each in onward]
    return None
