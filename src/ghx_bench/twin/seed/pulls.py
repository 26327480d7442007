"""The pull requests of a seed: opened, reviewed, judged by checks, ended."""

from ghx_bench.twin.commands import merges, pulls, restoring, reviews
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.plot import Plot
from ghx_bench.twin.seed.reporting import plant_check
from ghx_bench.twin.seed.reviews import plant_reviews
from ghx_bench.twin.seed.talk import SeedOutcome, SeedPull
from ghx_bench.twin.state.records import Pull, Team, User
from ghx_bench.twin.world import Act


def open_pull(act: Act, plot: Plot, seed: SeedPull) -> Pull:
    """Open a pull request, or put one back whose history came in a bundle."""
    base = seed.base or plot.record.default_branch
    if seed.outcome is not None:
        return _restore(act, plot, seed, seed.outcome, base)
    for branch in (base, seed.head):
        if ":" not in branch and plot.git.ref(f"refs/heads/{branch}") is None:
            raise InvalidRefusal(f"there is no branch {branch!r}; make it in history")
    return pulls.create(
        act, plot.record, title=seed.title, body=seed.body, head=seed.head, base=base, draft=seed.draft,
        maintainer_can_modify=seed.maintainer_can_modify,
    )  # fmt: skip


def finish_pull(plot: Plot, seed: SeedPull, pull: Pull) -> None:
    """Review a pull request and bring it to the state the seed says."""
    if seed.checks:
        for check in seed.checks:
            plant_check(plot, check, pull.head_sha, pull.head_ref)
    if plot.seed.exported:  # its requests are those that were open after the reviews
        plant_reviews(plot, seed, pull)
    if seed.reviewers:
        with within("reviewers"):
            _request(plot, seed, pull)
    if not plot.seed.exported:
        plant_reviews(plot, seed, pull)
    if seed.state != "open":
        _end(plot, seed, pull)
    if seed.outcome is not None and (promise := seed.outcome.auto_merge) is not None:
        with plot.speaking(promise.by, at=promise.at) as act:
            restoring.restore_auto_merge(act, pull, method=promise.method, title=promise.title, message=promise.message)


def _restore(act: Act, plot: Plot, seed: SeedPull, outcome: SeedOutcome, base: str) -> Pull:
    if not plot.seed.exported:
        raise InvalidRefusal("outcome is for exports; leave it out")
    home = outcome.head_repository
    source = None if home is None else lookup.repository(plot.world, None, *home.split("/", 1))
    return restoring.restore_pull(
        act, plot.record, title=seed.title, body=seed.body, draft=seed.draft, base=base,
        head=seed.head.rpartition(":")[2], head_repository=source, head_sha=outcome.head_sha,
        base_sha=outcome.base_sha, maintainer_can_modify=seed.maintainer_can_modify,
    )  # fmt: skip


def _request(plot: Plot, seed: SeedPull, pull: Pull) -> None:
    with plot.world.acting(None) as act:
        people, teams = _reviewers(act, seed.reviewers)
        if plot.seed.exported:
            restoring.restore_review_requests(act, pull, people, teams)
        else:
            reviews.request_reviews(act, pull, users=people, teams=teams)


def _reviewers(act: Act, names: tuple[str, ...]) -> tuple[list[User], list[Team]]:
    people = [lookup.user(act.world, name) for name in names if "/" not in name]
    teams: list[Team] = []
    for name in names:
        organization, slash, slug = name.partition("/")
        if slash:
            teams.append(lookup.team(act.world, lookup.organization(act.world, organization), slug))
    return people, teams


def _end(plot: Plot, seed: SeedPull, pull: Pull) -> None:
    with plot.speaking(seed.merged_by or seed.closed_by or plot.steward, at=seed.closed_at) as act:
        if seed.outcome is not None:
            restoring.restore_outcome(act, pull, merge_commit_sha=seed.outcome.merge_commit_sha)
        elif seed.state == "merged":
            merges.merge(act, pull, method=seed.merge_method)
        else:
            pulls.close(act, pull)
