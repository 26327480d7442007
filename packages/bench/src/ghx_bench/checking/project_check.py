"""Everything wrong with a project's files: scenarios, sets, fixtures, manifests, configurations; alone and together."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from ghx_base.documents import (
    Document,
    DocumentError,
    Problem,
    problem,
    problems_of,
    read_document,
    validate_document,
)
from ghx_base.errors import InputError
from ghx_base.problems import Tokens, did_you_mean, pointer_of, shortened
from ghx_bench.checking.fixture_references import fixture_errors
from ghx_bench.checking.form_rules import across_forms
from ghx_bench.checking.mode_rules import mode_errors, mode_file_errors
from ghx_bench.checking.project_contents import (
    LocatedConfig,
    ProjectContents,
    built_in_ids,
    is_known,
    scenario_ids,
    sets_in,
    with_variants,
)
from ghx_bench.checking.scenario_rules import Known, read_scenario, repeated_id, scenario_warnings
from ghx_bench.checking.solution_rules import Solutions, scenario_id_of
from ghx_bench.checking.world_rules import ObservedWorld, look_into_world, world_mistakes
from ghx_bench.fixtures.library import read_fixture, repeated_name
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.config_file import SCENARIO_DIRS, absent_folders
from ghx_bench.project.custom_scorers import scorer_names
from ghx_bench.project.file_kinds import Kind, kind_by_name, kind_of, mentions_ours, record_in
from ghx_bench.project.folders import CONFIG_FILE, PathLike, documents_in
from ghx_bench.project.gates import quarantine_mistakes
from ghx_bench.project.sets import read_sets
from ghx_bench.scenario.allowed_changes import check_ids
from ghx_bench.scenario.binding import variable_names
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.manifest import FixtureManifest
from ghx_bench.scenario.variants import variant_ids_in
from ghx_profiler.agents.controls.solution import SUFFIX
from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.plan.selection import DEFAULT_SET
from ghx_profiler.scenario import ScenarioSets

T = TypeVar("T")

_NOT_OURS = ("__pycache__", "node_modules", "results", "reports")
"""Folders of third-party tools, and those that the bench writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """A file that was checked, and what it is; `None` where that is not known."""

    path: Path
    kind: Kind | None


@dataclass(slots=True, kw_only=True)
class CheckResult:
    """The files that were checked, their errors, and as warnings what is allowed but probably not meant."""

    files: list[CheckedFile] = field(default_factory=list[CheckedFile])
    errors: list[Problem] = field(default_factory=list[Problem])
    warnings: list[Problem] = field(default_factory=list[Problem])


def check_files(paths: Sequence[PathLike], *, config: PathLike | None = None, today: date | None = None) -> CheckResult:
    """Look into the files named, and into those files of the folders named that are ours.

    Whether a quarantine has ended is looked at where it is said which day it is.

    The scorers that scenarios may name are those of the configurations among the files, and of `config`; without one,
    of the current folder's `eval.config.yaml`. The files with these scorers, and with agents that configurations name,
    are executed.
    """
    checker = _Checker(today)
    for path in map(Path, paths):
        if path.is_dir():
            top = os.path.basename(os.path.realpath(path))  # noqa: PTH119 - resolve() fails where links form a circle
            for file in documents_in(path, skip=_NOT_OURS):
                checker.read(file, (top, *file.relative_to(path).parts[:-1]), is_named=False)
        else:
            checker.read(path, (path.parent.name,) if path.is_absolute() else path.parts[:-1], is_named=True)
    if config is not None:
        checker.read(Path(config), (), is_named=True, kind="configuration")
    return checker.finish(beside=Path(CONFIG_FILE) if config is None else None)


