"""Imports what tools reported on commits, and workflows with their newest runs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from ghx_bench.twin.seed.checks import SeedAttempt, SeedCommitCheck, SeedJob, SeedRun, SeedWorkflow
from ghx_bench.twin.seed.importing.accounts import People
from ghx_bench.twin.seed.importing.github import GitHubReader, Json, RefusedError


def read_check_runs(github: GitHubReader, repository: str, commits: Iterable[str]) -> dict[int, Json]:
    """Return the check runs of some commits by id, in the order they were made; jobs are among them."""
    found = [
        each
        for sha in commits
        for each in github.pages_if_shown(
            "check runs", f"/repos/{repository}/commits/{sha}/check-runs", within="check_runs", filter="all"
        )
    ]
    return {int(each["id"]): each for each in sorted(found, key=lambda each: int(each["id"]))}


def import_check_runs(runs: Iterable[Json]) -> Iterator[SeedCommitCheck]:
    """Yield check runs that are no jobs."""
    for run in runs:
        yield SeedCommitCheck.model_validate({**_check_run(run), "url": run["details_url"], "commit": run["head_sha"]})


def import_statuses(
    github: GitHubReader, people: People, repository: str, commits: Iterable[str]
) -> Iterator[SeedCommitCheck]:
    """Yield the statuses of some commits in the order they were made."""
    statuses = [
        (int(each["id"]), sha, each)
        for sha in commits
        for each in github.pages_if_shown("statuses", f"/repos/{repository}/commits/{sha}/statuses")
    ]
    for _, sha, status in sorted(statuses, key=lambda each: each[0]):
        yield SeedCommitCheck(
            kind="status",
            name=status["context"],
            conclusion=status["state"],
            description=status["description"],
            url=status["target_url"],
            commit=sha,
            creator=people.login(status["creator"]),
            at=status["created_at"],
        )


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
        listed = self.github.pages_if_shown("workflows", path, within="workflows")
        found: list[SeedWorkflow] = []
        for each in listed:
            if str(each["path"]).startswith(".github/workflows/"):  # others are GitHub's own
                its = tuple(self._run(run) for run in runs if run["workflow_id"] == each["id"])
                same = {name: each[name] for name in ("name", "path", "state")}
                times = {"at": _utc(each["created_at"]), "updated_at": _utc(each["updated_at"])}
                found.append(SeedWorkflow.model_validate({**same, **times, "runs": its}))
        return tuple(found)

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
                "reruns": tuple(others),
            }
        )

    def _attempt(self, run: int, number: int) -> SeedAttempt:
        path = f"/repos/{self.repository}/actions/runs/{run}/attempts/{number}"
        shown = self.github.get(path)
        listed = sorted(self.github.pages(f"{path}/jobs", within="jobs"), key=lambda each: int(each["id"]))
        jobs = tuple(self._job(each) for each in listed)
        return SeedAttempt.model_validate(
            {
                "actor": self.people.login(shown.get("triggering_actor") or shown.get("actor")),
                "jobs": jobs,
                "conclusion": None if jobs else shown["conclusion"],
                "at": shown["run_started_at"],
                "updated_at": shown["updated_at"],
            }
        )

    def _job(self, job: Json) -> SeedJob:
        run = self.check_runs.pop(int(job["id"]), None)
        if run is None:  # the check run that a job is has its title, summary and address as well
            run = {**job, "html_url": None, "details_url": None}
        is_own_page = run["details_url"] == run["html_url"]
        return SeedJob.model_validate({**_check_run(run), "url": None if is_own_page else run["details_url"]})


def _utc(time: str) -> str:
    """Return a time as all other parts of the API write it; those of workflows have fractions and zones."""
    return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _check_run(run: Json) -> Json:
    output: Json = run.get("output") or {}
    return {
        **{name: run[name] for name in ("name", "status", "conclusion", "completed_at")},
        **{name: output.get(name) for name in ("title", "summary")},
        "at": run["started_at"],
    }
