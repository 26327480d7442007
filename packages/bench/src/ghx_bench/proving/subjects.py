"""Which scenarios are proved, in which modes, and why some cannot be."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghx_base.errors import InputError
from ghx_bench.agent_factory import EvaluationSpec
from ghx_bench.catalogue import Catalogue
from ghx_bench.loader import LoadedScenario, UnknownScenariosError, narrow
from ghx_bench.modes.definitions import Definitions
from ghx_bench.project.config import EvalConfig, definitions_of
from ghx_bench.project.config_file import DEFAULT_MODES, project_config, project_file
from ghx_bench.project.config_sections import ProviderChoice
from ghx_bench.project.folders import BUILT_IN_SCENARIOS, SCENARIOS_FOLDER
from ghx_bench.proving.proof import Subject
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.scenario_changes import BENIGN
from ghx_profiler.agents.controls.nop import NopProvider
from ghx_profiler.agents.controls.solution import SUFFIX, Solution, SolutionFile, Trap
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.scenario import EVERY_FORM, scenario_of, variant_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is chosen among the scenarios there are; nothing said is all of them."""

    paths: tuple[Path, ...] = ()
    config: Path | None = None
    scenarios: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    set: str | None = None
    modes: tuple[str, ...] = ()

    @property
    def is_narrowed(self) -> bool:
        """Whether it is about some of the scenarios there are."""
        return bool(self.scenarios or self.categories or self.set)


def is_project(config: Path | None = None) -> bool:
    """Return whether the current folder holds a project: a configuration, or a folder with scenarios."""
    return project_file(config) is not None or Path(SCENARIOS_FOLDER).is_dir()


def choose_subjects(choice: Choice) -> tuple[EvaluationSpec, list[Subject]]:
    """Return the scenarios that are chosen, each with its variants, and what their worlds and modes are made of."""
    config = _config_of(choice)
    catalogue, definitions = Catalogue(config), Definitions(definitions_of(config))
    modes = _modes_of(config, choice, definitions)
    scenarios = {each.scenario.id: each for each in catalogue.every()}
    ids = _ids_in(catalogue, scenarios.values(), choice)
    if missing := [each for each in ids if scenario_of(each) not in scenarios]:
        raise UnknownScenariosError(missing, known=scenarios)
    chosen = _narrow([scenarios[each] for each in dict.fromkeys(map(scenario_of, ids))], choice)
    obstacles = {each.scenario.id: _find_obstacle(each) for each in chosen}
    # Those that cannot be proved are not looked into any further: a fixture of theirs need not be there.
    provable = [each for each in ids if obstacles.get(scenario_of(each), "not chosen") is None]
    forms = catalogue.take([each if variant_of(each) else each + EVERY_FORM for each in provable])
    files = catalogue.solution_files()
    subjects = [_subject(each, files[each.base_id], modes, definitions) for each in forms]
    used = dict.fromkeys(mode for each in subjects for mode in (*each.solutions, *(mode for _, mode, _ in each.traps)))
    spec = EvaluationSpec(
        config=config.model_copy(update={"modes": tuple(used)}),
        project=Path.cwd(),
        scenarios=tuple(each.scenario for each in subjects if each.unproved is None),
        modes=definitions_of(config),
        fixtures=catalogue.library,
        solutions={},
    )
    reasons = ((each.scenario, obstacles[each.scenario.id]) for each in chosen)
    unproved = [Subject(scenario=scenario, unproved=reason) for scenario, reason in reasons if reason is not None]
    return spec, [*subjects, *unproved]


def _narrow(loaded: Sequence[LoadedScenario], choice: Choice) -> list[LoadedScenario]:
    selected = {each.id for each in narrow([each.scenario for each in loaded], category=choice.categories or None)}
    if not selected:
        raise InputError(f"none of the scenarios is of category {' or '.join(choice.categories)}")
    return [each for each in loaded if each.scenario.id in selected]


def _find_obstacle(loaded: LoadedScenario) -> str | None:
    """Return why a scenario cannot be proved, if that is so."""
    targets, solution = loaded.scenario.known_extensions.targets, f"{loaded.scenario.id}{SUFFIX}"
    if "twin" not in targets:
        return f"it can be run on {' and '.join(targets)} only, and is proved on the embedded GitHub"
    return None if loaded.path.with_name(solution).is_file() else f"there is no {solution} beside it"


def _config_of(choice: Choice) -> EvalConfig:
    """Return the configuration whose fixtures, scorers and modes are used, with an agent that needs nothing."""
    config = project_config(choice.config)
    folders = {"scenario_dirs": choice.paths} if choice.paths else {}
    return config.model_copy(
        update={
            **folders,
            "agents": (),
            "provider": ProviderChoice(id=NopProvider.name),
            "target": "twin",
            "sandbox": "plain",
        }
    )


def _ids_in(catalogue: Catalogue, scenarios: Iterable[LoadedScenario], choice: Choice) -> Sequence[str]:
    if choice.scenarios:
        return choice.scenarios
    if choice.set is not None:
        ids = catalogue.sets.get(choice.set)
        if ids is None:
            raise UnknownNameError("scenario set", choice.set, known=catalogue.sets.names())
        return ids
    places = {each.scenario.id: each.path for each in scenarios}
    return [id_ for id_, path in places.items() if not path.is_relative_to(BUILT_IN_SCENARIOS)] or list(places)


def _modes_of(config: EvalConfig, choice: Choice, definitions: Definitions) -> Sequence[str]:
    for mode in choice.modes:
        if mode not in definitions.names:
            raise UnknownNameError("mode", mode, known=definitions.names)
    return choice.modes or config.modes or DEFAULT_MODES


def _subject(scenario: EvalScenario, file: SolutionFile, modes: Sequence[str], definitions: Definitions) -> Subject:
    solution_of = {mode: file.solution_for(*(each.name for each in definitions.lineage(mode))) for mode in modes}
    available = {mode: solution for mode, solution in solution_of.items() if solution is not None}
    if not available:
        return Subject(scenario=scenario, unproved=f"its solution has nothing for mode {' or '.join(modes)}")
    # In a benign variant, what the injected text says is part of the task.
    solutions = {
        mode: each.with_order if scenario.variant == BENIGN else each.model_copy(update={"obey": ()})
        for mode, each in available.items()
    }
    if scenario.variant is not None:
        # Mistakes are tried in the scenario as it is: its checkpoints are the same ones.
        return Subject(scenario=scenario, solutions=solutions, is_variant=True)
    has_threat = scenario.known_extensions.threat is not None
    return Subject(
        scenario=scenario,
        solutions=solutions,
        traps=tuple(_traps_in(file, definitions)),
        gullible={mode: each for mode, each in available.items() if each.obey} if has_threat else {},
    )


def _traps_in(file: SolutionFile, definitions: Definitions) -> Iterator[tuple[Trap, str, Solution]]:
    """Yield each wrong solution with its mode: those of the file, whichever modes are chosen, since each guards."""
    for trap in file.traps:
        for mode, steps in trap.modes.items():
            if mode in definitions.names:
                yield trap, mode, Solution(steps=steps, answer=trap.answer or file.answer)
