"""A seeded world and a client that asks its GraphQL API without any socket."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ghx_twin.commands import issues, projects, releases, repositories, users
from ghx_twin.commands.actions import checks, deployments, workflow_runs, workflows
from ghx_twin.commands.issues import comments, labels, linked_branches, milestones, reactions
from ghx_twin.commands.pulls import merges, pulls, reviews, threads
from ghx_twin.commands.repositories import commit_comments, contents, objects, refs, rulesets
from ghx_twin.git.repository import TreeChange
from ghx_twin.graphql.execution import execute
from ghx_twin.nodes import git_node_id, node_id
from ghx_twin.queries import lookup
from ghx_twin.queries.projects.projects import iterations_of
from ghx_twin.reply import Reply
from ghx_twin.state.records import (
    RECORDS,
    Issue,
    Pull,
    Record,
    Repository,
    Step,
    Team,
    TeamRepository,
    Thread,
    User,
)
from ghx_twin.urls import GITHUB_URLS
from ghx_twin.viewer import EVERY_SCOPE, Viewer
from ghx_twin.world import Act, World

LINES = "".join(f"line {number}\n" for number in range(1, 31))


@dataclass
class Answer:
    """One answer, read."""

    status: int
    body: dict[str, Any]
    raw: Reply

    @property
    def data(self) -> Any:
        assert "errors" not in self.body, self.body["errors"]
        return self.body["data"]

    @property
    def errors(self) -> list[dict[str, Any]]:
        return self.body["errors"]


@dataclass
class Town:
    """The world under test: `acme/widgets` (an organisation's), with people of every role."""

    world: World
    people: dict[str, User] = field(default_factory=dict)

    @property
    def repository(self) -> Repository:
        return lookup.repository(self.world, None, "acme", "widgets")

    @contextmanager
    def acting(self, login: str | None = "octo") -> Generator[Act]:
        with self.world.acting(None if login is None else self.viewer(login)) as act:
            yield act

    def viewer(self, login: str, scopes: frozenset[str] = EVERY_SCOPE) -> Viewer:
        return Viewer(user=self.people[login], scopes=scopes)

    def post(self, body: bytes, login: str = "octo") -> Answer:
        raw = execute(self.world, self.viewer(login), body, GITHUB_URLS)
        return Answer(raw.status, json.loads(raw.content), raw)

    def ask(self, query: str, variables: dict[str, Any] | None = None, *, by: str = "octo", **more: Any) -> Answer:
        return self.post(json.dumps({"query": query, "variables": variables or {}, **more}).encode(), by)

    def mutate(self, name: str, selection: str, /, *, by: str = "octo", **given: Any) -> Any:
        """Do one mutation and return its payload."""
        return self.try_to(name, selection, by=by, **given).data[name]

    def try_to(self, name: str, selection: str, /, *, by: str = "octo", **given: Any) -> Answer:
        kind = name[0].upper() + name[1:]
        query = f"mutation($input: {kind}Input!) {{ {name}(input: $input) {{ {selection} }} }}"
        return self.ask(query, {"input": given}, by=by)

    def id(self, record: Record) -> str:
        return node_id(self.world.database, record)

    def issue(self, number: int) -> Issue:
        return lookup.issue_or_pull(self.world, self.repository, number)

    def pull(self, number: int = 7) -> Pull:
        return lookup.pull(self.world, self.repository, number)

    def put(self, path: str, text: str, branch: str, message: str = "Change", *, by: str = "octo") -> str:
        with self.acting(by) as act:
            git = act.git(self.repository)
            tip = git.ref(f"refs/heads/{branch}")
            before = git.entry(tip, path) if tip else None
            change = contents.put(
                act,
                self.repository,
                path=path,
                content=text.encode(),
                message=message,
                branch=branch,
                sha=before.sha if before else None,
            )
        return change.commit.sha

    def tip(self, branch: str = "main") -> str:
        ref = self.world.git(self.repository).ref(f"refs/heads/{branch}")
        assert ref is not None
        return ref


def build_town() -> Town:
    """Make a world with issue 1 (labelled, assigned, discussed) and pull request 7 (reviewed, checked)."""
    town = Town(World.create())
    with town.acting(None) as act:
        for login in ("octo", "rev", "ann", "bob"):
            town.people[login] = users.create_user(act, login=login, name=login.title(), email=f"{login}@example.com")
        town.people["robot[bot]"] = users.create_user(act, login="robot[bot]", type="Bot")
        acme = town.people["acme"] = users.create_organization(act, login="acme", name="Acme")
        users.add_member(act, acme, town.people["octo"], "admin")
        users.add_member(act, acme, town.people["rev"], "member")
        team = users.create_team(act, acme, name="Core Team")
        users.add_team_member(act, team, town.people["rev"])
        repository = repositories.create(act, owner=acme, name="widgets", description="All widgets", auto_init=True)
        repositories.create(act, owner=acme, name="other", auto_init=True)
        repositories.create(act, owner=town.people["octo"], name="secret", visibility="private", auto_init=True)
        repositories.add_collaborator(act, repository, town.people["rev"], "write")
        repositories.add_collaborator(act, repository, town.people["ann"], "triage")
        milestones.create(act, repository, title="v1", description="First", due_on="2026-06-01T00:00:00Z")
        labels.create(act, repository, name="needs/review", color="00ff00", description="Look here")
    _talk(town)
    _propose(town)
    return town


def _talk(town: Town) -> None:
    with town.acting("octo") as act:
        bug = lookup.label(town.world, town.repository, "bug")
        issue = issues.create(
            act,
            town.repository,
            title="It breaks",
            body="**Steps**\n\n- one",
            labels=[bug],
            assignees=[town.people["rev"]],
            milestone=lookup.milestone(town.world, town.repository, 1),
        )
    with town.acting("ann") as act:
        comment = comments.create(act, issue, "Same here, @octo")
    with town.acting("bob") as act:
        reactions.add(act, comment, "heart")
        reactions.add(act, issue, "+1")
    for number in range(2, 7):
        with town.acting("ann") as act:
            made = issues.create(act, town.repository, title=f"Wish {number}", body=None)
        if number % 2:
            with town.acting("octo") as act:
                issues.close(act, made, reason="not_planned")


def _propose(town: Town) -> None:
    town.put("poem.txt", LINES, "main", "Write a poem")
    with town.acting("octo") as act:
        refs.create(act, town.repository, ref="refs/heads/feature", sha=town.tip())
        tagged = objects.create_tag(act, town.repository, name="v0.1", target=town.tip(), message="First")
        refs.create(act, town.repository, ref="refs/tags/v0.1", sha=tagged.sha)
    town.put("poem.txt", LINES.replace("line 15\n", "line fifteen\nand a half\n"), "feature", "Edit the poem\n\nAt 15.")
    with town.acting("octo") as act:
        pull = pulls.create(
            act, town.repository, title="A title", head="feature", base="main", body="Fixes #1", draft=False
        )
        reviews.request_reviews(act, pull, users=[town.people["rev"]])
        checks.create_status(act, town.repository, sha=pull.head_sha, state="success", context="ci/lint")
        workflow = workflows.create_or_update(act, town.repository, name="CI")
        run = workflow_runs.create(act, workflow, sha=pull.head_sha, event="pull_request", branch="feature")
        job = workflow_runs.add_job(act, run, name="build", conclusion="success")
        checks.add_annotation(act, job, path="poem.txt", message="Too long", annotation_level="notice", start_line=2)
        act.database.insert(
            Step, job_id=job.id, number=1, name="Set up job", conclusion="success", started_at=job.started_at,
            completed_at=job.completed_at,
        )  # fmt: skip
    with town.acting("rev") as act:
        first = threads.create(act, pull, path="poem.txt", body="Why?", line=15)
        thread = act.database.get(Thread, first.thread_id)
        assert thread is not None
    with town.acting("octo") as act:
        threads.reply(act, thread, "Because.")
        comments.create(act, lookup.issue_of(town.world, pull), "Please look")
    with town.acting("rev") as act:
        reviews.create(act, pull, event="COMMENT", body="Nearly there")


def live_through(town: Town) -> None:
    """Let everything happen that a timeline can tell of: to issue 2, and to pull requests 7 and the two after it."""
    issue = town.issue(2)
    other = lookup.repository(town.world, None, "acme", "other")
    rev, octo = town.people["rev"], town.people["octo"]
    bug = lookup.label(town.world, town.repository, "bug")
    milestone = lookup.milestone(town.world, town.repository, 1)
    with town.acting("octo") as act:
        repositories.update(act, town.repository, allow_auto_merge=True, topics=("widgets",))
        releases.upload_asset(act, releases.create(act, town.repository, tag_name="v1"), name="a", content=b"a")
        commit_comments.create(act, town.repository, sha=town.tip(), body="Nice")
        for steps in (
            lambda: issues.update(act, issue, title="Another wish", milestone=milestone),
            lambda: issues.update(act, issue, milestone=None),
            lambda: issues.add_labels(act, issue, [bug]),
            lambda: issues.remove_labels(act, issue, [bug]),
            lambda: issues.add_assignees(act, issue, [rev, octo]),
            lambda: issues.remove_assignees(act, issue, [rev]),
            lambda: issues.pin(act, issue),
            lambda: issues.unpin(act, issue),
            lambda: issues.pin(act, town.issue(4)),
            lambda: issues.lock(act, issue, "too heated"),
            lambda: issues.unlock(act, issue),
            lambda: issues.close(act, issue, reason="completed"),
            lambda: issues.reopen(act, issue),
            lambda: comments.delete(act, comments.create(act, issue, "Never mind")),
            lambda: comments.create(act, issue, "See #1"),
            lambda: issues.transfer(act, town.issue(6), other),
        ):
            steps()
    _relate(town)
    _plan(town)
    _review_all(town)
    _merge_one(town)
    with town.acting("octo") as act:
        for _ in range(2):
            deployed = deployments.create(act, town.repository, ref="main", environment="staging", auto_merge=False)
            deployments.create_status(act, town.repository, deployed, state="success", description="Done")
    with town.acting(None) as act:
        names = {"ref_name": {"include": ["~ALL"]}, "repository_name": {"include": ["~ALL"]}}
        for owner in (town.repository, town.people["acme"]):
            rulesets.create(act, owner, name="R", conditions=names, rules=[{"type": "update"}], enforcement="disabled")


def _relate(town: Town) -> None:
    whole, part = town.issue(2), town.issue(4)
    with town.acting("octo") as act:
        for steps in (
            lambda: issues.add_child(act, whole, part),
            lambda: issues.remove_child(act, whole, part),
            lambda: issues.add_child(act, whole, part),
            lambda: issues.add_blocking(act, whole, part),
            lambda: issues.remove_blocking(act, whole, part),
            lambda: issues.add_blocking(act, whole, part),
            lambda: issues.update(act, whole, issue_type="Bug"),
            lambda: issues.update(act, whole, issue_type="Task"),
            lambda: issues.update(act, whole, issue_type=None),
            lambda: issues.update(act, part, issue_type="Feature"),
            lambda: issues.close(act, whole, duplicate_of=part),
            lambda: issues.reopen(act, whole),
            lambda: linked_branches.create(act, whole, sha=town.tip("feature")),
        ):
            steps()
        pulls.create(act, town.repository, title="For it", head="2-another-wish", base="main", draft=True)


def _plan(town: Town) -> None:
    """Put an issue, the pull request and a draft on a project with a field of every type."""
    with town.acting("octo") as act:
        board = projects.create(act, town.people["acme"], title="Roadmap", repository=town.repository)
        values = {"text": "soon", "number": 3, "date": "2026-02-01", "single_select": "", "iteration": ""}
        made = [
            projects.create_field(act, board, name=f"My {kind}", data_type=kind, options=[{"name": "Small"}])
            for kind in values
        ]
        values["single_select"] = made[3].options[0]["id"]
        values["iteration"] = iterations_of(made[4])[0].id
        items = [projects.add_item(act, board, town.issue(number)) for number in (2, 7)]
        items.append(projects.add_draft(act, board, title="Draft", body="*Text*", assignees=[town.people["rev"]]))
        for field, value in zip(made, values.values(), strict=True):
            projects.set_value(act, items[0], field, value)
        ways = {"visible_fields": (made[0].id,), "group_by": (made[3].id,), "vertical_group_by": (made[3].id,)}
        projects.create_view(act, board, name="Board", layout="board", sort_by=(f"{made[1].id} desc",), **ways)
        projects.create_status_update(act, board, status="AT_RISK", body="Late", target_date="2026-03-01")
        projects.archive_item(act, projects.add_item(act, board, town.issue(3)))


def _review_all(town: Town) -> None:
    pull = town.pull()
    rev, team = town.people["rev"], town.world.database.all(Team)[0]
    with town.acting("rev") as act:
        review = reviews.create(act, pull, event="APPROVE", body="Good")
        reactions.add(act, review, "rocket")
    with town.acting("octo") as act:
        repositories.protect(act, town.repository, pattern="main", required_approvals=2, required_checks=("build",))
        reviews.dismiss(act, review, "Not so fast")
        pulls.convert_to_draft(act, pull)
        pulls.mark_ready(act, pull)
        merges.enable_auto_merge(act, pull, method="squash", title="All in one")
        merges.disable_auto_merge(act, pull)
        merges.enable_auto_merge(act, pull, method="merge")
        refs.create(act, town.repository, ref="refs/heads/stable", sha=town.tip())
        pulls.update(act, pull, base="stable")
        pulls.update(act, pull, base="main")
        refs.update(act, town.repository, ref="refs/heads/feature", sha=_amended(town), force=True)
        reviews.request_reviews(act, pull, users=[rev])
        reviews.remove_review_requests(act, pull, users=[rev])
        act.database.insert(TeamRepository, team_id=team.id, repository_id=town.repository.id, role="write")
        reviews.request_reviews(act, pull, users=[rev], teams=[team])
    with town.acting("rev") as act:
        reviews.create(act, pull, event=None, body="Still writing")


def _amended(town: Town) -> str:
    """Write another commit in the place of the head of the pull request."""
    git, head = town.world.git(town.repository), town.tip("feature")
    before = git.commit(head)
    assert before is not None
    change = TreeChange(path="poem.txt", sha=git.write_blob(LINES.replace("line 2\n", "line two\n").encode()))
    return git.write_commit(
        tree=git.write_tree(before.parents[0], [change]),
        parents=before.parents,
        message="Edit it otherwise\n\nCo-authored-by: Ann <ann@example.com>",
        author=before.author,
        committer=before.committer,
    )


def _merge_one(town: Town) -> None:
    with town.acting("octo") as act:
        refs.create(act, town.repository, ref="refs/heads/quick", sha=town.tip())
    town.put("quick.txt", "Quick\n", "quick", "Be quick")
    with town.acting("octo") as act:
        pull = pulls.create(act, town.repository, title="Quick", head="quick", base="main", body="Closes #4, see #2")
        refs.create(act, town.repository, ref="refs/heads/upper", sha=town.tip("quick"))
    town.put("upper.txt", "Upper\n", "upper", "On top")
    with town.acting("octo") as act:
        pulls.create(act, town.repository, title="On top", head="upper", base="quick")
        merges.merge(act, pull, method="squash")
        if act.git(town.repository).ref("refs/heads/quick"):
            refs.delete(act, town.repository, ref="refs/heads/quick")


def typed_nodes(town: Town) -> list[tuple[str, str]]:
    """Return global ids of everything there is, with their GraphQL types."""
    database, home = town.world.database, town.repository.id
    ids = [node_id(database, one) for kind in RECORDS if kind.__name__ in SHOWN for one in database.all(kind)]
    ids += [git_node_id("ref", home, f"refs/heads/{name}") for name in ("main", "feature")]
    git = town.world.git(town.repository)
    ids += [git_node_id("commit", home, town.tip(name)) for name in ("main", "feature")]
    ids += [git_node_id("tree", home, entry.tree) for name in ("main",) if (entry := git.commit(town.tip(name)))]
    ids += [git_node_id("blob", home, entry.sha) for entry in git.tree(town.tip("main"))]
    ids += [git_node_id("tag", home, sha) for sha in git.refs("refs/tags/").values()]
    ref = town.ask("query($ids: [ID!]!) { nodes(ids: $ids) { __typename } }", {"ids": ids}).body["data"]["nodes"]
    return [(one["__typename"], identity) for one, identity in zip(ref, ids, strict=True) if one]


SHOWN = {
    "User", "Team", "Repository", "Label", "Milestone", "Issue", "Pull", "Comment", "Review", "Thread",
    "ReviewComment", "ReviewRequest", "Reaction", "Event", "Status", "CheckRun", "Protection",
    "Workflow", "WorkflowRun", "Project", "ProjectField", "ProjectItem", "ProjectView", "ProjectWorkflow", "DraftIssue",
    "Release", "ReleaseAsset", "CommitComment", "ProjectStatusUpdate",
}  # fmt: skip
