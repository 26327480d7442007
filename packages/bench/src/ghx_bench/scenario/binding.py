"""A scenario for one iteration: its variables replaced by where the fixtures really are."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple, cast

from pydantic import JsonValue

from ghx_base.documents import Complaint, DocumentError, Problem
from ghx_base.problems import Tokens, did_you_mean, listed, nearest, plain, pointer_of, shortened
from ghx_base.texts.templates import (
    MISSING,
    ValueOf,
    dead_end,
    fill,
    fill_text,
    follow,
    placeholder,
    steps_of,
    unknown_name,
)
from ghx_base.wire import JsonObject
from ghx_bench.scenario.eval_scenario import Checkpoint, EvalScenario, FixtureRequirements, Origin
from ghx_bench.scenario.extensions import FAULTS, WORKSPACE, names_in_workspace
from ghx_bench.scenario.manifest import FixtureManifest, is_repository
from ghx_bench.scenario.placeholders import (
    CHECKPOINT_LIST,
    CHECKPOINTS,
    FAULTS_PLACE,
    PROMPT,
    SUCCESS_CHECK_PLACE,
    THREAT_PLACE,
    WORKSPACE_PLACE,
    fill_checkpoint,
    has_references,
    is_before_session,
    is_name,
    names_used_by,
    success_check,
)
from ghx_bench.scenario.threat import BOUND_KEYS, THREAT, StateCheck, is_text_name, plants_in
from ghx_tools.capabilities.index import ENTRIES

RUN_ID = "run_id"
FIXTURE_REPO = "fixture_repo"
REPO = "repo"
OWNER = "owner"
REPO_NAME = "repo_name"
ALWAYS_THERE = (FIXTURE_REPO, RUN_ID)


def variable_names(scenario: EvalScenario) -> frozenset[str]:
    """Return the variables that the texts of a scenario may use."""
    if scenario.fixture is None:
        return frozenset(ALWAYS_THERE)
    return frozenset([*ALWAYS_THERE, *scenario.fixture.bindings, REPO, OWNER, REPO_NAME])


def repository_variable_names(scenario: EvalScenario) -> frozenset[str]:
    """Return the variables that `fixture.repo` may use: all but those that are derived from it."""
    bindings = scenario.fixture.bindings if scenario.fixture else {}
    return frozenset([*ALWAYS_THERE, *bindings, *((OWNER, REPO_NAME) if REPO in bindings else ())])


_WHERE_FROM = {
    RUN_ID: "the runner gives it",
    FIXTURE_REPO: "it is the configured repository, or that of the manifest",
}


def unbound(name: str, tokens: Tokens, known: Iterable[str], *, has_fixture: bool) -> Complaint:
    """Return the finding that nothing is bound to a variable, with what there is."""
    remedy = "add it to fixture.bindings" if has_fixture else "add a 'fixture' whose bindings have it"
    reason, suggestion = unknown_name(name, known, source=_WHERE_FROM.get(name), remedy=remedy)
    return Complaint(tokens=tokens, reason=reason, suggestion=suggestion)


def misspelt(in_braces: str, name: str, tokens: Tokens, known: Iterable[str]) -> Complaint:
    """Return the finding that a text in two braces is not a placeholder, with the nearest valid one."""
    names = sorted(known)
    exact = {plain(each): each for each in names}.get(plain(name))
    first, dot, path = name.partition(".")
    suggestion = nearest(name, names)
    if exact:
        hint = f"write {placeholder(exact)} for the variable"
    elif dot and path and nearest(first, [CHECKPOINTS[:-1]]):
        hint = f"did you mean {placeholder(CHECKPOINTS + path)}?"
    elif suggestion:
        hint = f"did you mean {placeholder(suggestion)}?"
    else:
        hint = f"a variable has letters, digits and underscores only; known: {listed(names)}"
    return Complaint(tokens=tokens, reason=f"{_shorten(in_braces)} is not replaced", suggestion=hint)


def not_replaced_here(in_braces: str, tokens: Tokens, *, is_key: bool) -> Complaint:
    """Return the finding that something in two braces stands where nothing is replaced."""
    where = "a key" if is_key else f"{tokens[-1]!r}"
    return Complaint(
        tokens=tokens,
        reason=f"{_shorten(in_braces)} is not replaced here, in {where}",
        suggestion="placeholders are replaced in values only",
        at_key=is_key,
    )


def _shorten(in_braces: str) -> str:
    return shortened(in_braces)[1:-1]  # without the quotes, which would make a placeholder look like a string


def values_at(bindings: Mapping[str, str], fixtures: JsonValue) -> tuple[dict[str, JsonValue], Sequence[Complaint]]:
    """Return the values that bindings lead to, and what is wrong with those that lead nowhere."""
    values: dict[str, JsonValue] = {}
    findings: list[Complaint] = []
    for name, path in bindings.items():
        value = follow(fixtures, steps_of(path))
        if value is MISSING:
            findings.append(_explain_dead_end(name, path, fixtures))
        else:
            values[name] = value
    return values, findings


def _explain_dead_end(name: str, path: str, fixtures: JsonValue) -> Complaint:
    taken, inside, step = dead_end(fixtures, steps_of(path))
    keys = list(cast("JsonObject", inside)) if isinstance(inside, dict) else []
    hint = did_you_mean(step, keys, otherwise=f"it has {listed(keys)}") if keys else None
    if taken:
        reason = f"{shortened('.'.join(taken))} has no {shortened(step)} in the manifest"
    else:
        reason, hint = f"the manifest has no fixture {shortened(step)}", hint or "seed the fixtures first"
    return Complaint(tokens=("fixture", "bindings", name), reason=reason, suggestion=hint)


def changing_task(task: str, tokens: Tokens) -> Complaint | None:
    """Return the finding that a capability changes GitHub, if it does: a checkpoint must not do the agent's work."""
    entry = ENTRIES.get(task)
    if entry is None or entry.effect == "reads":
        return None
    near = _reader_near(task)
    hint = "a checkpoint may only look" + (f": did you mean {near!r}?" if near else "")
    return Complaint(tokens=tokens, reason=f"{task} changes GitHub", suggestion=hint)


