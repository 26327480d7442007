"""What can be wrong with a scenario beyond its form: names that nobody knows, and texts that will never be replaced."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ghx_bench._base.documents import Finding
from ghx_bench._base.problems import listed, nearest, plain, shortened
from ghx_bench.capabilities.ids import CAPABILITY_IDS, SIGNATURES, Signature
from ghx_bench.eval.manifest import is_repository
from ghx_bench.eval.references import check_references
from ghx_bench.eval.scenario import Checkpoint, EvalScenario
from ghx_bench.eval.scorers import custom_conditions_in, scorer_names
from ghx_bench.eval.slots import CHECKPOINT_LIST, PROMPT, Use, texts_of, uses_in
from ghx_bench.eval.templates import CHECKPOINTS, Tokens, names_in, near_misses_in
from ghx_bench.eval.variables import OWNER, REPO, REPO_NAME, repository_variable_names, unbound, variable_names

CONFIG_FILE = "eval.config.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What exists outside of scenario files, as far as they may name it.

    `variables` are those that the caller will give to `bind_fixture_variables` in `extra`, besides `run_id` and
    `fixture_repo`. `scorers` is asked only when a scenario has a `custom` condition.
    """

    capabilities: Collection[str] = frozenset(CAPABILITY_IDS)
    inputs: Mapping[str, Signature] = field(default_factory=lambda: SIGNATURES)
    scorers: Callable[[], Collection[str]] = scorer_names
    variables: Collection[str] = ()


def find_errors(scenario: EvalScenario, known: Known) -> Iterator[Finding]:
    """Yield what keeps a scenario from ever being measured rightly."""
    uses = uses_in(scenario)
    yield from _check_repository(scenario, known)
    yield from _check_variables(scenario, uses, known)
    for index, checkpoint in enumerate(scenario.assertions.checkpoints):
        place = (*CHECKPOINT_LIST, index)
        yield from _check_task(checkpoint, place, known)
        yield from _check_scorers(checkpoint, place, known)
    yield from check_references(scenario.assertions.checkpoints, uses)


def find_doubts(scenario: EvalScenario, known: Known) -> Iterator[Finding]:
    """Yield what is allowed, and probably not meant."""
    if not scenario.assertions.checkpoints:
        yield Finding(
            tokens=CHECKPOINT_LIST, reason="there are no checkpoints", suggestion="nothing is verified without one"
        )
    yield from _doubt_bindings(scenario)
    yield from _doubt_spellings(scenario, known)
    for index, checkpoint in enumerate(scenario.assertions.checkpoints):
        yield from _doubt_inputs(checkpoint, (*CHECKPOINT_LIST, index), known)
    for index, name in enumerate(scenario.assertions.expected_capabilities or ()):
        if name not in known.capabilities:
            yield _unknown_capability(name, ("assertions", "expectedCapabilities", index), known.capabilities)


def _check_repository(scenario: EvalScenario, known: Known) -> Iterator[Finding]:
    if scenario.fixture is None:
        return
    repo, tokens = scenario.fixture.repo, ("fixture", "repo")
    names = names_in(repo)
    there = repository_variable_names(scenario).union(known.variables)
    yield from (unbound(name, tokens, there) for name in names if name not in there)
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
                yield unbound(name, tokens, there)
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
    signature = known.inputs.get(task)
    if signature is None:
        return
    given: dict[str, str] = {}
    for key in checkpoint.input:
        name = signature.name_of(key)
        tokens = (*place, "input", key)
        if name is None:
            meant = nearest(key, signature.names)
            hint = f"did you mean {meant!r}?" if meant else f"it takes {listed(signature.names)}"
            yield Finding(tokens=tokens, reason=f"{task} takes no input {key!r}", suggestion=hint, at_key=True)
        elif given.setdefault(name, key) != key:
            reason = f"input {key!r} says the same as {given[name]!r}"
            yield Finding(tokens=tokens, reason=reason, suggestion="keep one of them", at_key=True)


def _unknown_capability(name: str, tokens: Tokens, capabilities: Collection[str]) -> Finding:
    meant = nearest(name, sorted(capabilities))
    domain = name.partition(".")[0] + "."
    beside = sorted(each for each in capabilities if each.startswith(domain))
    if meant:
        hint = f"did you mean {meant!r}?"
    elif beside:
        hint = f"those of {domain[:-1]!r} are {listed(beside)}"
    else:
        hint = f"they begin with one of {listed(sorted({each.partition('.')[0] for each in capabilities}))}"
    return Finding(tokens=tokens, reason=f"there is no capability {shortened(name)}", suggestion=hint)


def _check_scorers(checkpoint: Checkpoint, place: Tokens, known: Known) -> Iterator[Finding]:
    for tokens, condition in custom_conditions_in(checkpoint.condition, (*place, "condition")):
        names = sorted(known.scorers())
        if condition.scorer not in names:
            meant = nearest(condition.scorer, names)
            hint = f"did you mean {meant!r}?" if meant else f"name a file with it as 'scorers' in {CONFIG_FILE}"
            yield Finding(
                tokens=(*tokens, "scorer"),
                reason=f"no custom scorer is registered as {shortened(condition.scorer)}",
                suggestion=f"{hint}; known: {listed(names) or 'none'}",
            )


def _doubt_bindings(scenario: EvalScenario) -> Iterator[Finding]:
    if scenario.fixture is None:
        return
    used = {use.name for use in uses_in(scenario)}.union(names_in(scenario.fixture.repo))
    if used & {OWNER, REPO_NAME}:
        used.add(REPO)
    for name, path in scenario.fixture.bindings.items():
        fixture = path.partition(".")[0]
        tokens = ("fixture", "bindings", name)
        if fixture not in scenario.fixture.requires:
            meant = nearest(fixture, scenario.fixture.requires)
            hint = f"did you mean {meant!r}?" if meant else "add it there"
            yield Finding(tokens=tokens, reason=f"fixture {fixture!r} is not in fixture.requires", suggestion=hint)
        if name not in used:
            yield Finding(tokens=tokens, reason=f"{{{{{name}}}}} is bound and never used", at_key=True)


def _doubt_spellings(scenario: EvalScenario, known: Known) -> Iterator[Finding]:
    there = {plain(name): name for name in variable_names(scenario).union(known.variables)}
    for tokens, text in texts_of(scenario):
        for written, name in near_misses_in(text):
            meant = there.get(plain(name))
            if meant:
                yield Finding(
                    tokens=tokens,
                    reason=f"{written} is not replaced",
                    suggestion=f"write {{{{{meant}}}}} for the variable",
                )


def _doubt_inputs(checkpoint: Checkpoint, place: Tokens, known: Known) -> Iterator[Finding]:
    signature = known.inputs.get(checkpoint.task)
    if signature is None:
        return
    given = {signature.name_of(key) for key in checkpoint.input}
    missing = [name for name in signature.required if name not in given]
    if missing:
        yield Finding(tokens=(*place, "input"), reason=f"{checkpoint.task} needs {listed(missing)} as well")
