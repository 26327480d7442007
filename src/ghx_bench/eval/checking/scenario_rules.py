"""What can be wrong with a scenario beyond its form: unknown names, and texts that will never be replaced."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from pydantic import JsonValue, ValidationError

from ghx_bench._base.problems import Tokens, did_you_mean, listed, nearest, shortened
from ghx_bench._base.templates import LENGTH, in_braces, steps_of
from ghx_bench.capabilities.entries import Signature
from ghx_bench.capabilities.index import CAPABILITY_IDS, ENTRIES, PLANNED, SIGNATURES
from ghx_bench.capabilities.registry import capability
from ghx_bench.documents import Finding, explain
from ghx_bench.eval.checking.fixture_references import KnownFixtures, is_told_otherwise
from ghx_bench.eval.project.custom_scorers import custom_conditions_in, scorer_names
from ghx_bench.eval.project.folders import CONFIG_FILE
from ghx_bench.eval.scenario.binding import (
    OWNER,
    REPO,
    REPO_NAME,
    changing_task,
    misspelt,
    not_replaced_here,
    repository_variable_names,
    unbound,
    variable_names,
)
from ghx_bench.eval.scenario.checkpoint_references import check_references
from ghx_bench.eval.scenario.condition_base import Way
from ghx_bench.eval.scenario.conditions import ITEMS
from ghx_bench.eval.scenario.eval_scenario import Checkpoint, EvalScenario, FixtureRequirements
from ghx_bench.eval.scenario.extensions import (
    mistakes_in_allowance,
    mistakes_in_independence,
    mistakes_in_targets,
    patterns_of,
)
from ghx_bench.eval.scenario.manifest import is_repository
from ghx_bench.eval.scenario.placeholders import (
    CHECKPOINT_LIST,
    CHECKPOINTS,
    PROMPT,
    PlacedText,
    Use,
    fixed_texts_of,
    names_in,
    near_misses_in,
    texts_of,
    uses_in,
)

_BEGINS = "{{"


def mistakes_in_value(task: str, name: str, value: JsonValue, tokens: Tokens) -> Iterator[Finding]:
    """Yield what is wrong with one input of a capability.

    A value with a placeholder in it is known only once that is replaced, and left for then. So is whether several
    inputs go together.
    """
    if task not in ENTRIES:
        return
    if isinstance(value, dict | list):
        found = () if _BEGINS in json.dumps(value) else _mistakes(task, name, value)
    else:
        found = () if isinstance(value, str) and _BEGINS in value else _mistakes_once(task, name, value)
    for each in found:
        yield replace(each, tokens=(*tokens, *each.tokens[1:]))


@lru_cache(maxsize=4096, typed=True)
def _mistakes_once(task: str, name: str, value: str | float | bool | None) -> tuple[Finding, ...]:
    """Judge a value once, however many checkpoints have it."""
    return _mistakes(task, name, value)


def _mistakes(task: str, name: str, value: JsonValue) -> tuple[Finding, ...]:
    model, given = capability(task).operation.input, {name: value}
    try:
        model.model_validate(given)
    except ValidationError as error:
        return tuple(each for each in explain(error, model, given) if each.tokens[:1] == (name,))
    return ()


Schema = dict[str, Any]
_ANYTHING: Schema = {}
_NUMBER: Schema = {"type": "integer"}


class _Lost(NamedTuple):
    """Why a step leads nowhere, and what to write instead."""

    reason: str
    suggestion: str | None


def doubts_about_paths(checkpoint: Checkpoint, place: Tokens) -> Iterator[Finding]:
    """Yield the paths of a checkpoint's condition that lead nowhere, whatever its capability returns."""
    if checkpoint.task in ENTRIES:
        for part in checkpoint.condition.walk((*place, "condition")):
            for key, path in part.condition.paths():
                if lost := _lost(checkpoint.task, part.way, path):
                    yield Finding(tokens=(*part.tokens, key), reason=lost.reason, suggestion=lost.suggestion)


