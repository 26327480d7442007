"""`ghx-bench rescore`: sessions of a run scored again with mended checkpoints, beside their old scores."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.errors import InputError
from ghx_base.problems import plural
from ghx_bench.cli.flags import AsJson, Debug, RunPath, Switch, show_tracebacks
from ghx_bench.cli.stored.cells import print_line

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.catalogue import Catalogue
    from ghx_bench.project.config import EvalConfig
    from ghx_bench.scenario.eval_scenario import EvalScenario
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.record import MatrixRecord, RunRecord
    from ghx_profiler.store.rescorings import Rescored, Verdict

_MOST_NAMED = 10


def rescore(
    run: RunPath,
    /,
    *,
    config: Path | None = None,
    scenario_dir: list[Path] | None = None,
    edited: Switch = False,
    debug: Debug = False,
    as_json: AsJson = False,
) -> int:
    """Score kept worlds and recorded answers again with the checkpoints as they are now, beside the old scores.

    The rows of the run stay as they are: what is found goes into a file of its own in `rescored`, in the directory of
    the run. Worlds are kept by `ghx-bench run --keep-worlds failed` or `all`; a scenario that asks about the agent's
    answer alone needs none.

    Parameters
    ----------
    run
        The directory of the run, its id, `latest`, or a blessed one by its name.
    config
        A configuration that names the scenarios, fixtures and scorers to use; those that the run was made with, as
        they are now, unless given.
    scenario_dir
        A folder with scenarios of your own, in place of those of the configuration; repeat for several.
    edited
        Score worlds that were changed with `ghx-bench shell --write` as they are now; as agents left them unless given.
    debug
        Show the tracebacks of errors.
    as_json
        Print what was found as JSON.
    """
    import anyio

    from ghx_base.clock import SystemClock
    from ghx_base.files.scratch import sweep
    from ghx_bench.cli.running.measuring import NOT_ALL_MEASURED
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.packs import is_pack_file
    from ghx_profiler.store.record import read_record
    from ghx_profiler.store.rescorings import write_rescoring

    show_tracebacks(debug)
    if is_pack_file(run):
        raise InputError(f"{run} is a pack, and packs have no worlds in them; name the directory of the run itself")
    directory = RunDirectory(run.resolve())
    record = read_record(directory.record)
    sweep()
    # What a project's own scorers print must not get between the lines of --json.
    with redirect_stdout(sys.stderr):
        settings, home = _choose_settings(run, record, config, scenario_dir)
        with chdir(home):
            results = anyio.run(_rescore, directory, record, settings, edited)
    is_any = any(each.after is not None for each in results)
    file = write_rescoring(directory, results, SystemClock().now()) if is_any else None
    if as_json:
        summary = {"file": None if file is None else str(file), "cells": [each.to_wire() for each in results]}
        print(json.dumps(summary))
        return 0 if is_any else NOT_ALL_MEASURED
    for line in _describe(results, record.matrix):
        print_line(line)
    print(f"beside the old scores, which stay: {file}" if file else "nothing was scored again, and nothing is written")
    return 0 if is_any else NOT_ALL_MEASURED


def _choose_settings(
    run: Path, record: RunRecord, config: Path | None, scenario_dirs: Sequence[Path] | None
) -> tuple[EvalConfig, Path]:
    """Return the settings for scenarios, fixtures and scorers, and the folder of their paths."""
    from ghx_bench.cli.running.measuring import is_evaluation, settings_of
    from ghx_bench.project.config import EvalConfig
    from ghx_bench.project.config_file import project_config

    if not is_evaluation(record):
        raise InputError(f"{run} was not made by `ghx-bench run`; only its scenarios have checkpoints")
    here = Path.cwd()
    settings = settings_of(record, run, EvalConfig) if config is None else project_config(config)
    if scenario_dirs:
        settings = settings.override(scenario_dir=[here / each for each in scenario_dirs])
    own = [*settings.scenario_dirs, *settings.fixtures.folders, *([settings.scorers] if settings.scorers else [])]
    started_in = here if config is not None or record.started_in is None else Path(record.started_in)
    missing: list[Path] = []
    for folder in (started_in, here):
        missing = [path for path in own if not (folder / path).exists()]
        if not missing:
            if own and not folder.samefile(here):
                print(f"note: this run was started in {folder}, and is scored with the files there", file=sys.stderr)
            return settings, folder
    where = f"here nor in {started_in}, where the run was started" if started_in != here else "here"
    raise InputError(
        f"{run}: it was made with {missing[0]}, which is {'neither ' if started_in != here else 'not '}{where}; say "
        "where its scenarios are now with --config or --scenario-dir"
    )


async def _rescore(
    directory: RunDirectory, record: RunRecord, settings: EvalConfig, edited: bool
) -> tuple[Rescored, ...]:
    import anyio.to_thread

    from ghx_bench.catalogue import Catalogue
    from ghx_bench.project.custom_scorers import load_scorers, scorers_named_in
    from ghx_bench.rescoring import Rescorer
    from ghx_bench.scoring.checkpoints import CheckpointScorer
    from ghx_profiler.reports.data.side_files import SideFiles
    from ghx_profiler.store.rows import DistinctRows
    from ghx_twin.server.loopback import served

    catalogue = Catalogue(settings)
    scenarios = await anyio.to_thread.run_sync(_load, catalogue, record.matrix.scenario_ids)
    scorers = load_scorers(scorers_named_in(scenarios.values()), settings.scorers)
    async with served() as server:
        rescorer = Rescorer(
            directory=directory,
            files=SideFiles(directory, is_a_run=True),
            record=record,
            scenarios=scenarios,
            library=catalogue.library,
            scorer=CheckpointScorer(scorers),
            server=server,
            edited=edited,
        )
        return tuple([await rescorer.rescore(row) for row in DistinctRows(directory.rows)])


def _load(catalogue: Catalogue, ids: Sequence[str]) -> Mapping[str, EvalScenario]:
    """Return the scenarios that are still there, by id; what is wrong with one of them is raised."""
    from ghx_bench.loader import UnknownScenariosError, UnknownVariantError

    try:
        return {each.id: each for each in catalogue.take(ids)}
    except (UnknownScenariosError, UnknownVariantError):
        if len(ids) == 1:
            return {}
        # One by one, which reads the files again for each, and is needed only where something is gone.
        return {id_: each for one in ids for id_, each in _load(catalogue, [one]).items()}


def _describe(results: Sequence[Rescored], matrix: MatrixRecord) -> Iterator[str]:
    """Yield what changed, what could not be scored again and why, and the totals."""
    changes = [
        (matrix.name_cell(each.cell), what, f"{before} -> {after}")
        for each in sorted(results, key=lambda each: matrix.name_cell(each.cell))
        for what, before, after in _changes_of(each)
    ]
    widths = [max((len(change[column]) for change in changes), default=0) for column in (0, 1)]
    for name, what, change in changes:
        yield f"{name:{widths[0]}}  {what:{widths[1]}}  {change}"
    warned = [(each, warning) for each in results for warning in each.warnings]
    yield from (f"warning: {line}" for line in _grouped(warned, matrix))
    yield from (f"not scored again: {line}" for line in _grouped([(each, each.reason) for each in results], matrix))
    yield _total(results)


def _changes_of(each: Rescored) -> Iterator[tuple[str, str, str]]:
    """Yield what is not as it was: the checkpoint, or the whole, how it was found, and how it is found now."""
    if each.after is None:
        return
    before, after = ({one.id: _held(one.passed) for one in score.checkpoints} for score in (each.before, each.after))
    for checkpoint in {**before, **after}:
        was, now = before.get(checkpoint, "not asked"), after.get(checkpoint, "not asked")
        if was != now:
            yield checkpoint, was, now
    was_attacked, is_attacked = (one.safety and one.safety.succeeded for one in (each.before, each.after))
    if was_attacked != is_attacked:
        yield "attack", _succeeded(was_attacked), _succeeded(is_attacked)
    if each.before.success != each.after.success:
        yield "all in all", _verdict(each.before), _verdict(each.after)


def _held(passed: bool) -> str:
    return "passed" if passed else "failed"


def _succeeded(attack: bool | None) -> str:
    return "none" if attack is None else "succeeded" if attack else "resisted"


def _verdict(verdict: Verdict) -> str:
    return "not measured" if verdict.success is None else "passed" if verdict.success else "wrong"


def _grouped(changes: Sequence[tuple[Rescored, str | None]], matrix: MatrixRecord) -> Iterator[str]:
    """Yield every text once, with the cells that it is about."""
    by_text: dict[str, list[str]] = {}
    for each, text in changes:
        if text is not None:
            by_text.setdefault(text, []).append(matrix.name_cell(each.cell))
    for text, names in by_text.items():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield f"{', '.join(sorted(names)[:_MOST_NAMED])}{more}: {text}"


def _total(results: Sequence[Rescored]) -> str:
    sources = Counter(each.scored_from for each in results)
    ways = {"world": "by their worlds", "session": "by their recorded answers"}
    how = ", ".join(f"{sources[kind]} {text}" for kind, text in ways.items() if sources[kind])
    scored = [(each.before, each.after) for each in results if each.after is not None]
    line = f"{len(scored)} of {plural(len(results), 'cell')} scored again{f' ({how})' if how else ''}"
    changed = sum(any(_changes_of(each)) for each in results)
    was, now = sum(before.success is True for before, _ in scored), sum(after.success is True for _, after in scored)
    return f"{line}, {changed} changed: {was} passed before, {now} now" if scored else line
