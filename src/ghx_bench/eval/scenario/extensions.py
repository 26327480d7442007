"""The `extensions` of a scenario that the bench defines: `allowedChanges`, `targets` and `independent`."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Literal, NamedTuple, get_args

from pydantic import JsonValue

from ghx_bench._base.problems import Tokens, did_you_mean, in_words, listed, shortened
from ghx_bench._base.templates import MISSING, fill_text, follow
from ghx_bench.documents import Finding
from ghx_bench.eval.scenario.binding import misspelt, unbound
from ghx_bench.eval.scenario.checkpoint_references import reference_of, unknown_checkpoint
from ghx_bench.eval.scenario.eval_scenario import EvalScenario
from ghx_bench.eval.scenario.placeholders import CHECKPOINTS, names_in, near_misses_in
from ghx_bench.twin.state.records import RECORDS

INDEPENDENT = "independent"
"""The key in a scenario's `extensions`."""

_PLACE: Tokens = ("extensions", INDEPENDENT)


def is_independent(scenario: EvalScenario) -> bool:
    """Say whether the task names what it is about, so that fixtures of others in the repository are not in its way."""
    return (scenario.extensions or {}).get(INDEPENDENT) is True


def mistakes_in_independence(scenario: EvalScenario) -> Iterator[Finding]:
    """Yield what is wrong with it: something else than true or false."""
    found = (scenario.extensions or {}).get(INDEPENDENT)
    if found is not None and not isinstance(found, bool):
        reason = f"expected true or false, got {in_words(found)}"
        yield Finding(tokens=_PLACE, reason=reason, suggestion="write true, or leave the key out")


TARGETS = "targets"
"""The key in a scenario's `extensions`."""

Target = Literal["twin", "github"]
KNOWN: tuple[str, ...] = get_args(Target)

_PLACE_of_scenario_targets: Tokens = ("extensions", TARGETS)


def targets_of(scenario: EvalScenario) -> Sequence[str]:
    """Return where a scenario can be run; everywhere unless it says otherwise."""
    found = (scenario.extensions or {}).get(TARGETS)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else KNOWN


def mistakes_in_targets(scenario: EvalScenario) -> Iterator[Finding]:
    """Yield what is wrong with them: no list, or places that nobody knows."""
    found = (scenario.extensions or {}).get(TARGETS)
    if found is None:
        return
    if not isinstance(found, list) or not found:
        reason = f"expected a list of targets, got {in_words(found)}"
        yield Finding(
            tokens=_PLACE_of_scenario_targets, reason=reason, suggestion="write [twin], [github], or leave the key out"
        )
        return
    for index, each in enumerate(found):
        if each not in KNOWN:
            hint = did_you_mean(each, KNOWN) if isinstance(each, str) else None
            yield Finding(
                tokens=(*_PLACE_of_scenario_targets, index),
                reason=f"there is no target {shortened(each)}",
                suggestion=hint,
            )


ALLOWED_CHANGES = "allowedChanges"
"""The key in a scenario's `extensions`."""

Change = Literal["created", "changed", "deleted"]

REFS = "refs"
KINDS: Mapping[str, frozenset[str]] = {
    **{record.table: frozenset(field.name.removesuffix("_id") for field in fields(record)) for record in RECORDS},
    REFS: frozenset(),
}
"""What can be changed: the kinds of objects on GitHub with their fields, and branches and tags."""

_PLACE_of_allowance: Tokens = ("extensions", ALLOWED_CHANGES)
_ANYTHING = "*"


def patterns_of(scenario: EvalScenario) -> Sequence[str] | None:
    """Return the patterns as they are written; None where the scenario does not say what may be changed."""
    found = (scenario.extensions or {}).get(ALLOWED_CHANGES)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else None


def allowed_changes(
    scenario: EvalScenario, bindings: Mapping[str, JsonValue], outputs: Mapping[str, JsonValue]
) -> Sequence[str] | None:
    """Return the patterns with their variables replaced; None where nothing is said, and so everything is allowed.

    A pattern may name what a checkpoint returned, which is how it knows the number of what the agent has made. Where
    the checkpoint returned nothing of the kind, the pattern covers nothing.
    """
    patterns = patterns_of(scenario)

    def value_of(name: str) -> JsonValue:
        return _returned(name, outputs) if name.startswith(CHECKPOINTS) else bindings[name]

    return None if patterns is None else [fill_text(pattern, value_of) for pattern in patterns]


