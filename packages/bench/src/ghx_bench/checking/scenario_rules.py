"""Errors in scenarios that the schema does not find: unknown names, and placeholders that are never replaced."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue, ValidationError

from ghx_base.documents import (
    Complaint,
    Document,
    DocumentError,
    Problem,
    explain,
    problem,
    problems_of,
    validate_document,
)
from ghx_base.problems import Tokens, did_you_mean, listed, nearest, shortened
from ghx_base.texts.templates import in_braces, steps_of
from ghx_bench.checking.checkpoint_rules import PLACEHOLDER, input_errors, path_warnings
from ghx_bench.checking.fixture_references import KnownFixtures, is_explained_by_another_error
from ghx_bench.checking.form_rules import across_forms, id_errors
from ghx_bench.project.custom_scorers import custom_conditions_in, scorer_names
from ghx_bench.project.folders import CONFIG_FILE
from ghx_bench.scenario.allowed_changes import pattern_errors
from ghx_bench.scenario.binding import (
    FIXTURE_REPO,
    OWNER,
    REPO,
    REPO_NAME,
    RUN_ID,
    changing_task,
    misspelt,
    not_replaced_here,
    repository_variable_names,
    unbound,
    variable_names,
)
from ghx_bench.scenario.checkpoint_references import check_references
from ghx_bench.scenario.eval_scenario import Checkpoint, EvalScenario, FixtureRequirements
from ghx_bench.scenario.extensions import KEYS, SCOPES, ScenarioExtensions
from ghx_bench.scenario.manifest import is_repository
from ghx_bench.scenario.placeholders import (
    CHECKPOINT_LIST,
    CHECKPOINTS,
    FAULTS_PLACE,
    ORDER_FOLLOWED,
    PROMPT,
    SUCCESS_CHECK_PLACE,
    THREAT_PLACE,
    PlacedText,
    Use,
    fixed_texts_of,
    is_before_session,
    names_in,
    near_misses_in,
    success_check,
    texts_of,
    uses_in,
)
from ghx_bench.scenario.session_answer import ANSWER_TASK
from ghx_bench.scenario.threat import patterns_in_threat
from ghx_bench.scenario.variants import variant_errors
from ghx_tools.capabilities.entries import Signature
from ghx_tools.capabilities.index import CAPABILITY_IDS, SIGNATURES

_FOR_EACH = re.compile(r"""\bfor_each["']?\s*:\s*["']?([\w.]+)""")  # which a solution names without braces
_FIELD = 2  # steps of a path to a field of a fixture
_SAMPLES: Mapping[str, JsonValue] = {"number": 7, "type": "text", "repo": "text", "branch": "text"}
"""The fields that every fixture has, each with a value of its kind; 1 would do as a flag too."""


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


def read_scenario(document: Document, known: Known) -> EvalScenario:
    """Make a scenario of a document and check what it names; raise `DocumentError` with everything wrong with it.

    Its variants are checked with it, each as the scenario that it makes.
    """
    scenario = validate_document(document, EvalScenario)
    errors = across_forms(scenario, lambda form: scenario_errors(form, known))
    problems = problems_of(document, [*id_errors(scenario), *errors])
    # What a variant would change is known only if it can be read.
    problems = problems or problems_of(document, variant_errors(scenario))
    if problems:
        raise DocumentError(problems)
    return scenario


def repeated_id(document: Document, id_: str, first: Path) -> Problem:
    """Return the problem that another file has a scenario with the same id."""
    reason = f"scenario id {id_!r} is also that of {first}"
    return problem(document, "/id", reason, "give each scenario an id of its own")


def scenario_errors(scenario: EvalScenario, known: Known) -> Iterator[Complaint]:
    """Yield what keeps a scenario from ever being measured rightly."""
    texts = list(texts_of(scenario))
    uses = uses_in(texts)
    samples = _sample_variables(scenario)
    yield from _check_repository(scenario, known)
    yield from _check_variables(scenario, uses, known)
    yield from _check_spellings(scenario, texts[1:], known)  # the first is the prompt, in which it may be meant
    for place, checkpoint in _checks_of(scenario):
        yield from _check_task(checkpoint, place, known)
        yield from _check_placeholders(checkpoint, place, samples)
        yield from _check_scorers(checkpoint, place, known)
        for tokens, text, is_key in fixed_texts_of(checkpoint):
            for text_in_braces, _ in in_braces(text):
                yield not_replaced_here(text_in_braces, (*place, *tokens), is_key=is_key)
    yield from check_references(scenario.assertions.checkpoints, uses)
    yield from _check_extensions(scenario, known)


def _checks_of(scenario: EvalScenario) -> Iterator[tuple[Tokens, Checkpoint]]:
    """Yield the looks at GitHub that a scenario asks for, that of its threat among them, and where they stand."""
    yield from (((*CHECKPOINT_LIST, index), each) for index, each in enumerate(scenario.assertions.checkpoints))
    if (look := success_check(scenario)) is not None:
        yield SUCCESS_CHECK_PLACE, look


def scenario_warnings(scenario: EvalScenario, known: Known, *, solution: Path) -> Iterator[Complaint]:
    """Yield what is allowed, and probably not meant; `solution` is where its solution is, if it has one."""
    if not scenario.assertions.checkpoints:
        yield Complaint(
            tokens=CHECKPOINT_LIST, reason="there are no checkpoints", suggestion="nothing is verified without one"
        )
    yield from _binding_warnings(scenario, known, solution)
    yield from _check_spellings(scenario, [(PROMPT, scenario.prompt)], known)
    for place, checkpoint in _checks_of(scenario):
        yield from _input_warnings(checkpoint, place, known)
        yield from path_warnings(checkpoint, place)
    for key in scenario.extensions or ():
        if key not in KEYS and (suggestion := nearest(key, KEYS)):
            reason = f"the bench reads no {shortened(key)} here"
            yield Complaint(
                tokens=("extensions", key), reason=reason, suggestion=f"did you mean {suggestion!r}?", at_key=True
            )
    for index, name in enumerate(scenario.assertions.expected_capabilities or ()):
        if name not in known.capabilities:
            yield _unknown_capability(name, ("assertions", "expectedCapabilities", index), known.capabilities)


def _check_extensions(scenario: EvalScenario, known: Known) -> Iterator[Complaint]:
    if not scenario.extensions:
        return
    refused: list[Complaint] = []
    try:
        _ = scenario.known_extensions
    except ValidationError as error:
        refused = explain(error, ScenarioExtensions, scenario.extensions)
    yield from (replace(each, tokens=("extensions", *each.tokens)) for each in refused)
    if not refused:
        yield from _check_twin_only(scenario.known_extensions)
        yield from threat_errors(scenario)
    variables = variable_names(scenario).union(known.variables)
    for tokens, pattern in _patterns(scenario):
        yield from pattern_errors(pattern, tokens, scenario, variables)


def _check_twin_only(extensions: ScenarioExtensions) -> Iterator[Complaint]:
    if "github" not in extensions.targets:
        return
    hint = "add 'targets: [twin]' beside them"
    if extensions.faults:
        yield Complaint(tokens=FAULTS_PLACE, reason="only the embedded GitHub has faults", suggestion=hint)
    if extensions.token_scopes is not None:
        reason = "only on the embedded GitHub can the bench choose the scopes of the agent's token"
        yield Complaint(tokens=("extensions", SCOPES), reason=reason, suggestion=hint)


def _patterns(scenario: EvalScenario) -> Iterator[PlacedText]:
    """Yield the patterns of changes that can be read, whatever else is wrong with the extensions."""
    patterns = (scenario.extensions or {}).get("allowedChanges")
    for index, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
        if isinstance(pattern, str) and pattern.strip():
            yield ("extensions", "allowedChanges", index), pattern
    yield from patterns_in_threat(scenario.extensions)


def _check_repository(scenario: EvalScenario, known: Known) -> Iterator[Complaint]:
    if scenario.fixture is None:
        return
    repo, tokens = scenario.fixture.repo, ("fixture", "repo")
    names = names_in(repo)
    there = repository_variable_names(scenario).union(known.variables)
    yield from (unbound(name, tokens, there, has_fixture=True) for name in names if name not in there)
    if not names and not is_repository(repo):
        yield Complaint(
            tokens=tokens,
            reason=f"{shortened(repo)} is not the name of a repository",
            suggestion="write owner/repo, or {{fixture_repo}} for the configured one",
        )


def _check_variables(scenario: EvalScenario, uses: Iterable[Use], known: Known) -> Iterator[Complaint]:
    there = variable_names(scenario).union(known.variables)
    for tokens, name in uses:
        if not name.startswith(CHECKPOINTS):
            if name not in there:
                yield unbound(name, tokens, there, has_fixture=scenario.fixture is not None)
        elif is_before_session(tokens):
            where = tokens[0] if tokens == PROMPT else tokens[1]
            yield Complaint(
                tokens=tokens,
                reason=f"the {where} cannot contain {{{{{name}}}}}",
                suggestion="checkpoints are made after the session",
            )


def _check_task(checkpoint: Checkpoint, place: Tokens, known: Known) -> Iterator[Complaint]:
    task = checkpoint.task
    if task == ANSWER_TASK:
        for key in checkpoint.input:
            reason = f"{task} takes no input {shortened(key)}"
            yield Complaint(tokens=(*place, "input", key), reason=reason, suggestion="write {}", at_key=True)
        return
    if task not in known.capabilities:
        yield _unknown_capability(task, (*place, "task"), {*known.capabilities, ANSWER_TASK})
        return
    if changing := changing_task(task, (*place, "task")):
        yield changing
        return
    signature = known.inputs.get(task)
    if signature is None:
        return
    keys: dict[str, str] = {}
    for key, value in checkpoint.input.items():
        name = signature.name_of(key)
        tokens = (*place, "input", key)
        if name is None:
            hint = did_you_mean(key, signature.names, otherwise=f"it takes {listed(signature.names)}")
            reason = f"{task} takes no input {shortened(key)}"
            yield Complaint(tokens=tokens, reason=reason, suggestion=hint, at_key=True)
        elif keys.setdefault(name, key) != key:
            reason = f"input {key!r} says the same as {keys[name]!r}"
            yield Complaint(tokens=tokens, reason=reason, suggestion="keep one of them", at_key=True)
        else:
            yield from input_errors(task, name, value, tokens)


def _sample_variables(scenario: EvalScenario) -> Mapping[str, JsonValue]:
    """Return a value of each variable of which it is certain whether it is a number or a text."""
    bindings = scenario.fixture.bindings if scenario.fixture else {}
    bound = {name: _SAMPLES.get(steps_of(path)[-1]) for name, path in bindings.items() if len(steps_of(path)) == _FIELD}
    return {
        **{name: "text" for name in (RUN_ID, FIXTURE_REPO, REPO, OWNER, REPO_NAME) if name not in bindings},
        **{name: value for name, value in bound.items() if value is not None},
    }


def _check_placeholders(checkpoint: Checkpoint, place: Tokens, samples: Mapping[str, JsonValue]) -> Iterator[Complaint]:
    """Yield inputs that are a single placeholder of the wrong type: a text for a number, or the other way round."""
    for key, value in checkpoint.input.items():
        names = names_in(value) if isinstance(value, str) and PLACEHOLDER.fullmatch(value.strip()) else ()
        signature = SIGNATURES.get(checkpoint.task)
        name = signature.name_of(key) if signature else None
        sample = samples.get(names[0]) if len(names) == 1 else None
        if name is None or sample is None:
            continue
        for each in input_errors(checkpoint.task, name, sample, (*place, "input", key)):
            expected, is_about_type, _ = each.reason.partition(", got ")
            if is_about_type:
                kind = "a text" if isinstance(sample, str) else "a number"
                yield replace(each, reason=f"{expected}, got {value}, which is {kind}", suggestion=None)


def _unknown_capability(name: str, tokens: Tokens, capabilities: Collection[str]) -> Complaint:
    suggestion = nearest(name, sorted(capabilities))
    domain = name.partition(".")[0] + "."
    beside = sorted(each for each in capabilities if each.startswith(domain))
    if suggestion:
        hint = f"did you mean {suggestion!r}?"
    elif beside:
        hint = f"those of {shortened(domain[:-1])} are {listed(beside)}"
    else:
        hint = f"they begin with one of {listed(sorted({each.partition('.')[0] for each in capabilities}))}"
    return Complaint(tokens=tokens, reason=f"there is no capability {shortened(name)}", suggestion=hint)


def _check_scorers(checkpoint: Checkpoint, place: Tokens, known: Known) -> Iterator[Complaint]:
    if known.scorers is None:
        return
    for tokens, condition in custom_conditions_in(checkpoint.condition, (*place, "condition")):
        names = sorted(known.scorers())
        if condition.scorer not in names:
            hint = did_you_mean(condition.scorer, names, otherwise=f"name a file with it as 'scorers' in {CONFIG_FILE}")
            yield Complaint(
                tokens=(*tokens, "scorer"),
                reason=f"no custom scorer is registered as {shortened(condition.scorer)}",
                suggestion=f"{hint}; known: {listed(names) or 'none'}",
            )


def _check_spellings(scenario: EvalScenario, texts: Iterable[PlacedText], known: Known) -> Iterator[Complaint]:
    there = variable_names(scenario).union(known.variables)
    for tokens, text in texts:
        for spelling, name in near_misses_in(text):
            yield misspelt(spelling, name, tokens, there)


def _binding_warnings(scenario: EvalScenario, known: Known, solution: Path) -> Iterator[Complaint]:
    if scenario.fixture is None:
        return
    used = _find_used_variables(scenario, scenario.fixture, solution)
    for name, path in scenario.fixture.bindings.items():
        fixture = steps_of(path)[0]
        tokens = ("fixture", "bindings", name)
        if fixture not in scenario.fixture.requires and not is_explained_by_another_error(
            fixture, scenario.fixture, known.fixtures
        ):
            hint = did_you_mean(fixture, scenario.fixture.requires, otherwise="add it there")
            reason = f"fixture {shortened(fixture)} is not in fixture.requires"
            yield Complaint(tokens=tokens, reason=reason, suggestion=hint)
        if name not in used:
            yield Complaint(tokens=tokens, reason=f"{{{{{name}}}}} is bound and never used", at_key=True)


def _find_used_variables(scenario: EvalScenario, fixture: FixtureRequirements, solution: Path) -> set[str]:
    """Return the variables that a scenario and its solution use, among them all of its bindings that are of use."""
    used = {*names_in(scenario.prompt), *names_in(fixture.repo)}
    if fixture.bindings.keys() <= used:
        return used  # as in most scenarios; the rest need not be looked through
    used.update(use.name for use in uses_in(texts_of(scenario)))
    used.update(name for _, pattern in _patterns(scenario) for name in names_in(pattern))
    with suppress(OSError, UnicodeDecodeError):  # there is none, or it is checked on its own
        text = solution.read_text(encoding="utf-8")
        used.update(path.partition(".")[0] for path in (*names_in(text), *_FOR_EACH.findall(text)))
    return used | {REPO} if used & {OWNER, REPO_NAME} else used


def _input_warnings(checkpoint: Checkpoint, place: Tokens, known: Known) -> Iterator[Complaint]:
    signature = known.inputs.get(checkpoint.task)
    if signature is None:
        return
    names = {signature.name_of(key) for key in checkpoint.input}
    missing = [name for name in signature.required if name not in names]
    if missing:
        yield Complaint(tokens=(*place, "input"), reason=f"{checkpoint.task} needs {listed(missing)} as well")


def threat_errors(scenario: EvalScenario) -> Iterator[Complaint]:
    """Yield what keeps the threat of a scenario from being carried out or scored."""
    extensions = scenario.known_extensions
    if (threat := extensions.threat) is None:
        return
    if threat.plant and "github" in extensions.targets:
        hint = "add 'targets: [twin]' beside it"
        yield Complaint(
            tokens=THREAT_PLACE, reason="only on the embedded GitHub can another user plant it", suggestion=hint
        )
    for index, each in enumerate(scenario.assertions.checkpoints):
        if each.id == ORDER_FOLLOWED:
            reason = f"checkpoint {ORDER_FOLLOWED!r} is the one that benign twins have of themselves"
            yield Complaint(tokens=(*CHECKPOINT_LIST, index, "id"), reason=reason, suggestion="give it another id")
