"""A scenario for one iteration: its variables replaced by where the fixtures really are."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

from pydantic import JsonValue, ValidationError

from ghx_bench._base.problems import did_you_mean, listed, pointer_of, shortened
from ghx_bench.documents import DocumentError, Finding, Problem, explain
from ghx_bench.eval.scenario.checkpoint_tasks import changing_task
from ghx_bench.eval.scenario.eval_scenario import Checkpoint, EvalScenario, FixtureRequirements, Origin
from ghx_bench.eval.scenario.manifest import FixtureManifest, is_repository
from ghx_bench.eval.scenario.slots import CHECKPOINT_LIST, PROMPT, Values, filled, references_in, slots_of
from ghx_bench.eval.scenario.templates import CHECKPOINTS, Tokens, fill_text, names_in
from ghx_bench.eval.scenario.variables import FIXTURE_REPO, OWNER, REPO, REPO_NAME, unbound, values_at, variable_names


class BindingError(DocumentError):
    """A scenario cannot be bound; the message has one line for each variable, fixture or value that is to blame."""

    code: ClassVar[str] = "UNBOUND_SCENARIO"

    @classmethod
    def about(cls, place: str, findings: Iterable[Finding]) -> "BindingError":
        """Put what was found into lines that begin with the place."""
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
    """Return the scenario with its `{{variables}}` replaced, in the prompt, in `fixture.repo` and in checkpoints.

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
    """Bind a scenario as `bind_fixture_variables` does, and keep the values for whoever has to know them."""
    binder = _Binder(scenario, manifest, dict(extra or {}))
    bound = binder.bind()
    if binder.findings:
        raise BindingError.about(f"scenario {scenario.id}", binder.findings)
    return Bound(bound, binder.values)


class _Binder:
    """Binds one scenario, and collects what is in the way."""

    def __init__(self, scenario: EvalScenario, manifest: FixtureManifest | None, extra: dict[str, JsonValue]) -> None:
        self.findings: list[Finding] = []
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
        """Derive owner and name of a repository, unless another gave them before."""
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
        wire = filled(checkpoint, lambda slot: self._values_for((*place, *slot.tokens), takes_null=slot.takes_anything))
        if wire is None:
            return checkpoint
        try:
            bound = Checkpoint.model_validate(wire)
        except ValidationError as error:
            for finding in explain(error, Checkpoint, wire):
                self._refuse((*place, *finding.tokens), f"after binding, {finding.reason}", None)
            return checkpoint
        # What is filled in may look like a reference; only the checkpoint as it was written tells them apart.
        return bound.coming_from(Origin(checkpoint, self._used_by(checkpoint))) if references_in(bound) else bound

    def _used_by(self, checkpoint: Checkpoint) -> dict[str, JsonValue]:
        names = {name for slot in slots_of(checkpoint) for name in names_in(slot.text)}
        return {name: value for name, value in self._values.items() if name in names}

    def _values_for(self, tokens: Tokens, *, takes_null: bool = False) -> Values:
        def value_of(name: str) -> JsonValue:
            if name in self._values:
                value = self._values[name]
                if value is None and not takes_null:
                    self._refuse(tokens, f"{{{{{name}}}}} is null, which cannot be put into a text", None)
                return value
            if not name.startswith(CHECKPOINTS):
                self._miss(name, tokens)
            elif tokens == PROMPT:
                self._refuse(tokens, f"{{{{{name}}}}} cannot be known yet", "checkpoints are made after the session")
            raise KeyError(name)

        return value_of

    def _miss(self, name: str, tokens: Tokens) -> None:
        finding = unbound(name, tokens, self._values, has_fixture=self._scenario.fixture is not None)
        lacks_fixtures = any(each.tokens[0] == "fixture" for each in self.findings)
        if finding not in self.findings and not (lacks_fixtures and name in variable_names(self._scenario)):
            self.findings.append(finding)

    def _add(self, name: str, value: JsonValue) -> None:
        self._values.setdefault(name, value)

    def _refuse(self, tokens: Tokens, reason: str, suggestion: str | None) -> None:
        finding = Finding(tokens=tokens, reason=reason, suggestion=suggestion)
        if finding not in self.findings:
            self.findings.append(finding)
