"""Imports what tools reported on commits."""

from collections.abc import Iterable, Iterator

from ghx_twin.seed.checks import SeedCommitCheck
from ghx_twin.seed.importing.accounts import People
from ghx_twin.seed.importing.github import GitHubReader, Json


def read_check_runs(github: GitHubReader, repository: str, commits: Iterable[str]) -> dict[int, Json]:
    """Return the check runs of some commits by id, in the order they were made; jobs are among them."""
    runs = [
        each
        for sha in commits
        for each in github.pages_if_visible(
            "check runs", f"/repos/{repository}/commits/{sha}/check-runs", within="check_runs", filter="all"
        )
    ]
    return {int(each["id"]): each for each in sorted(runs, key=lambda each: int(each["id"]))}


def import_check_runs(runs: Iterable[Json]) -> Iterator[SeedCommitCheck]:
    """Yield check runs that are no jobs."""
    for run in runs:
        yield SeedCommitCheck.model_validate(
            {**check_run_fields(run), "url": run["details_url"], "commit": run["head_sha"]}
        )


def import_statuses(
    github: GitHubReader, people: People, repository: str, commits: Iterable[str]
) -> Iterator[SeedCommitCheck]:
    """Yield the statuses of some commits in the order they were made."""
    statuses = [
        (int(each["id"]), sha, each)
        for sha in commits
        for each in github.pages_if_visible("statuses", f"/repos/{repository}/commits/{sha}/statuses")
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


def check_run_fields(run: Json) -> Json:
    """Return what check runs and jobs have in common."""
    output: Json = run.get("output") or {}
    return {
        **{name: run[name] for name in ("name", "status", "conclusion", "completed_at")},
        **{name: output.get(name) for name in ("title", "summary")},
        "at": run["started_at"],
    }