@lru_cache(maxsize=4096)
def _lost(task: str, way: Way, path: str) -> _Lost | None:
    """Follow a path through the schema of an output; return why it ends early."""
    output = _Output(_schema_of(task))
    parts = output.start
    for step in way:
        parts = output.items(parts) if step is None else output.inside(parts, step)
    steps = steps_of(path)
    for index, step in enumerate(steps):
        found = output.inside(parts, step)
        if parts and not found:
            whose = f"an item of what {task} returns" if way and way[-1] is None else f"what {task} returns"
            return _explain(whose, steps[:index], steps[index:], parts)
        parts = found
    return None


@cache
def _schema_of(task: str) -> Schema:
    return capability(task).operation.output.model_json_schema(mode="serialization")


class _Output:
    """The schema of an output, in which each place may hold one of several kinds of values."""

    def __init__(self, root: Schema) -> None:
        self._named: dict[str, Schema] = root.get("$defs", {})
        self.start = self._kinds(root)

    def inside(self, parts: Sequence[Schema], step: str) -> list[Schema]:
        """Return what a step can lead to."""
        return [kind for part in parts for found in _behind(part, step) for kind in self._kinds(found)]

    def items(self, parts: Sequence[Schema]) -> list[Schema]:
        """Return what the items of lists are, or of objects that have `items`."""
        lists = [inner for part in parts for inner in (self.inside([part], ITEMS) if _is_object(part) else [part])]
        return self.inside(lists, "0")

    def _kinds(self, schema: Schema) -> list[Schema]:
        """Follow references, and take choices apart."""
        if "$ref" in schema:
            return self._kinds(self._named[schema["$ref"].rpartition("/")[2]])
        choices = cast("list[Schema]", schema.get("anyOf") or schema.get("oneOf") or ())
        return [kind for each in choices for kind in self._kinds(each)] if choices else [schema]


def _behind(part: Schema, step: str) -> Iterator[Schema]:
    if _is_object(part):
        other = part.get("additionalProperties", True)
        if step in part.get("properties", {}):
            yield part["properties"][step]
        elif other is not False:
            yield _ANYTHING if other is True else other
    elif part.get("type") == "array":
        if step == LENGTH:
            yield _NUMBER
        elif step.isdecimal():
            yield part.get("items", _ANYTHING)
    elif "type" not in part and "const" not in part and "enum" not in part:
        yield _ANYTHING


def _is_object(part: Schema) -> bool:
    return part.get("type") == "object"


