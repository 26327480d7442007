"""Imports workflows with their newest runs: attempts, jobs, steps, logs, annotations and artifacts."""

import base64
import io
import re
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ghx_twin.seed.checks import SeedArtifact, SeedAttempt, SeedJob, SeedRun, SeedStep, SeedWorkflow
from ghx_twin.seed.format import SeedFile
from ghx_twin.seed.importing.accounts import People
from ghx_twin.seed.importing.checks import check_run_fields
from ghx_twin.seed.importing.github import GitHubReader, Json, RefusedError
from ghx_twin.seed.workflow_scripts import SeedAnnotation

_GONE = 410
_LARGEST_ARTIFACT = 1024 * 1024
_STEP_LOG = re.compile(r"(?P<job>.+)/(?P<number>\d+)_.*\.txt", re.DOTALL)
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|\x00-\x1f]')  # of jobs, where they name a folder in the zip of a run's logs
_TIME = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ?", re.MULTILINE)
StepLogs = dict[tuple[str, int], str]  # by the folder of the job and the number of the step


def read_runs(github: GitHubReader, repository: str, most: int | None) -> list[Json]:
    """Return the newest workflow runs, oldest first."""
    if most == 0:
        return []
    try:
        newest = github.pages(f"/repos/{repository}/actions/runs", within="workflow_runs")
        return sorted(islice(newest, most), key=lambda each: int(each["id"]))
    except RefusedError as error:
        if error.is_fault:
            raise
        github.skip(f"workflow runs ({error})")
        return []


@dataclass(frozen=True, slots=True)
class WorkflowImport:
    """Reads workflows; `check_runs` are known ones by id, and those that are jobs are taken out of it."""

    github: GitHubReader
    people: People
    repository: str
    check_runs: dict[int, Json]

    def import_workflows(self, runs: list[Json]) -> tuple[SeedWorkflow, ...]:
        """Return all workflows that have a file, with some of their runs."""
        path = f"/repos/{self.repository}/actions/workflows"
        listed = self.github.pages_if_visible("workflows", path, within="workflows")
        workflows: list[SeedWorkflow] = []
        for each in listed:
            if str(each["path"]).startswith(".github/workflows/"):  # others are GitHub's own
                its = tuple(self._run(run) for run in runs if run["workflow_id"] == each["id"])
                same = {name: each[name] for name in ("name", "path", "state")}
                times = {"at": _utc(each["created_at"]), "updated_at": _utc(each["updated_at"])}
                workflows.append(SeedWorkflow.model_validate({**same, **times, "runs": its}))
        return tuple(workflows)

    def _run(self, run: Json) -> SeedRun:
        first, *others = (self._attempt(run["id"], number) for number in range(1, run["run_attempt"] + 1))
        return SeedRun.model_validate(
            {
                **first.model_dump(),
                "id": run["id"],
                "number": run["run_number"],
                "event": run["event"],
                "title": run["display_title"],
                "commit": run["head_sha"],
                "branch": run["head_branch"],
                "artifacts": tuple(map(self._artifact, self._artifacts(run["id"]))),
                "reruns": tuple(others),
            }
        )

    def _attempt(self, run: int, number: int) -> SeedAttempt:
        path = f"/repos/{self.repository}/actions/runs/{run}/attempts/{number}"
        attempt = self.github.get(path)
        listed = sorted(self.github.pages(f"{path}/jobs", within="jobs"), key=lambda each: int(each["id"]))
        has_steps = any(each["steps"] for each in listed)
        state, logs = self._logs(f"{path}/logs") if has_steps else ("available", {})
        jobs = tuple(self._job(each, logs) for each in listed)
        return SeedAttempt.model_validate(
            {
                "actor": self.people.login(attempt.get("triggering_actor") or attempt.get("actor")),
                "jobs": jobs,
                "conclusion": None if jobs else attempt["conclusion"],
                "logs": state,
                "at": attempt["run_started_at"],
                "updated_at": attempt["updated_at"],
            }
        )

    def _logs(self, path: str) -> tuple[str, StepLogs]:
        """Return whether the logs of an attempt can be read, and those of its steps, without times."""
        try:
            content = self.github.download(path)
        except RefusedError as error:
            if error.is_fault:
                raise
            return "expired" if error.status == _GONE else "available", {}
        logs: StepLogs = {}
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                if entry := _STEP_LOG.fullmatch(name):
                    text = archive.read(name).decode("utf-8", "replace").replace("\r\n", "\n")
                    logs[entry["job"], int(entry["number"])] = _TIME.sub("", text)
        return "available", logs

    def _job(self, job: Json, logs: StepLogs) -> SeedJob:
        run = self.check_runs.pop(int(job["id"]), None)
        if run is None:  # the check run that a job is has its title, summary and address as well
            run = {**job, "html_url": None, "details_url": None}
        is_own_page = run["details_url"] == run["html_url"]
        folder = _NOT_IN_NAMES.sub("", job["name"]).strip()
        return SeedJob.model_validate(
            {
                **check_run_fields(run),
                "url": None if is_own_page else run["details_url"],
                "steps": tuple(_step(each, logs.get((folder, each["number"]))) for each in job["steps"] or ()),
                "annotations": tuple(self._annotations(run)),
            }
        )

    def _annotations(self, run: Json) -> list[SeedAnnotation]:
        output: Json = run.get("output") or {}
        if not output.get("annotations_count"):
            return []
        path = f"/repos/{self.repository}/check-runs/{run['id']}/annotations"
        same = SeedAnnotation.model_fields
        return [
            SeedAnnotation.model_validate({k: v for k, v in each.items() if k in same})
            for each in self.github.pages(path)
        ]

    def _artifacts(self, run: int) -> list[Json]:
        path = f"/repos/{self.repository}/actions/runs/{run}/artifacts"
        listed = self.github.pages_if_visible("artifacts", path, within="artifacts")
        return sorted(listed, key=lambda each: int(each["id"]))  # newest first otherwise

    def _artifact(self, shown: Json) -> SeedArtifact:
        is_expired, files = bool(shown["expired"]), dict[str, SeedFile]()
        if not is_expired and shown["size_in_bytes"] > _LARGEST_ARTIFACT:
            self.github.skip(f"the files of the artifact {shown['name']} ({shown['size_in_bytes']:,} bytes)")
        elif not is_expired:
            content = self.github.download(f"/repos/{self.repository}/actions/artifacts/{shown['id']}/zip")
            files = _unzip(content)
        fields: dict[str, Any] = {name: shown[name] for name in ("name", "updated_at", "expires_at")}
        return SeedArtifact.model_validate({**fields, "expired": is_expired, "files": files, "at": shown["created_at"]})


def _step(step: Json, log: str | None) -> SeedStep:
    fields = {name: step[name] for name in ("name", "status", "conclusion", "completed_at")}
    return SeedStep.model_validate({**fields, "log": log, "at": step["started_at"]})


def _unzip(content: bytes) -> dict[str, SeedFile]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [each.filename for each in archive.infolist() if not each.is_dir()]
        files = {name: base64.b64encode(archive.read(name)).decode() for name in names}
    return {name: SeedFile(content=each, encoding="base64") for name, each in files.items()}


def _utc(time: str) -> str:
    """Return a time as all other parts of the API write it; those of workflows have fractions and zones."""
    return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