class _Checker:
    """Reads all files first, because what one may name depends on the others."""

    def __init__(self, today: date | None) -> None:
        self._today = today or date.min
        self._result = CheckResult()
        self._documents: dict[Kind, list[Document]] = {}
        self._seen: set[str] = set()
        self._scenarios: dict[str, Path] = {}
        self._forms: set[str] = set()
        self._tags: dict[str, tuple[str, ...]] = {}
        self._variables: dict[str, frozenset[str]] = {}
        self._checkpoints: dict[str, frozenset[str]] = {}
        self._threatened: set[str] = set()
        self._sets: dict[str, Sequence[str]] = {}
        self._configs: list[LocatedConfig] = []
        self._worlds: dict[str, ObservedWorld] = {}

    def read(self, path: Path, folders: Collection[str], *, is_named: bool, kind: Kind | None = None) -> None:
        """Read a file, found in these folders; it is a `kind`, or what its name and content say."""
        if os.path.realpath(path) in self._seen:
            return
        try:
            document = read_document(path)
        except DocumentError as error:
            self._add_unreadable(path, kind or kind_by_name(path, folders), error, is_named=is_named)
            return
        kind = kind or kind_of(document.value, path, folders, is_named=is_named)
        if kind:
            self._documents.setdefault(kind, []).append(document)
        elif is_named:
            self._result.errors.append(_unrecognised_file(document))
        if kind or is_named:
            self._note(path, kind)

    def _add_unreadable(self, path: Path, kind: Kind | None, error: DocumentError, *, is_named: bool) -> None:
        if not (is_named or kind or mentions_ours(path)):
            return
        self._note(path, kind)
        self._result.errors += error.problems
        if kind == "scenario":
            self._scenarios.setdefault(path.stem, path)  # it exists, whatever is wrong with it

    def finish(self, *, beside: Path | None) -> CheckResult:
        """Check everything that was read; `beside` is a configuration whose scorers are known as well."""
        # In this order, since what one kind of file may name is in those before it.
        scorers = self._check_configurations(beside)
        manifests = [
            each for _, each in self._validate_each("manifest", partial(validate_document, model=FixtureManifest))
        ]
        self._check_fixtures()
        for _ in self._validate_each("seed", self._read_seed):
            pass
        # Where a configuration is wrong, what it would have brought is not known, and nothing is called missing.
        is_known = len(self._configs) == sum(each.kind == "configuration" for each in self._result.files)
        around = ProjectContents.around(self._configs, beside) if is_known else None
        fixtures = None
        if around is not None:
            drafts, scenarios = (self._documents.get(kind, ()) for kind in ("fixture", "scenario"))
            fixtures = around.fixtures(drafts, manifests, self._worlds, scenarios)
        known = Known(scorers=scorers, fixtures=fixtures)
        solved = {scenario_id_of(each.path) for each in self._documents.get("solution", ())}
        for document, scenario in self._validate_each("scenario", partial(read_scenario, known=known)):
            self._add_scenario(document, scenario, known)
            # Scenarios themselves are not stored: there can be many, and little of them is needed later.
            self._tags.setdefault(scenario.id, scenario.tags)
            if scenario.id in solved:
                self._variables.setdefault(scenario.id, variable_names(scenario))
                self._checkpoints.setdefault(scenario.id, check_ids(scenario))
                if scenario.known_extensions.threat is not None:
                    self._threatened.add(scenario.id)
        for document, sets in self._validate_each("sets", read_sets):
            self._sets.update(sets.root)
            self._result.errors += self._check_sets(document, sets)
        for _ in self._validate_each("agent", partial(validate_document, model=Recipe)):
            pass  # nothing of it is named by other files
        for document in self._documents.get("mode", ()):
            self._result.errors += mode_file_errors(document)
        self._check_solutions(around)
        for each in self._configs:
            self._result.errors += _choice_errors(each, {*self._scenarios, *self._forms}, self._sets)
            self._result.errors += _quarantine_errors(each, {*self._scenarios, *self._forms}, self._today)
            self._result.errors += _agent_errors(each)
        return self._sort_result()

    def _sort_result(self) -> CheckResult:
        """Return the result in the order of files and lines, each thing once, be it found in two ways."""
        for problems in (self._result.errors, self._result.warnings):
            problems[:] = sorted(
                dict.fromkeys(problems), key=lambda each: (each.file, each.line or 0, each.column or 0)
            )
        return self._result

    def _check_solutions(self, around: ProjectContents | None) -> None:
        solutions = Solutions(self._scenarios, self._variables, self._checkpoints, self._threatened)
        for document in self._documents.get("solution", ()):
            errors, warnings = solutions.check(document, around.modes if around else None)
            self._result.errors += errors
            self._result.warnings += warnings
        for each in self._configs:
            chosen = _chosen_ids(each.placed, self._sets, self._tags)
            self._result.warnings += solutions.missing(each, chosen)

    def _check_fixtures(self) -> None:
        paths: dict[str, Path] = {}
        for document, fixture in self._validate_each("fixture", read_fixture):
            first = paths.setdefault(fixture.name, document.path)
            if first != document.path:
                self._result.errors.append(repeated_name(document, fixture.name, first))
            if fixture.world is not None:
                try:
                    self._worlds[os.path.realpath(document.path)] = look_into_world(document, fixture)
                except DocumentError as error:
                    self._result.errors += error.problems
            if document.path.stem != fixture.name:
                reason = f"the file is called {document.path.name!r} and the fixture {fixture.name!r}"
                self._result.warnings.append(problem(document, "/name", reason, "call both the same"))

    def _read_seed(self, document: Document) -> object:
        from ghx_twin.seed.document import WorldSeed  # noqa: PLC0415 - few projects have one

        return validate_document(document, WorldSeed)

    def _check_configurations(self, beside: Path | None) -> Callable[[], frozenset[str]]:
        """Check the configurations; return how to find the scorers that scenarios may name because of them."""
        names = scorer_names()
        for document, config in self._validate_each("configuration", partial(validate_document, model=EvalConfig)):
            self._configs.append(LocatedConfig.of(document, config))
            self._result.warnings += (Problem(file=str(document.path), reason=each) for each in config.unused())
            self._result.errors += _config_errors(document, config)
            names |= self._scorers_of(document, config)
            for file in config.mode_files:
                self._note(document.path.parent / file, "mode")

        @cache
        def every_name() -> frozenset[str]:
            return names | self._scorers_beside(beside)

        return every_name

    def _scorers_beside(self, path: Path | None) -> frozenset[str]:
        """Return the scorers of a configuration that was not asked for; it matters only if a scenario names one."""
        if path is None or os.path.realpath(path) in self._seen or not path.is_file():
            return frozenset()
        try:
            document = read_document(path)
            return self._scorers_of(document, validate_document(document, EvalConfig))
        except DocumentError as error:
            self._result.errors += error.problems
            return frozenset()

    def _scorers_of(self, document: Document, config: EvalConfig) -> frozenset[str]:
        try:
            return scorer_names(config.scorers)
        except InputError as error:
            self._result.errors.append(problem(document, "/scorers", str(error)))
            return frozenset()

    def _add_scenario(self, document: Document, scenario: EvalScenario, known: Known) -> None:
        first = self._scenarios.setdefault(scenario.id, document.path)
        if first != document.path:
            self._result.errors.append(repeated_id(document, scenario.id, first))
        self._forms.update(variant_ids_in(document.value))
        if (fixtures := known.fixtures) is not None:
            mistakes = across_forms(
                scenario, lambda form: chain(fixture_errors(form, fixtures), world_mistakes(form, fixtures))
            )
            problems = problems_of(document, mistakes)
            (self._result.errors if fixtures.is_certain else self._result.warnings).extend(problems)
        warn = partial(scenario_warnings, known=known, solution=document.path.with_name(f"{scenario.id}{SUFFIX}"))
        self._result.warnings += problems_of(document, across_forms(scenario, warn, only_in_variants=True))
        if document.path.stem != scenario.id:
            reason = f"the file is called {document.path.name!r} and the scenario {scenario.id!r}"
            remedy = "call both the same to find one by the other"
            self._result.warnings.append(problem(document, "/id", reason, remedy))

    def _check_sets(self, document: Document, sets: ScenarioSets) -> Iterator[Problem]:
        if not self._scenarios:
            return  # the sets were given alone
        known_ids = {*self._scenarios, *self._forms, *built_in_ids()}
        for name, ids in sets.root.items():
            for index, each in enumerate(ids):
                if not is_known(each, known_ids):
                    yield _unknown_name(document, (name, index), "scenario", each, known_ids)

    def _validate_each(self, kind: Kind, validate: Callable[[Document], T]) -> Iterator[tuple[Document, T]]:
        for document in self._documents.get(kind, []):
            try:
                record = validate(document)
            except DocumentError as error:
                self._result.errors += error.problems
                if kind == "scenario":
                    self._remember_id(document)
            else:
                yield document, record

    def _remember_id(self, document: Document) -> None:
        """Remember that a scenario exists, although it is wrong."""
        id_ = document.value.get("id") if isinstance(document.value, dict) else None
        if isinstance(id_, str):
            self._scenarios.setdefault(id_, document.path)

    def _note(self, path: Path, kind: Kind | None) -> None:
        place = os.path.realpath(path)
        if place not in self._seen:
            self._seen.add(place)
            self._result.files.append(CheckedFile(path=path, kind=kind))


