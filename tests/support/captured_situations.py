"""Worlds in which the captured commands of `gh` make sense: what each needs beside the seeded world."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ghx_twin.commands import issues, projects, releases, repositories
from ghx_twin.commands.actions import checks, workflow_runs, workflows
from ghx_twin.commands.issues import labels
from ghx_twin.commands.pulls import merges, pulls
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.faults import Fault, primary_rate_limit
from ghx_twin.queries import lookup
from ghx_twin.state.records import Issue, Pull, Repository, Step
from ghx_twin.world import Act, World

Change = Callable[["Scene"], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The seeded world in the hands of its maker."""

    world: World
    act: Act

    @property
    def repository(self) -> Repository:
        return lookup.repository(self.world, None, "acme", "widgets")

    @property
    def issue(self) -> Issue:
        return lookup.issue(self.world, self.repository, 1)

    @property
    def pull(self) -> Pull:
        return lookup.pull(self.world, self.repository, 7)

    def write(self, branch: str, path: str, text: str) -> None:
        """Put a file on a branch, over the one that is there."""
        git = self.world.git(self.repository)
        entry = git.entry(git.refs()[f"refs/heads/{branch}"], path)
        contents.put(
            self.act,
            self.repository,
            path=path,
            content=text.encode(),
            message=f"Write {path}",
            branch=branch,
            sha=entry.sha if entry else None,
        )

    def check(self, conclusion: str | None) -> None:
        """Report on the head of the pull request, over what was reported before."""
        checks.create_check_run(
            self.act,
            self.repository,
            sha=self.pull.head_sha,
            name="build",
            status="completed" if conclusion else "in_progress",
            conclusion=conclusion,
        )

    def run(self, conclusion: str | None) -> None:
        """Enter the workflow and the run that captures name, for the head of the pull request."""
        self.write("main", ".github/workflows/ci.yml", _WORKFLOW)
        workflow = workflows.create_or_update(self.act, self.repository, name="CI", path=".github/workflows/ci.yml")
        run = workflow_runs.create(self.act, workflow, sha=self.pull.head_sha, branch="feature", identity=101)
        job = workflow_runs.add_job(self.act, run, name="build", conclusion=conclusion)
        if job.completed_at is not None:
            for number, name in enumerate(("Set up job", "Run tests"), 1):
                self.act.database.insert(
                    Step, job_id=job.id, number=number, name=name, conclusion=conclusion if number > 1 else "success",
                    started_at=job.started_at, completed_at=job.completed_at,
                )  # fmt: skip


