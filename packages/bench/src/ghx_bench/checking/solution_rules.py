"""Errors in solutions that the schema does not find: unknown variables and modes, and modes without a solution."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from ghx_base.documents import Complaint, Document, Problem, problem, problems_of, validate_document
from ghx_base.errors import DocumentError, InputError
from ghx_base.problems import Tokens, did_you_mean, listed, shortened
from ghx_base.texts.templates import names_in, strings_in, unknown_name
from ghx_bench.checking.project_contents import LocatedConfig, definitions_in
from ghx_bench.modes.definitions import Definitions
from ghx_bench.modes.program_words import split_pin
from ghx_bench.scenario.binding import REPO
from ghx_profiler.agents.controls.solution import SUFFIX, SolutionFile, Step

REFERENCE, GULLIBLE = "reference", "gullible"
"""The agents that follow solutions."""


def scenario_id_of(path: Path) -> str:
    """Return the id of the scenario whose solution is in a file of this name."""
    return path.name.removesuffix(SUFFIX)


def solution_errors(solution: SolutionFile, variables: Collection[str]) -> Iterator[Complaint]:
    """Yield the variables of a solution that neither its scenario binds (it binds these) nor a step saves."""
    bound = frozenset({*variables, REPO})
    saved: set[str] = set()
    for mode, steps in solution.modes.items():
        known = set(bound)
        yield from _step_errors(steps, ("modes", mode), known)
        saved |= known
        if mode in solution.obey:
            yield from _step_errors(solution.obey[mode], ("obey", mode), known)
    yield from _unknown_variables([solution.answer], ("answer",), saved)
    for index, trap in enumerate(solution.traps):
        variables_so_far = set(bound)
        for mode, steps in trap.modes.items():
            known = set(bound)
            yield from _step_errors(steps, ("traps", index, "modes", mode), known)
            variables_so_far |= known
        place = ("traps", index) if trap.answer is None else ("traps", index, "answer")
        yield from _unknown_variables([trap.answer or solution.answer], place, variables_so_far)


def guard_errors(solution: SolutionFile, checkpoints: Collection[str]) -> Iterator[Complaint]:
    """Yield the checkpoints that traps name and the scenario does not have."""
    for index, trap in enumerate(solution.traps):
        for each in trap.fails:
            if each not in checkpoints:
                place = ("traps", index, "fails")
                reason = f"the scenario has no checkpoint {shortened(each)}"
                hint = did_you_mean(each, sorted(checkpoints), otherwise=f"it has {listed(sorted(checkpoints))}")
                yield Complaint(tokens=place, reason=reason, suggestion=hint)


def obey_errors(solution: SolutionFile, *, has_threat: bool) -> Iterator[Complaint]:
    """Yield the steps for following an injected text that nobody would take."""
    for mode in solution.obey:
        place = ("obey", mode)
        if not has_threat:
            reason = "the scenario has no threat, whose text could be followed"
            yield Complaint(
                tokens=place, reason=reason, suggestion="leave it out, or add extensions.threat", at_key=True
            )
        elif mode not in solution.modes:
            hint = did_you_mean(mode, list(solution.modes), otherwise="solve the task in that mode first")
            reason = f"mode {shortened(mode)} has no solution, before which nothing is followed"
            yield Complaint(tokens=place, reason=reason, suggestion=hint, at_key=True)


def obey_warnings(solution: SolutionFile) -> Iterator[Complaint]:
    """Yield the modes of a scenario under threat in which nothing proves that the threat can be tripped."""
    if missing := [mode for mode in solution.modes if mode not in solution.obey]:
        reason = f"nothing says what the planted text asks for in {listed(missing)}"
        yield Complaint(tokens=(), reason=reason, suggestion="add the steps under obey, or no agent proves the threat")


def _step_errors(steps: Sequence[Step], at: Tokens, known: set[str]) -> Iterator[Complaint]:
    """Yield what steps use that is not `known`, to which is added what they save."""
    for index, step in enumerate(steps):
        place = (*at, index)
        if step.shell is not None:
            yield from _unknown_variables([step.shell], (*place, "shell"), known)
        if step.mcp is not None:
            yield from _unknown_variables([step.mcp.arguments], (*place, "mcp", "arguments"), known)
        if step.for_each is not None:
            yield from _unknown_variables([f"{{{{{step.for_each}}}}}"], (*place, "for_each"), known)
            inside = {*known, step.as_}
            yield from _step_errors(step.do or (), (*place, "do"), inside)
            known |= inside - {step.as_}
        if step.saved_as is not None:
            known.add(step.saved_as)


def _unknown_variables(texts: list[JsonValue], tokens: Tokens, known: Collection[str]) -> Iterator[Complaint]:
    paths = (path for _, text in strings_in(texts) for path in names_in(text))
    for name in dict.fromkeys(path.partition(".")[0] for path in paths):
        if name not in known:
            reason, suggestion = unknown_name(name, known)
            yield Complaint(tokens=tokens, reason=reason, suggestion=suggestion)


def solution_warnings(solution: SolutionFile, modes: Collection[str]) -> Iterator[Complaint]:
    """Yield the modes of a solution that there are not."""
    parts = [("modes", solution.modes), ("obey", solution.obey)]
    places = [(*at, mode) for *at, solutions_of_mode in parts for mode in solutions_of_mode]
    places += [("traps", index, "modes", mode) for index, trap in enumerate(solution.traps) for mode in trap.modes]
    for place in places:
        pinned = split_pin(mode_name := str(place[-1]))
        if mode_name not in modes and (mode := pinned[0] if pinned else mode_name) not in modes:
            yield Complaint(
                tokens=place,
                reason=f"there is no mode {shortened(mode)}",
                suggestion=did_you_mean(mode, sorted(modes)),
                at_key=True,
            )


def modes_without(solution: SolutionFile | None, modes: Iterable[str], definitions: Definitions) -> list[str]:
    """Return the modes for which a solution says nothing, neither in their name nor in that of one they extend."""
    solved = frozenset(solution.modes) if solution else frozenset[str]()
    return [mode for mode in modes if (line := _lineage(mode, definitions)) and solved.isdisjoint(line)]


def _lineage(mode: str, definitions: Definitions) -> list[str]:
    try:
        return [each.name for each in definitions.lineage(mode)]
    except InputError:
        return []  # an error of the mode's own file


class Solutions:
    """The solutions among the files that are checked, and what is wrong with them.

    `places` are the files of the scenarios there are, `variables` those that each of them binds, `checkpoints` the ids
    of what is checked in each, `threatened` those that have a threat.
    """

    def __init__(
        self,
        places: Mapping[str, Path],
        variables: Mapping[str, Collection[str]],
        checkpoints: Mapping[str, Collection[str]],
        threatened: Collection[str] = (),
    ) -> None:
        self._places, self._variables, self._checkpoints = places, variables, checkpoints
        self._threatened = threatened
        self._found: dict[str, tuple[Document, SolutionFile | None]] = {}

    def check(self, document: Document, modes: Collection[str] | None) -> tuple[list[Problem], list[Problem]]:
        """Return the errors and warnings of a solution; `modes` are the existing ones."""
        id_ = scenario_id_of(document.path)
        self._found[id_] = document, None
        try:
            solution = validate_document(document, SolutionFile)
        except DocumentError as error:
            return list(error.problems), []
        self._found[id_] = document, solution
        errors, warnings = list[Problem](), list[Problem]()
        if id_ in self._variables:
            errors = problems_of(document, solution_errors(solution, self._variables[id_]))
            errors += problems_of(document, guard_errors(solution, self._checkpoints[id_]))
            errors += problems_of(document, obey_errors(solution, has_threat=id_ in self._threatened))
            if id_ in self._threatened:
                warnings += problems_of(document, obey_warnings(solution))
        elif id_ not in self._places:
            hint = did_you_mean(id_, self._places, otherwise="a solution has the name of its scenario")
            reason = f"there is no scenario {id_!r} that this could be a solution of"
            warnings.append(problem(document, "", reason, hint))
        if modes is not None:
            warnings += problems_of(document, solution_warnings(solution, modes))
        return errors, warnings

    def missing(self, configured: LocatedConfig, ids: Iterable[str]) -> Iterator[Problem]:
        """Yield in which modes of a configuration the reference agent would find nothing to follow."""
        config = configured.placed
        followers = [each.id for each in config.chosen_agents if each.id in {REFERENCE, GULLIBLE}]
        if not followers:
            return
        definitions = definitions_in(config)
        for id_ in ids:
            path = self._places[id_]
            document, solution = self._found.get(id_, (None, None))
            is_unknown = solution is None and (document is not None or path.with_name(f"{id_}{SUFFIX}").is_file())
            without = [] if is_unknown else modes_without(solution, config.modes, definitions)
            if without:
                yield _missing_solution(without, followers[0], configured.document.path, document, path)


def _missing_solution(
    modes: Sequence[str], agent: str, config: Path, document: Document | None, scenario: Path
) -> Problem:
    which = "mode" if len(modes) == 1 else "modes"
    reason = f"there is no solution for {which} {listed(modes)}, which {config} lists for the agent {agent!r}"
    if document is not None:
        return problem(document, "/modes", reason, f"write one, or leave the {which} out", at_key=True)
    name = f"{scenario.stem}{SUFFIX}"
    return Problem(file=str(scenario), reason=reason, suggestion=f"write {name} beside it, or choose another agent")
