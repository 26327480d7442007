"""What is wrong with a configuration beyond its form: absent folders, unknown scenarios and sets."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from ghx_bench._base.errors import DocumentError
from ghx_bench._base.problems import Problem, Tokens, did_you_mean, pointer_of, shortened
from ghx_bench.documents import Document, problem
from ghx_bench.eval.checking.known_names import Configured, built_in_ids, scenario_ids, sets_in
from ghx_bench.eval.checking.mode_rules import mode_problems
from ghx_bench.eval.project.config import SCENARIO_DIRS, EvalConfig, absent_folders
from ghx_bench.profiler.selection import DEFAULT_SET


def config_problems(document: Document, config: EvalConfig) -> Iterator[Problem]:
    """Yield what is wrong with the modes and folders of a configuration."""
    yield from mode_problems(document, config)
    yield from absent_folders(document, SCENARIO_DIRS, config.scenario_dirs)
    yield from absent_folders(document, ("fixtures", "folders"), config.fixtures.folders)


def config_doubts(document: Document, config: EvalConfig) -> list[Problem]:
    """Return what a configuration says to no effect."""
    return [Problem(file=str(document.path), reason=each) for each in config.unused()]


def choice_problems(configured: Configured, ids: Collection[str], sets: Collection[str]) -> Iterator[Problem]:
    """Yield what a configuration chooses that is not there: neither among these, nor in its folders or the package."""
    document, chosen = configured.document, configured.written.scenarios
    folders = configured.placed.scenario_dirs
    lost = [(index, each) for index, each in enumerate(chosen.ids) if each not in ids]
    try:
        there = {*ids, *built_in_ids(), *scenario_ids(folders)} if lost else ids
    except DocumentError as error:
        yield from error.problems
        return
    for index, each in lost:
        if each not in there:
            yield unknown(document, ("scenarios", "ids", index), "scenario", each, there)
    if chosen.set is not None and not chosen.ids and chosen.set not in sets:
        known = {*sets, *sets_in(folders)}
        if chosen.set not in known:
            yield unknown(document, ("scenarios", "set"), "set", chosen.set, known)


def unknown(document: Document, tokens: Tokens, kind: str, name: str, known: Collection[str]) -> Problem:
    """Say that something does not exist that a document names."""
    reason = f"there is no {kind} {shortened(name)}"
    return problem(document, pointer_of(tokens), reason, did_you_mean(name, sorted(known)))


def chosen_ids(
    config: EvalConfig, sets: Mapping[str, Sequence[str]], scenarios: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return which of these scenarios, given with their tags, a configuration runs, as far as these sets tell."""
    name = config.scenarios.set or DEFAULT_SET
    everything = tuple(scenarios) if name == DEFAULT_SET else ()
    ids = config.scenarios.ids or sets.get(name, everything)
    tags = frozenset(config.scenarios.tags)
    return [each for each in ids if each in scenarios and (not tags or not tags.isdisjoint(scenarios[each]))]
