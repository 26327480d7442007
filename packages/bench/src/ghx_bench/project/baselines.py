"""`baselines.yaml`: the runs that were blessed, by name, which later runs are compared with."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import Field

from ghx_base.documents import read_document, validate_document
from ghx_base.documents.section import Name, Section, Text
from ghx_base.errors import InputError, OperationError
from ghx_base.files.atomic_files import write_atomically
from ghx_base.problems import did_you_mean
from ghx_bench.project.config_file import project_file
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.packs import run_folder

BASELINES_FILE = "baselines.yaml"

_HEAD = "# Written by `ghx-bench bless`: runs that later ones are held against, with `--against NAME`.\n"


class Baseline(Section):
    """A run that was accepted as a baseline."""

    run_id: Text = Field(description="The run's id.")
    path: Text = Field(description="Its folder, or its pack, seen from the folder of this file.")
    rows_sha256: Text = Field(description="What its rows are, so that no others are taken for them.")
    blessed_at: Text = Field(description="When it was blessed.")
    blessed_by: Text = Field(description="By whom.")


class Baselines(Section):
    """The baselines of a project."""

    baselines: dict[Name, Baseline] = Field(default={}, description="Runs by name.")


def baselines_file(config: Path | None = None) -> Path:
    """Return the path of a project's baselines: next to its configuration, or in the current folder."""
    file = project_file(config)
    return Path(BASELINES_FILE) if file is None else file.parent / BASELINES_FILE


def load_baselines(file: Path) -> Mapping[str, Baseline]:
    """Return the baselines in a file, none where there is no file; raise `DocumentError` if it is wrong."""
    return validate_document(read_document(file), Baselines).baselines if file.exists() else {}


def find_baseline(name: str, file: Path) -> Path:
    """Return the folder of a blessed run; raise if the name does not exist or its rows have changed."""
    baselines = load_baselines(file)
    if name not in baselines:
        otherwise = "`ghx-bench bless RUN` makes a run the baseline"
        raise InputError(
            f"there is no run and no baseline {name!r}; {did_you_mean(name, baselines, otherwise=otherwise)}"
        )
    run = file.parent / baselines[name].path
    if not run.exists():
        raise InputError(
            f"{file}: the run that was blessed as {name!r} is not in {run}; put it there, or bless another one"
        )
    if digest_rows(run) != baselines[name].rows_sha256:
        raise InputError(
            f"{run}: its rows are not those that were blessed as {name!r} ({file}); put these back, or bless it again"
        )
    return run


def digest_rows(run: Path) -> str:
    """Return the digest of the rows of a run, or of a pack."""
    try:
        with RunDirectory(run_folder(run)).rows.open("rb") as rows:
            return hashlib.file_digest(rows, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{run}: its rows cannot be read: {error.strerror or error}; name a run with rows") from None


def write_baseline(name: str, run: Path, *, run_id: str, at: str, by: str, file: Path) -> Baseline:
    """Make a run the baseline of this name, instead of any earlier one, and return what was written."""
    place, folder = run.resolve(), file.parent.resolve()
    baseline = Baseline(
        run_id=run_id,
        # Relative, so that a project can be cloned elsewhere; a run outside of it stays where it is.
        path=os.path.relpath(place, folder) if place.is_relative_to(folder) else str(place),
        rows_sha256=digest_rows(run),
        blessed_at=at,
        blessed_by=by,
    )
    whole = Baselines(baselines={**load_baselines(file), name: baseline})
    try:
        text = yaml.safe_dump(whole.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        write_atomically(file, (_HEAD + text).encode())
    except OSError as error:
        raise OperationError(f"{file}: cannot be written: {error.strerror or error}") from error
    return baseline
