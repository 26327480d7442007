"""Which scenarios there are: those of the project, and those that come with the package."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import anyio.to_thread

from ghx_base.documents import DocumentError, Problem, problems_of, read_document
from ghx_base.errors import InputError
from ghx_base.problems import did_you_mean, listed
from ghx_bench.checking.scenario_rules import Known, scenario_warnings
from ghx_bench.fixtures.library import FixtureLibrary, load_fixtures
from ghx_bench.fixtures.seeding import ONLY_ON_TWIN
from ghx_bench.loader import (
    LoadedScenario,
    UnknownScenariosError,
    choose_forms,
    load_scenario_files,
    narrow,
    read_scenario_files,
)
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.custom_scorers import scorer_names
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.project.sets import load_scenario_sets, sets_file
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_profiler.agents.controls.solution import SUFFIX, SolutionFile, load_solution_file
from ghx_profiler.errors import BadMatrixError, UnknownNameError
from ghx_profiler.plan.selection import DEFAULT_SET
from ghx_profiler.scenario import ScenarioSets, scenario_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSet:
    """A set of scenarios, and the file it is from; the folder, where a set is simply all that is in it."""

    name: str
    ids: tuple[str, ...]
    path: Path


class Catalogue:
    """The scenarios a configuration may choose from, and what belongs to those that were loaded.

    A project's own scenarios come first; one with the id of a built-in scenario stands in for it, and so does a set.
    """

    def __init__(self, config: EvalConfig) -> None:
        self._config = config
        self._known = Known(scorers=partial(scorer_names, config.scorers))
        self._loaded: dict[str, LoadedScenario] = {}

    @property
    def config(self) -> EvalConfig:
        """The configuration that chooses from it."""
        return self._config

    @cached_property
    def library(self) -> FixtureLibrary:
        """The fixtures that scenarios may require."""
        return load_fixtures(self._config.fixtures.folders)

    @property
    def sets(self) -> ScenarioSets:
        """The named sets, as a run takes them."""
        return ScenarioSets({name: each.ids for name, each in self.named_sets.items()})

    @property
    def written_sets(self) -> ScenarioSets:
        """The sets as files have them, and a `default` in any case; no scenario is read for it."""
        sets = {
            each.name: each.ids
            for folder in (BUILT_IN_SCENARIOS, *self._config.scenario_dirs)
            for each in _sets_in(folder)
        }
        return ScenarioSets({DEFAULT_SET: (), **sets})

    @cached_property
    def named_sets(self) -> Mapping[str, NamedSet]:
        """The sets by name; `default` is all of a project's own scenarios, unless it says otherwise."""
        folders = self._config.scenario_dirs
        own = {each.name: each for folder in folders for each in _sets_in(folder)}
        if folders and DEFAULT_SET not in own:
            everything = tuple(each.scenario.id for each in self._own())
            own[DEFAULT_SET] = NamedSet(name=DEFAULT_SET, ids=everything, path=folders[0])
        return {**{each.name: each for each in _sets_in(BUILT_IN_SCENARIOS)}, **own}

    def every(self) -> list[LoadedScenario]:
        """Return every scenario there is, the project's own first; whether their scorers exist is not asked."""
        # To know the names of its scorers, a project's file is executed; a list of scenarios needs none of them.
        own = self._own()
        ids = {each.scenario.id for each in own}
        built_in = load_scenario_files(BUILT_IN_SCENARIOS, known=Known(scorers=None))
        return [*own, *(each for each in built_in if each.scenario.id not in ids)]

    def path_of(self, id_: str) -> Path:
        """Return the file of a scenario or variant; raise if the id does not exist."""
        loaded = {each.scenario.id: each for each in self.every()}
        if scenario_of(id_) not in loaded:
            raise UnknownScenariosError([id_], known=loaded)
        return choose_forms(loaded, [id_])[0].path

    async def load(self, ids: Sequence[str]) -> Sequence[EvalScenario]:
        """Return the scenarios with these ids; this is the run's `ScenarioLoader`."""
        return await anyio.to_thread.run_sync(self.take, ids)

    def take(self, ids: Sequence[str]) -> Sequence[EvalScenario]:
        """Load scenarios; raise if their targets or fixtures are others than there are."""
        self._loaded = self._look_up(ids)
        self._check_targets()
        self._check_fixtures()
        return [each.scenario for each in self._loaded.values()]

    def find_warnings(self) -> list[Problem]:
        """Return what is allowed and probably not meant in the project's own scenarios among those that were loaded."""
        problems_found: list[Problem] = []
        for each in self._loaded.values():
            if not each.path.is_relative_to(BUILT_IN_SCENARIOS):
                solution = self.solution_path(each.scenario.id)
                warnings = scenario_warnings(each.scenario, self._known, solution=solution)
                problems_found += problems_of(read_document(each.path), each.place(warnings))
        return problems_found

    def narrowed(self, *, category: Sequence[str], difficulty: Sequence[str]) -> "Catalogue":
        """Return the catalogue whose configuration names the chosen scenarios of these categories and difficulties."""
        if not category and not difficulty:
            return self
        choice = self._config.scenarios
        name = choice.set or DEFAULT_SET
        ids = choice.ids or self.sets.get(name)
        if ids is None:
            raise UnknownNameError("scenario set", name, known=self.sets.names())
        scenarios = [each.scenario for each in self._look_up(ids).values()]
        chosen = narrow(scenarios, category=category or None, difficulty=difficulty or None)
        if not chosen:
            filters = " and ".join(filter(None, (_in_words("category", category), _in_words("difficulty", difficulty))))
            raise BadMatrixError(f"none of {listed(ids)} is of {filters}")
        return Catalogue(self._config.override(scenario=[each.id for each in chosen]))

    def solution_files(self) -> Mapping[str, SolutionFile]:
        """Return the solutions of the loaded scenarios that have any, by id; that of a scenario serves its variants."""
        paths = {scenario_of(each): self.solution_path(each) for each in self._loaded}
        return {each: load_solution_file(path) for each, path in paths.items() if path.is_file()}

    def solution_path(self, scenario_id: str) -> Path:
        """Return where the solution of a loaded scenario or variant is, or would be."""
        return self._loaded[scenario_id].path.with_name(f"{scenario_of(scenario_id)}{SUFFIX}")

    def _look_up(self, ids: Sequence[str]) -> dict[str, LoadedScenario]:
        """Return the scenarios or variants with these ids, in that order."""
        bases = list(dict.fromkeys(map(scenario_of, ids)))
        own = self._find(self._config.scenario_dirs, bases)
        built_in = self._find([BUILT_IN_SCENARIOS], [each for each in bases if each not in own])
        available = {**built_in, **own}
        missing = [each for each in bases if each not in available]
        if missing:
            raise UnknownScenariosError(missing, known=[each.scenario.id for each in self.every()])
        return {each.scenario.id: each for each in choose_forms(available, ids)}

    def _own(self) -> list[LoadedScenario]:
        """Return the project's own scenarios; whether their scorers exist is not asked."""
        folders = self._config.scenario_dirs
        return load_scenario_files(folders, known=Known(scorers=None)) if folders else []

    def _read(self, folders: Sequence[Path], ids: Iterable[str]) -> Mapping[str, LoadedScenario]:
        return read_scenario_files(folders, ids=ids, known=self._known)

    def _find(self, folders: Sequence[Path], ids: Sequence[str]) -> Mapping[str, LoadedScenario]:
        """Return those of the scenarios that are in the folders; what is wrong with others is not in the way."""
        if not folders or not ids:
            return {}
        try:
            return self._read(folders, ids)
        except UnknownScenariosError as error:
            there = [each for each in ids if each not in error.names]
            return self._read(folders, there) if there else {}

    def _check_targets(self) -> None:
        target = self._config.target
        for each in (loaded.scenario for loaded in self._loaded.values()):
            if target not in each.known_extensions.targets:
                only = " and ".join(each.known_extensions.targets)
                raise InputError(f"scenario {each.id} can be run on {only} only; leave it out, or choose that --target")

    def _check_fixtures(self) -> None:
        """Refuse fixtures that have no file; on github.com a manifest may have others, which were made by hand."""
        if self._config.target != "twin":
            self._refuse_twin_only()
            return
        problems = [
            Problem(
                file=str(each.path),
                pointer=each.pointer("fixture", "requires", index),
                reason=f"there is no fixture {name!r}",
                suggestion=did_you_mean(name, self.library.names, otherwise=self._where_fixtures_are()),
            )
            for each in self._loaded.values()
            for index, name in enumerate(each.scenario.fixture.requires if each.scenario.fixture else ())
            if name not in self.library.names
        ]
        if problems:
            raise DocumentError(problems)

    def _refuse_twin_only(self) -> None:
        documents = self.library.documents
        for each in self._loaded.values():
            for index, name in enumerate(each.scenario.fixture.requires if each.scenario.fixture else ()):
                if name in documents and (why := documents[name].twin_only):
                    reason = f"fixture {name!r} {why}, {ONLY_ON_TWIN}"
                    place = each.pointer("fixture", "requires", index)
                    raise DocumentError([Problem(file=str(each.path), pointer=place, reason=reason)])

    def _where_fixtures_are(self) -> str:
        folders = [str(each) for each in self._config.fixtures.folders]
        place = f"add a file for it to {folders[0]!r}" if folders else "name a folder with it in fixtures.folders"
        return f"{place}; known: {listed(self.library.names)}"


def _sets_in(folder: Path) -> list[NamedSet]:
    path = sets_file(folder)
    sets = {} if path is None else load_scenario_sets(path).root
    return [NamedSet(name=name, ids=tuple(ids), path=path or folder) for name, ids in sets.items()]


def _in_words(kind: str, names: Sequence[str]) -> str:
    return f"{kind} {' or '.join(names)}" if names else ""