def _explain(whose: str, gone: Sequence[str], rest: Sequence[str], parts: Sequence[Schema]) -> _Lost:
    there, step = ".".join(gone), rest[0]
    place = f"in {whose}, {there}" if there else whose
    keys = [key for part in parts for key in part.get("properties", ())]
    if keys:
        return _Lost(f"{place} has no {shortened(step)}", did_you_mean(step, keys, otherwise=f"it has {listed(keys)}"))
    if any(part.get("type") == "array" for part in parts):
        better = ".".join((*gone, "0", *rest))
        return _Lost(f"{place} is a list", f"write {better} for its first item")
    return _Lost(f"{place} has nothing inside", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What exists outside of scenario files, as far as they may name it.

    `variables` are those that the caller will give to `bind_fixture_variables` in `extra`, besides `run_id` and
    `fixture_repo`. `scorers` is asked only when a scenario has a `custom` condition; `None` means that it is not
    known, and that any name will do. `fixtures` are those that there are; `None` means the same.
    """

    capabilities: Collection[str] = frozenset(CAPABILITY_IDS)
    inputs: Mapping[str, Signature] = field(default_factory=lambda: SIGNATURES)
    scorers: Callable[[], Collection[str]] | None = scorer_names
    variables: Collection[str] = ()
    fixtures: KnownFixtures | None = None


def find_errors(scenario: EvalScenario, known: Known) -> Iterator[Finding]:
    """Yield what keeps a scenario from ever being measured rightly."""
    texts = list(texts_of(scenario))
    uses = uses_in(texts)
    yield from _check_repository(scenario, known)
    yield from _check_variables(scenario, uses, known)
    yield from _check_spellings(scenario, texts[1:], known)  # the first is the prompt, in which it may be meant
    for index, checkpoint in enumerate(scenario.assertions.checkpoints):
        place = (*CHECKPOINT_LIST, index)
        yield from _check_task(checkpoint, place, known)
        yield from _check_scorers(checkpoint, place, known)
        yield from _check_fixed_texts(checkpoint, place)
    yield from check_references(scenario.assertions.checkpoints, uses)
    yield from mistakes_in_allowance(scenario, variable_names(scenario).union(known.variables))
    yield from mistakes_in_targets(scenario)
    yield from mistakes_in_independence(scenario)


def find_doubts(scenario: EvalScenario, known: Known) -> Iterator[Finding]:
    """Yield what is allowed, and probably not meant."""
    if not scenario.assertions.checkpoints:
        yield Finding(
            tokens=CHECKPOINT_LIST, reason="there are no checkpoints", suggestion="nothing is verified without one"
        )
    yield from _doubt_bindings(scenario, known)
    yield from _check_spellings(scenario, [(PROMPT, scenario.prompt)], known)
    for index, checkpoint in enumerate(scenario.assertions.checkpoints):
        yield from _doubt_inputs(checkpoint, (*CHECKPOINT_LIST, index), known)
        yield from doubts_about_paths(checkpoint, (*CHECKPOINT_LIST, index))
        if checkpoint.task in PLANNED:
            reason = f"{checkpoint.task} cannot be called yet"
            yield Finding(tokens=(*CHECKPOINT_LIST, index, "task"), reason=reason, suggestion="look in another way")
    for index, name in enumerate(scenario.assertions.expected_capabilities or ()):
        if name not in known.capabilities:
            yield _unknown_capability(name, ("assertions", "expectedCapabilities", index), known.capabilities)


def _check_repository(scenario: EvalScenario, known: Known) -> Iterator[Finding]:
    if scenario.fixture is None:
        return
    repo, tokens = scenario.fixture.repo, ("fixture", "repo")
    names = names_in(repo)
    there = repository_variable_names(scenario).union(known.variables)
    yield from (unbound(name, tokens, there, has_fixture=True) for name in names if name not in there)
    if not names and not is_repository(repo):
        yield Finding(
            tokens=tokens,
            reason=f"{shortened(repo)} is not the name of a repository",
            suggestion="write owner/repo, or {{fixture_repo}} for the configured one",
        )


def _check_variables(scenario: EvalScenario, uses: Iterable[Use], known: Known) -> Iterator[Finding]:
    there = variable_names(scenario).union(known.variables)
    for tokens, name in uses:
        if not name.startswith(CHECKPOINTS):
            if name not in there:
                yield unbound(name, tokens, there, has_fixture=scenario.fixture is not None)
        elif tokens == PROMPT:
            yield Finding(
                tokens=tokens,
                reason=f"the prompt cannot contain {{{{{name}}}}}",
                suggestion="checkpoints are made after the session",
            )


def _check_task(checkpoint: Checkpoint, place: Tokens, known: Known) -> Iterator[Finding]:
    task = checkpoint.task
    if task not in known.capabilities:
        yield _unknown_capability(task, (*place, "task"), known.capabilities)
        return
    if changing := changing_task(task, (*place, "task")):
        yield changing
        return
    signature = known.inputs.get(task)
    if signature is None:
        return
    given: dict[str, str] = {}
    for key, value in checkpoint.input.items():
        name = signature.name_of(key)
        tokens = (*place, "input", key)
        if name is None:
            hint = did_you_mean(key, signature.names, otherwise=f"it takes {listed(signature.names)}")
            reason = f"{task} takes no input {shortened(key)}"
            yield Finding(tokens=tokens, reason=reason, suggestion=hint, at_key=True)
        elif given.setdefault(name, key) != key:
            reason = f"input {key!r} says the same as {given[name]!r}"
            yield Finding(tokens=tokens, reason=reason, suggestion="keep one of them", at_key=True)
        else:
            yield from mistakes_in_value(task, name, value, tokens)


def _unknown_capability(name: str, tokens: Tokens, capabilities: Collection[str]) -> Finding:
    meant = nearest(name, sorted(capabilities))
    domain = name.partition(".")[0] + "."
    beside = sorted(each for each in capabilities if each.startswith(domain))
    if meant:
        hint = f"did you mean {meant!r}?"
    elif beside:
        hint = f"those of {shortened(domain[:-1])} are {listed(beside)}"
    else:
        hint = f"they begin with one of {listed(sorted({each.partition('.')[0] for each in capabilities}))}"
    return Finding(tokens=tokens, reason=f"there is no capability {shortened(name)}", suggestion=hint)


def _check_scorers(checkpoint: Checkpoint, place: Tokens, known: Known) -> Iterator[Finding]:
    if known.scorers is None:
        return
    for tokens, condition in custom_conditions_in(checkpoint.condition, (*place, "condition")):
        names = sorted(known.scorers())
        if condition.scorer not in names:
            hint = did_you_mean(condition.scorer, names, otherwise=f"name a file with it as 'scorers' in {CONFIG_FILE}")
            yield Finding(
                tokens=(*tokens, "scorer"),
                reason=f"no custom scorer is registered as {shortened(condition.scorer)}",
                suggestion=f"{hint}; known: {listed(names) or 'none'}",
            )


def _check_fixed_texts(checkpoint: Checkpoint, place: Tokens) -> Iterator[Finding]:
    for tokens, text, is_key in fixed_texts_of(checkpoint):
        for written, _ in in_braces(text):
            yield not_replaced_here(written, (*place, *tokens), is_key=is_key)


def _check_spellings(scenario: EvalScenario, texts: Iterable[PlacedText], known: Known) -> Iterator[Finding]:
    there = variable_names(scenario).union(known.variables)
    for tokens, text in texts:
        for written, name in near_misses_in(text):
            yield misspelt(written, name, tokens, there)


def _doubt_bindings(scenario: EvalScenario, known: Known) -> Iterator[Finding]:
    if scenario.fixture is None:
        return
    used = _used(scenario, scenario.fixture)
    for name, path in scenario.fixture.bindings.items():
        fixture = steps_of(path)[0]
        tokens = ("fixture", "bindings", name)
        if fixture not in scenario.fixture.requires and not is_told_otherwise(
            fixture, scenario.fixture, known.fixtures
        ):
            hint = did_you_mean(fixture, scenario.fixture.requires, otherwise="add it there")
            reason = f"fixture {shortened(fixture)} is not in fixture.requires"
            yield Finding(tokens=tokens, reason=reason, suggestion=hint)
        if name not in used:
            yield Finding(tokens=tokens, reason=f"{{{{{name}}}}} is bound and never used", at_key=True)


def _used(scenario: EvalScenario, fixture: FixtureRequirements) -> set[str]:
    """Return the variables that a scenario uses, among them all of its bindings that are of use."""
    used = {*names_in(scenario.prompt), *names_in(fixture.repo)}
    if fixture.bindings.keys() <= used:
        return used  # as in most scenarios; the rest need not be looked through
    used.update(use.name for use in uses_in(texts_of(scenario)))
    used.update(name for pattern in patterns_of(scenario) or () for name in names_in(pattern))
    return used | {REPO} if used & {OWNER, REPO_NAME} else used


def _doubt_inputs(checkpoint: Checkpoint, place: Tokens, known: Known) -> Iterator[Finding]:
    signature = known.inputs.get(checkpoint.task)
    if signature is None:
        return
    given = {signature.name_of(key) for key in checkpoint.input}
    missing = [name for name in signature.required if name not in given]
    if missing:
        yield Finding(tokens=(*place, "input"), reason=f"{checkpoint.task} needs {listed(missing)} as well")
