"""Settings of runs that are resumed."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from ghx_bench.eval.project.config import EvalConfig
from ghx_bench.eval.project.python_objects import file_of
from ghx_bench.eval.project.user_agents import replayed_run
from ghx_bench.profiler.config import ProfileConfig
from ghx_bench.profiler.errors import RunMismatchError
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.record import RunRecord, read_record

C = TypeVar("C", bound=ProfileConfig)


def made_by_evaluation(record: RunRecord) -> bool:
    """Say who made a run: an evaluation names its agent in its settings, a profile in its file."""
    return "provider" in record.config


def settings_of(record: RunRecord, run: Path, kind: type[C]) -> C:
    """Return the settings that a run was started with."""
    try:
        return kind.model_validate(record.config)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "/".join(map(str, first["loc"]))
        raise RunMismatchError(f"{run}: its settings are of another version ({where}: {first['msg']})") from None


def evaluation_settings(record: RunRecord, run: Path) -> EvalConfig:
    """Return the settings that an evaluation was started with; raise if the run is none."""
    if not made_by_evaluation(record):
        command = f"ghx-bench profile FILE --resume {shlex.quote(str(run))}"
        raise RunMismatchError(f"{run}: this run was made by a profile; resume it with its file, `{command}`")
    return settings_of(record, run, EvalConfig)


def home_of(run: Path) -> Path:
    """Return the folder in which an evaluation goes on, because the files of its project are there.

    That is the one where it was started or, if the project has been moved since, or it has none, the current one.
    """
    record, here = read_record(RunDirectory(run).record), Path.cwd()
    own = list(_own_files(evaluation_settings(record, run)))
    started_in = here if record.started_in is None or all(map(Path.is_absolute, own)) else Path(record.started_in)
    for folder in (started_in, here):
        missing = [path for path in own if not (folder / path).exists()]
        if not missing:
            return folder
    raise RunMismatchError(f"{run}: it was made with {missing[0]}, which is not here; {_remedy(record, missing[0])}")


def _own_files(config: EvalConfig) -> Iterator[Path]:
    """Yield the files and folders of a project that a run needs to go on."""
    yield from (*config.scenario_dirs, *config.fixtures.folders, *config.mode_files)
    yield from filter(None, (config.scorers, file_of(config.provider.id), replayed_run(config.provider)))


def _remedy(record: RunRecord, lost: Path) -> str:
    if lost.is_absolute():
        return "put it back"
    if record.started_in is None:
        return "resume it in the folder where it was started"
    return f"nor is it in {record.started_in}, where it was started; resume it in the folder where its project is now"
