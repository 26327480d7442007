"""What a seed says tools reported on commits."""

from ghx_bench.twin.commands import checks
from ghx_bench.twin.seed.checks import SeedCheck
from ghx_bench.twin.seed.histories import commit_named
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.plot import Plot
from ghx_bench.twin.seed.running import plant_job


def plant_checks(plot: Plot) -> None:
    """Report what tools said of commits."""
    for check in plot.seed.checks:
        with within("checks"):
            is_branch = plot.git.ref(f"refs/heads/{check.commit}") is not None
            plant_check(plot, check, commit_named(plot, check.commit), check.commit if is_branch else None)


def plant_check(plot: Plot, seed: SeedCheck, sha: str, branch: str | None) -> None:
    """Report a check run or a status on a commit; one that names a workflow is a job of a run of it."""
    with within(f"check {seed.name!r}"):
        if seed.kind == "check_run" and seed.workflow is not None:
            plant_job(plot, seed, sha, branch)
            return
        with plot.speaking(seed.creator or plot.steward, at=seed.at) as act:
            if seed.kind == "status":
                checks.create_status(
                    act, plot.record, sha=sha, state=seed.conclusion or "pending", context=seed.name,
                    description=seed.description, target_url=seed.url,
                )  # fmt: skip
                return
            checks.create_check_run(
                act, plot.record, sha=sha, name=seed.name, status=seed.status, details_url=seed.url, title=seed.title,
                conclusion=seed.conclusion or ("success" if seed.status == "completed" else None),
                summary=seed.summary, completed_at=seed.completed_at,
            )  # fmt: skip