def _reader_near(task: str) -> str | None:
    """Return what looks at the thing that a capability changes: `pr.reviews.list` for `pr.reviews.submit`."""
    readers = [each.id for each in ENTRIES.values() if each.effect == "reads"]
    steps = task.split(".")
    for end in range(len(steps) - 1, 0, -1):
        family = ".".join(steps[:end]) + "."
        if near := [each for each in readers if each.startswith(family)]:
            # `view` and `list` tell most of what there is.
            return min(near, key=lambda id_: (id_.count("."), id_[-5:] != ".view", id_[-5:] != ".list", id_))
    return None


class BindingError(DocumentError):
    """A scenario cannot be bound; the message has one line for each variable, fixture or value that is to blame."""

    code: ClassVar[str] = "UNBOUND_SCENARIO"

    @classmethod
    def about(cls, place: str, findings: Iterable[Complaint]) -> "BindingError":
        """Return an error with a line for each finding, which begins with the place."""
        return cls(
            [
                Problem(
                    file=place,
                    pointer=pointer_of(finding.tokens),
                    reason=finding.reason,
                    suggestion=finding.suggestion,
                )
                for finding in findings
            ]
        )


def bind_fixture_variables(
    scenario: EvalScenario, manifest: FixtureManifest | None, extra: Mapping[str, JsonValue] | None = None
) -> EvalScenario:
    """Return the scenario with its `{{variables}}` replaced, in the prompt, `fixture`, the workspace and checkpoints.

    Values come from `extra`, else from the bindings' paths into the manifest. There are besides: `{{fixture_repo}}`,
    the manifest's repository; `{{repo}}`, that of `fixture.repo`; `{{owner}}` and `{{repo_name}}`, the two halves of
    `{{repo}}`; and `{{run_id}}`, which the runner gives in `extra`. In a checkpoint, a text that is one placeholder
    takes the type of the value. References to earlier checkpoints stay for the scorer, which gives the checkpoints
    to `bind_references`; what only looks like one, because a value contains it, stays for good.

    The scenario given is not changed. Whatever cannot be resolved, and every checkpoint that would change GitHub, is
    raised together, as one `BindingError`.
    """
    return bind(scenario, manifest, extra).scenario


class Bound(NamedTuple):
    """A scenario with its variables replaced, and what each of them stood for."""

    scenario: EvalScenario
    values: Mapping[str, JsonValue]


def bind(
    scenario: EvalScenario, manifest: FixtureManifest | None, extra: Mapping[str, JsonValue] | None = None
) -> Bound:
    """Bind a scenario as `bind_fixture_variables` does, and return the values of its variables as well."""
    binder = _Binder(scenario, manifest, dict(extra or {}))
    bound = binder.bind()
    if binder.findings:
        raise BindingError.about(f"scenario {scenario.id}", binder.findings)
    return Bound(bound, binder.values)