def _unrecognised_file(document: Document) -> Problem:
    record = record_in(document.value)
    if record:
        return problem(document, "", f"this is {record}, not a file that people write", "leave it out")
    hint = (
        "a scenario has 'prompt' and 'assertions', a fixture 'name' and 'issues', 'pulls' or 'world', a manifest "
        "'seedId' and 'fixtures', a configuration 'modes', a mode 'name' and 'extends' or 'tools', an agent 'name' and "
        "'command', and sets are lists of scenario ids by name"
    )
    return problem(document, "", "it is not clear what this file is", hint)


def _config_errors(document: Document, config: EvalConfig) -> Iterator[Problem]:
    """Yield what is wrong with the modes and folders of a configuration."""
    yield from mode_errors(document, config)
    yield from absent_folders(document, SCENARIO_DIRS, config.scenario_dirs)
    yield from absent_folders(document, ("fixtures", "folders"), config.fixtures.folders)


def _choice_errors(configured: LocatedConfig, ids: Collection[str], sets: Collection[str]) -> Iterator[Problem]:
    """Yield what a configuration chooses that is not there: neither among these, nor in its folders or the package."""
    document, chosen = configured.document, configured.written.scenarios
    folders = configured.placed.scenario_dirs
    lost = [(index, each) for index, each in enumerate(chosen.ids) if not is_known(each, ids)]
    try:
        there = {*ids, *built_in_ids(), *scenario_ids(folders)} if lost else ids
    except DocumentError as error:
        yield from error.problems
        return
    for index, each in lost:
        if not is_known(each, there):
            yield _unknown_name(document, ("scenarios", "ids", index), "scenario", each, there)
    if chosen.set is not None and not chosen.ids and chosen.set not in sets:
        set_names = {*sets, *sets_in(folders)}
        if chosen.set not in set_names:
            yield _unknown_name(document, ("scenarios", "set"), "set", chosen.set, set_names)