_WORKFLOW = """\
name: CI
on:
  push:
  workflow_dispatch:
    inputs:
      who: {default: me}
jobs: {build: {runs-on: ubuntu-latest, steps: [{run: "true"}]}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """How a captured command is run here."""

    changes: tuple[Change, ...] = ()
    branch: str = "main"  # that the clone has checked out
    user: str = "octo"
    faults: tuple[Fault, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    replaced: tuple[str, str] | None = None  # a word of the command that only the capture's server took
    code: int | None = None  # the exit code, where GitHub decides otherwise than the capture's server did

    def set_up(self, world: World) -> None:
        """Make the world what the command needs."""
        world.faults.add(*self.faults)
        for change in self.changes:
            with world.acting(None) as act:
                change(Scene(world=world, act=act))


def _with_label(scene: Scene) -> object:
    return labels.create(scene.act, scene.repository, name="x", color="00ff00")


def _with_project(scene: Scene) -> object:
    acme = lookup.organization(scene.world, "acme")
    board = projects.create(scene.act, acme, title="A title", repository=scene.repository)
    projects.create_field(scene.act, board, name="Notes", data_type="text")
    return projects.add_draft(scene.act, board, title="A draft")


def _with_branch(scene: Scene) -> object:
    tip = scene.world.git(scene.repository).refs()["refs/heads/main"]
    return refs.create(scene.act, scene.repository, ref="refs/heads/x", sha=tip)


def _without_issues(scene: Scene) -> object:
    return repositories.update(scene.act, scene.repository, has_issues=False)


def _closed_issue(scene: Scene) -> object:
    return issues.close(scene.act, scene.issue)


def _closed_pull(scene: Scene) -> object:
    return pulls.close(scene.act, scene.pull)


def _merged_pull(scene: Scene) -> object:
    return merges.merge(scene.act, scene.pull)


def _draft(scene: Scene) -> object:
    return pulls.convert_to_draft(scene.act, scene.pull)


def _unchecked(scene: Scene) -> object:
    return scene.write("feature", "new.md", "nobody checked this\n")


def _pending(scene: Scene) -> object:
    return scene.check(None)


def _failing(scene: Scene) -> object:
    return scene.check("failure")


def _failed_run(scene: Scene) -> object:
    return scene.run("failure")


def _queued_run(scene: Scene) -> object:
    return scene.run(None)


def _main_ahead(scene: Scene) -> object:
    return scene.write("main", "ahead.md", "ahead\n")


def _conflicting(scene: Scene) -> object:
    return scene.write("main", "README.md", "# Gadgets\n")


def _approval_required(scene: Scene) -> object:
    return repositories.protect(scene.act, scene.repository, pattern="main", required_approvals=1, enforce_admins=True)


def _up_to_date_required(scene: Scene) -> object:
    return repositories.protect(
        scene.act,
        scene.repository,
        pattern="main",
        required_checks=("build",),
        strict_checks=True,
        enforce_admins=True,
    )


def _released(scene: Scene) -> object:
    return releases.create(scene.act, scene.repository, tag_name="v1.0.0", name="One", body="notes")


_LABELS = "/repos/acme/widgets/labels"
_SCOPE = Fault(
    path=_LABELS,
    status=403,
    message="Resource not accessible by personal access token",
    headers={"x-accepted-oauth-scopes": "admin:enterprise"},
)
_MOVED_HEAD = Fault(path="*/merge", status=409, message="Head branch was modified. Review and try the merge again.")
_FOREIGN = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "url.http://git.example.com/.insteadOf",
    "GIT_CONFIG_VALUE_0": "https://github.com/acme",  # longer than what the environment replaces, so it wins
}
_BAD_TOKEN = {"GH_TOKEN": "ghp_unknown"}
_PROJECT = Situation(changes=(_with_project,))
_RUN = Situation(changes=(_failed_run,))
_JOB = Situation(changes=(_failed_run,), replaced=("--job 201", "--job NEWEST-JOB"))
_RELEASED = Situation(changes=(_released,))
_NEW_PULL = Situation(changes=(_closed_pull,), branch="feature")

SITUATIONS = {
    "err-issue-view-pr": Situation(code=1),  # with the scope `project`, gh asks for the items of an issue 7
    "browse": Situation(),
    "err-204": Situation(changes=(_with_label,)),
    "err-401": Situation(environment=_BAD_TOKEN),
    "err-401-authstatus": Situation(environment=_BAD_TOKEN),
    "err-403-ratelimit": Situation(faults=(primary_rate_limit(now_s=0),)),
    "err-403-scope": Situation(faults=(_SCOPE,)),
    "err-409-merge": Situation(faults=(_MOVED_HEAD,)),
    "err-422": Situation(replaced=("ff0000", "zz0000")),
    "err-422-exists": Situation(changes=(_with_label,)),
    "err-422-string": Situation(changes=(_with_branch,)),
    "err-git-insteadof-foreign-host": Situation(branch="feature", environment=_FOREIGN),
    "err-gql-merge-unprocessable": Situation(changes=(_draft,)),
    "ghx-release-list-cli": Situation(code=1),  # gh sends a POST, which the capture's server took
    "ghx-workflow-dispatch-cli": _RUN,
    "git-pr-create-fill": _NEW_PULL,
    "git-pr-create-fill-223": _NEW_PULL,
    "issue-close-already": Situation(changes=(_closed_issue,)),
    "issue-create-disabled": Situation(changes=(_without_issues,)),
    "ghx-project-view-cli": _PROJECT,
    "issue-edit-add-project": _PROJECT,
    "issue-reopen": Situation(changes=(_closed_issue,)),
    "issue-view-comments": Situation(code=0),  # the capture's server sent a node of another type, and gh 2.23 panicked
    "pr-checks-fail": Situation(changes=(_failing,)),
    "pr-checks-none": Situation(changes=(_unchecked,)),
    "pr-checks-pending": Situation(changes=(_pending,)),
    "pr-create": _NEW_PULL,
    "pr-create-dryrun": _NEW_PULL,
    "pr-create-exists": Situation(branch="feature"),
    "pr-create-fill": _NEW_PULL,
    "pr-create-full": Situation(changes=(_closed_pull,), branch="feature", user="hubot"),  # octo reviews it
    "pr-create-milestone-project": _NEW_PULL,
    "pr-merge-already": Situation(changes=(_merged_pull,)),
    "pr-merge-auto": Situation(changes=(_approval_required,)),
    "pr-merge-mss-behind": Situation(changes=(_main_ahead, _up_to_date_required)),
    "pr-merge-mss-blocked": Situation(changes=(_approval_required,)),
    "pr-merge-mss-dirty": Situation(changes=(_conflicting,)),
    "pr-merge-mss-draft": Situation(changes=(_draft,), code=1),  # gh leaves it to GitHub to refuse drafts
    "pr-merge-mss-unstable": Situation(changes=(_failing,)),
    "pr-ready": Situation(changes=(_draft,)),
    "pr-reopen": Situation(changes=(_closed_pull,)),
    "pr-review-thread-api": Situation(replaced=("a" * 40, "HEAD-OF-PULL")),
    "pr-status": Situation(branch="feature"),
    "pr-update-branch": Situation(changes=(_main_ahead,)),
    "pr-view-branch": Situation(branch="feature"),
    **{f"release-{name}": _RELEASED for name in ("delete", "edit", "list", "upload")},
    **{f"release-view-{name}": _RELEASED for name in ("json", "latest", "tag")},
    "project-field-list": _PROJECT,
    "project-item-add": Situation(changes=(_with_project,), code=0),  # the capture's server found no resource
    "project-item-delete": _PROJECT,
    "project-item-edit": _PROJECT,
    "project-item-list": _PROJECT,
    "project-list": _PROJECT,
    "project-view": _PROJECT,
    "run-cancel": Situation(changes=(_queued_run,)),
    "run-delete": _RUN,
    "run-download": _RUN,
    "run-list": _RUN,
    "run-list-filters": _RUN,
    "run-rerun": _RUN,
    "run-rerun-failed": _RUN,
    "run-rerun-job": _JOB,
    "run-view": _RUN,
    "run-view-attempt": _RUN,
    "run-view-job": _JOB,
    "run-view-job-log": _JOB,
    "run-view-log": _RUN,
    "run-view-log-failed": _RUN,
    "run-view-verbose-json": _RUN,
    "run-watch-completed": _RUN,
    "workflow-disable": _RUN,
    "workflow-enable": _RUN,
    "workflow-list": _RUN,
    "workflow-list-all": _RUN,
    "workflow-run": _RUN,
    "workflow-run-noref": _RUN,
    "workflow-view": _RUN,
    "workflow-view-name": _RUN,
    "workflow-view-yaml": _RUN,
}
"""By the name of the capture; the others run on the seeded world as it is."""