class _Binder:
    """Binds one scenario, and collects what is in the way."""

    def __init__(self, scenario: EvalScenario, manifest: FixtureManifest | None, extra: dict[str, JsonValue]) -> None:
        self.findings: list[Complaint] = []
        self._scenario = scenario
        self._manifest = manifest
        self._values: dict[str, JsonValue] = extra

    @property
    def values(self) -> Mapping[str, JsonValue]:
        """The variables known so far."""
        return self._values

    def bind(self) -> EvalScenario:
        scenario, changes = self._scenario, dict[str, object]()
        if self._manifest is not None:
            self._add(FIXTURE_REPO, self._manifest.repo)
        if scenario.fixture is not None:
            changes["fixture"] = self._bind_fixture(scenario.fixture)
        changes["prompt"] = fill_text(scenario.prompt, self._values_for(PROMPT))
        if workspace := dict(names_in_workspace(scenario.extensions)):
            changes["extensions"] = self._bind_workspace(scenario.extensions or {}, workspace)
        if (scenario.extensions or {}).get(FAULTS):
            extensions = cast("JsonObject", changes.get("extensions", scenario.extensions))
            changes["extensions"] = {**extensions, FAULTS: self._bind_faults(extensions[FAULTS], FAULTS_PLACE)}
        if isinstance(threat := (scenario.extensions or {}).get(THREAT), dict):
            extensions = cast("JsonObject", changes.get("extensions", scenario.extensions))
            changes["extensions"] = {**extensions, THREAT: self._bind_threat(threat)}
        checkpoints = tuple(self._bind_checkpoint(*each) for each in enumerate(scenario.assertions.checkpoints))
        changes["assertions"] = scenario.assertions.model_copy(update={"checkpoints": checkpoints})
        return scenario.model_copy(update=changes)

    def _bind_fixture(self, fixture: FixtureRequirements) -> FixtureRequirements:
        if self._manifest is not None:
            self._look_up(fixture, self._manifest)
        elif fixture.requires or fixture.bindings.keys() - self._values.keys():
            self._refuse(("fixture",), "the scenario needs fixtures, and there is no manifest", "seed them first")
            return fixture
        if REPO in self._values:
            self._take_apart(self._values[REPO], ("fixture", "bindings", REPO))
        repo = fill_text(fixture.repo, self._values_for(("fixture", "repo")))
        self._add(REPO, repo)
        self._take_apart(repo, ("fixture", "repo"))
        return fixture.model_copy(update={"repo": repo})

    def _bind_workspace(self, extensions: Mapping[str, JsonValue], names: Mapping[str, str]) -> dict[str, JsonValue]:
        bound: dict[str, JsonValue] = {}
        for key, text in names.items():
            place = (*WORKSPACE_PLACE, key)
            text_bound = bound[key] = fill_text(text, self._values_for(place))
            if (
                key != "branch"
                and not is_repository(text_bound)
                and not any(each.tokens == place for each in self.findings)
            ):
                self._refuse(
                    place, f"{shortened(text_bound)} is not the name of a repository", "it has the form owner/repo"
                )
        return {**extensions, WORKSPACE: {**cast("JsonObject", extensions[WORKSPACE]), **bound}}

    def _bind_faults(self, value: JsonValue, place: Tokens) -> JsonValue:
        """Replace placeholders in the rules; what they stand for is text, but in the body of a change."""
        match value:
            case str():
                return fill_text(value, self._values_for(place))
            case list():
                return [self._bind_faults(each, (*place, index)) for index, each in enumerate(value)]
            case dict():
                return {
                    key: fill(each, self._values_for((*place, key)))
                    if key == "body"
                    else self._bind_faults(each, (*place, key))
                    for key, each in value.items()
                }
            case _:
                return value

    def _bind_threat(self, threat: JsonObject) -> JsonObject:
        """Replace placeholders in a threat, but in its patterns, which may name what checkpoints return."""
        bound = {**threat}
        for key in [key for key in BOUND_KEYS if key in threat]:
            bound[key] = self._bind_faults(threat[key], (*THREAT_PLACE, key))
        for place, plant in plants_in(threat):
            filled = self._bind_plant(plant, (*THREAT_PLACE, *place))
            if len(place) == 1:
                bound["plant"] = filled
            else:
                bound[str(place[0])] = {**cast("JsonObject", threat[str(place[0])]), "plant": filled}
        if (look := success_check(self._scenario)) is not None:
            check, misfits = fill_checkpoint(look, lambda slot: self._values_for((*SUCCESS_CHECK_PLACE, *slot.tokens)))
            for each in misfits:
                self._refuse((*SUCCESS_CHECK_PLACE, *each.tokens), f"after binding, {each.reason}", None)
            wire = {key: each for key, each in check.to_wire().items() if key in StateCheck.model_fields}
            bound["succeeds"] = {**cast("JsonObject", threat["succeeds"]), "checkpoint": wire}
        return bound

    def _bind_plant(self, plant: JsonValue, place: Tokens) -> JsonValue:
        """Replace placeholders in injection requests; those of the texts stay until the injection."""
        values = self._values_for(place)

        def value_of(name: str) -> JsonValue:
            if is_text_name(name):
                raise KeyError(name)
            return values(name)

        return fill(plant, value_of)

    def _look_up(self, fixture: FixtureRequirements, manifest: FixtureManifest) -> None:
        for index, name in enumerate(fixture.requires):
            if name not in manifest.fixtures:
                there = f"it has {listed(manifest.fixtures) or 'none'}"
                hint = did_you_mean(name, manifest.fixtures, otherwise=there)
                self._refuse(("fixture", "requires", index), f"the manifest has no fixture {shortened(name)}", hint)
        bindings = {name: path for name, path in fixture.bindings.items() if name not in self._values}
        values, findings = values_at(bindings, manifest.to_wire()["fixtures"])
        self._values |= values
        self.findings += findings

    def _take_apart(self, repo: JsonValue, source: Tokens) -> None:
        """Derive owner and name of a repository, unless they are bound already."""
        if isinstance(repo, str) and is_repository(repo):
            owner, _, name = repo.partition("/")
            self._add(OWNER, owner)
            self._add(REPO_NAME, name)
        elif not any(each.tokens == source for each in self.findings):
            self._refuse(source, f"{shortened(repo)} is not the name of a repository", "it has the form owner/repo")

    def _bind_checkpoint(self, index: int, checkpoint: Checkpoint) -> Checkpoint:
        place: Tokens = (*CHECKPOINT_LIST, index)
        if changing := changing_task(checkpoint.task, (*place, "task")):
            self.findings.append(changing)
        bound, misfits = fill_checkpoint(
            checkpoint, lambda slot: self._values_for((*place, *slot.tokens), takes_null=slot.takes_anything)
        )
        for each in misfits:
            self._refuse((*place, *each.tokens), f"after binding, {each.reason}", None)
        if misfits or not has_references(bound):
            return bound
        # What is filled in may look like a reference; only the checkpoint as it was written tells them apart.
        names = names_used_by(checkpoint)
        used = {name: value for name, value in self._values.items() if name in names}
        return bound.with_origin(Origin(checkpoint, used))

    def _values_for(self, tokens: Tokens, *, takes_null: bool = False) -> ValueOf:
        def value_of(name: str) -> JsonValue:
            if name in self._values:
                value = self._values[name]
                if value is None and not takes_null:
                    self._refuse(tokens, f"{placeholder(name)} is null, which cannot be put into a text", None)
                return value
            if not is_name(name):
                pass  # braces of another language; where they are not meant, checking has warned of it
            elif not name.startswith(CHECKPOINTS):
                self._miss(name, tokens)
            elif is_before_session(tokens):
                reason = f"{placeholder(name)} cannot be known yet"
                self._refuse(tokens, reason, "checkpoints are made after the session")
            raise KeyError(name)

        return value_of

    def _miss(self, name: str, tokens: Tokens) -> None:
        finding = unbound(name, tokens, self._values, has_fixture=self._scenario.fixture is not None)
        lacks_fixtures = any(each.tokens[0] == "fixture" for each in self.findings)
        # Without its fixtures a scenario lacks all of its variables; that is one mistake, and reported as one.
        if finding not in self.findings and not (lacks_fixtures and name in variable_names(self._scenario)):
            self.findings.append(finding)

    def _add(self, name: str, value: JsonValue) -> None:
        self._values.setdefault(name, value)

    def _refuse(self, tokens: Tokens, reason: str, suggestion: str | None) -> None:
        finding = Complaint(tokens=tokens, reason=reason, suggestion=suggestion)
        if finding not in self.findings:
            self.findings.append(finding)