def _quarantine_errors(configured: LocatedConfig, ids: Collection[str], today: date) -> Iterator[Problem]:
    """Yield the scenarios in quarantine that are not there, or have been in it for too long."""
    entries = configured.written.quarantine
    scenario_names = {*ids, *built_in_ids(), *scenario_ids(configured.placed.scenario_dirs)} if entries else ()
    scenario_names = with_variants(scenario_names, (each.scenario for each in entries))
    for index, reason, remedy in quarantine_mistakes(entries, today=today, known=scenario_names):
        yield problem(configured.document, pointer_of(("quarantine", index)), reason, remedy)


def _agent_errors(configured: LocatedConfig) -> Iterator[Problem]:
    """Yield which agents of a configuration are not there, or cannot be called."""
    from ghx_bench.project.user_agents import check_agent  # noqa: PLC0415 - most files checked name no agent

    for index, agent in enumerate(configured.placed.chosen_agents):
        try:
            check_agent(agent)
        except InputError as error:
            place = ("agents", index, "id") if configured.written.agents else ("provider", "id")
            yield problem(configured.document, pointer_of(place), str(error))


def _unknown_name(document: Document, tokens: Tokens, kind: str, name: str, known: Collection[str]) -> Problem:
    """Return the problem that something does not exist that a document names."""
    reason = f"there is no {kind} {shortened(name)}"
    return problem(document, pointer_of(tokens), reason, did_you_mean(name, sorted(known)))


def _chosen_ids(
    config: EvalConfig, sets: Mapping[str, Sequence[str]], scenarios: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return which of these scenarios, given with their tags, a configuration runs, as far as these sets tell."""
    name = config.scenarios.set or DEFAULT_SET
    everything = tuple(scenarios) if name == DEFAULT_SET else ()
    ids = config.scenarios.ids or sets.get(name, everything)
    tags = frozenset(config.scenarios.tags)
    return [each for each in ids if each in scenarios and (not tags or not tags.isdisjoint(scenarios[each]))]