def _returned(name: str, outputs: Mapping[str, JsonValue]) -> JsonValue:
    reference = reference_of(name, outputs)
    found = MISSING if reference is None else follow(outputs[reference.checkpoint_id], reference.steps)
    if found is MISSING:
        raise KeyError(name)
    return found


def mistakes_in_allowance(scenario: EvalScenario, variables: Collection[str]) -> Iterator[Finding]:
    """Yield what is wrong with the patterns: no list of texts, kinds that nobody knows, variables that nobody binds."""
    found = (scenario.extensions or {}).get(ALLOWED_CHANGES)
    if found is None:
        return
    if not isinstance(found, list):
        yield Finding(tokens=_PLACE_of_allowance, reason=f"expected a list, got {in_words(found)}", suggestion=_EXAMPLE)
        return
    for index, pattern in enumerate(found):
        tokens = (*_PLACE_of_allowance, index)
        if isinstance(pattern, str) and pattern.strip():
            yield from _mistakes_in_kind(pattern, tokens)
            yield from _mistakes_in_names(pattern, tokens, scenario, variables)
        else:
            yield Finding(tokens=tokens, reason=f"expected a pattern, got {in_words(pattern)}", suggestion=_EXAMPLE)


_EXAMPLE = "write what the agent may change, such as ['comments', 'issues.state']"


def _mistakes_in_kind(pattern: str, tokens: Tokens) -> Iterator[Finding]:
    read = _Pattern.read(pattern)
    kind, _, field = read.what.partition(".")
    if _ANYTHING in kind:
        pass
    elif kind not in KINDS and read.name.partition(" ")[0].partition(".")[0] in KINDS:
        hint = did_you_mean(kind, get_args(Change), otherwise="write 'created', 'changed' or 'deleted', or nothing")
        yield Finding(tokens=tokens, reason=f"there is no change {shortened(kind)}", suggestion=hint)
    elif kind not in KINDS:
        hint = did_you_mean(kind, KINDS, otherwise=f"known: {listed(sorted(KINDS))}")
        yield Finding(tokens=tokens, reason=f"{shortened(kind)} is no kind of object on GitHub", suggestion=hint)
    elif field and _ANYTHING not in field and field not in KINDS[kind]:
        hint = did_you_mean(field, KINDS[kind], otherwise=f"known: {listed(sorted(KINDS[kind])) or 'none'}")
        yield Finding(tokens=tokens, reason=f"{kind} have no field {shortened(field)}", suggestion=hint)


def _mistakes_in_names(
    pattern: str, tokens: Tokens, scenario: EvalScenario, variables: Collection[str]
) -> Iterator[Finding]:
    for written, name in near_misses_in(pattern):
        yield misspelt(written, name, tokens, variables)
    ids = [each.id for each in scenario.assertions.checkpoints]
    for name in names_in(pattern):
        if name.startswith(CHECKPOINTS):
            if reference_of(name, ids) is None:
                yield unknown_checkpoint(name, tokens, ids)
        elif name not in variables:
            yield unbound(name, tokens, variables, has_fixture=scenario.fixture is not None)


def fits(pattern: str, change: str, what: str, name: str) -> bool:
    """Say whether a pattern covers a change: `created`, `changed` or `deleted`, of what, and of which object.

    A pattern is a kind of object (`comments`), or a kind and a field (`issues.state`). What kind of change it must be
    may stand before it (`created issues`), and the object's name after it (`issues.state acme/widgets#7`,
    `refs acme/widgets refs/heads/fix-*`). `*` stands for anything.
    """
    wanted = _Pattern.read(pattern)
    return (
        wanted.change in {None, change}
        and (_matches(wanted.what, what) or _matches(wanted.what, what.partition(".")[0]))
        and _matches(wanted.name, name)
    )


class _Pattern(NamedTuple):
    change: str | None
    what: str
    name: str

    @classmethod
    def read(cls, text: str) -> "_Pattern":
        first, _, rest = text.strip().partition(" ")
        change = first if first in get_args(Change) else None
        what, _, name = (rest.lstrip() if change else text.strip()).partition(" ")
        return cls(change, what, name.strip() or _ANYTHING)


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(_ANYTHING))), text, re.DOTALL) is not None
