"""Sessions and findings next to rows, in the layout of a run or of the older packages."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pydantic import ValidationError

from ghx_base.problems import Problem
from ghx_profiler.analyzers.files import SessionFile, examine, sessions_in
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.analysis import SessionAnalysisBundle
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.traces import NoTraceError, parse_trace

T = TypeVar("T", SessionTrace, SessionAnalysisBundle, SessionActivity)
MOST_ANALYZED = 2_000
"""Of more sessions than these a report analyzes none: it takes long, and `analyze` keeps what it finds."""
_FOREIGN = "-analysis.json"
"""How the older packages end the names of files of findings; ours are called as the session's file is."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFindings:
    """What lies on disk of a session, and whether analyzers of the older packages found it rather than ours."""

    bundle: SessionAnalysisBundle
    is_foreign: bool


class SideFiles:
    """The files next to the rows of one source; their existence is checked once.

    A file that is there and cannot be read is returned as a problem. Rows from elsewhere may name anything, so names
    that lead out of the folder find nothing, and next to rows alone a file belongs to the row of its session only.
    """

    def __init__(self, directory: RunDirectory, *, is_a_run: bool) -> None:
        self._directory = directory
        self._is_a_run = is_a_run
        self._sessions = directory.path / "sessions"
        self._findings = directory.path / "analysis"
        self.has_sessions = self._sessions.is_dir()
        self.has_findings = self._findings.is_dir()
        # Counted no further than needed: a folder of 100,000 sessions takes seconds to list.
        first = islice(sessions_in(self._sessions), MOST_ANALYZED + 1) if self.has_sessions else ()
        self.has_too_many = sum(1 for _ in first) > MOST_ANALYZED
        self.left_some = False
        """Whether a session was not analyzed because there are too many."""

    def trace(self, row: ProfileRow) -> SessionTrace | Problem | None:
        """Return the session of a row."""
        session_file = self._session_file(row)
        return session_file if session_file is None else session_file[1]

    def activity(self, row: ProfileRow) -> SessionActivity | Problem | None:
        """Return the changes and requests of a row's session, if its run saved them."""
        activity = _read(SessionActivity.model_validate_json, self._directory.activity(row.cell))
        # Rows alone may be next to the files of another run.
        is_its_own = (
            self._is_a_run or isinstance(activity, Problem) or activity is None or activity.session_id == row.session_id
        )
        return activity if is_its_own else None

    def stored_findings(self, row: ProfileRow) -> StoredFindings | Problem | None:
        """Return what analyzers wrote down of the session of a row."""
        if not self.has_findings:
            return None
        older = (f"{row.mode}-iter-{row.iteration}", f"{row.mode}-iter-{row.iteration}-analysis")
        analysis_file = self._first(
            SessionAnalysisBundle.model_validate_json,
            self._directory.find_analysis(row.cell),
            self._findings,
            older,
            row,
        )
        if analysis_file is None:
            return None
        path, bundle = analysis_file
        if isinstance(bundle, Problem):
            return bundle
        return StoredFindings(bundle=bundle, is_foreign=path.name.endswith(_FOREIGN))

    def new_findings(
        self, row: ProfileRow, scenarios: Mapping[str, BaseScenario]
    ) -> SessionAnalysisBundle | Problem | None:
        """Analyze the session of a row now, if that is not too much work; nothing is written."""
        if self.has_too_many:
            self.left_some |= bool(row.session_id)
            return None
        session_file = self._session_file(row)
        if session_file is None:
            return None
        path, trace = session_file
        if isinstance(trace, Problem):
            return trace
        place = PurePosixPath(path.relative_to(self._sessions).as_posix())
        scenario = scenarios.get(row.scenario_id)
        return examine(SessionFile(path=path, place=place, cell=row.cell, row=row, scenario=scenario))

    def analyze_command(self) -> str:
        """Return the command that analyzes these sessions and puts the findings where a report finds them."""
        if self._is_a_run:
            return f"ghx-bench analyze {self._directory.path}"
        return f"ghx-bench analyze --sessions {self._sessions} --output-dir {self._findings}"

    def _session_file(self, row: ProfileRow) -> tuple[Path, SessionTrace | Problem] | None:
        if not self.has_sessions:
            return None
        older = (f"{row.mode}-iter-{row.iteration}",)
        return self._first(parse_trace, self._directory.find_session(row.cell), self._sessions, older, row)

    def _first(
        self, parse: Callable[[bytes], T], usual: Path, folder: Path, older: tuple[str, ...], row: ProfileRow
    ) -> tuple[Path, T | Problem] | None:
        """Return the first file that is this row's; a damaged one only if there is no other."""
        damaged: tuple[Path, Problem] | None = None
        # The older packages wrote names as they are: only those that cannot lead out of the folder are looked for.
        places = (folder / row.scenario_id, folder) if _is_inside(row) else ()
        for path in (usual, *(place / f"{stem}.json" for stem in older for place in places)):
            content = _read(parse, path)
            if isinstance(content, Problem):
                damaged = damaged or (path, content)
            elif content is not None and (content.session_id == row.session_id or (self._is_a_run and path == usual)):
                return path, content
        return damaged


def _is_inside(row: ProfileRow) -> bool:
    """Return whether files of the older packages, which wrote names as they are, lie below the folder."""
    return all(_SAFE.fullmatch(name) for name in (row.mode, row.scenario_id))


def _read(parse: Callable[[bytes], T], path: Path) -> T | Problem | None:
    try:
        return parse(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Problem(file=str(path), reason=error.strerror or str(error), suggestion="make it readable")
    except NoTraceError as error:
        return Problem(file=str(path), reason=f"does not hold a session ({error.reason})", suggestion=error.remedy)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"/{part}" for part in first["loc"])
        return Problem(
            file=str(path),
            reason=f"does not hold what it should ({where or 'all of it'}: {first['msg']})",
            suggestion="restore the file, or take it away",
        )
