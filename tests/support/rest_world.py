"""A seeded world and a client that asks its REST API without any socket."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from ghx_twin.commands import apps, issues, projects, releases, repositories, users
from ghx_twin.commands.actions import caches, checks, deployments, variables, workflow_runs, workflows
from ghx_twin.commands.actions.variables import Home
from ghx_twin.commands.issues import comments, labels, milestones, reactions
from ghx_twin.commands.pulls import merges, pulls, reviews, threads
from ghx_twin.commands.repositories import commit_comments, contents, objects, refs, rulesets
from ghx_twin.queries import lookup
from ghx_twin.queries.apps import app_access
from ghx_twin.queries.projects.projects import field_by_name, iterations_of
from ghx_twin.rest.dispatch import answer
from ghx_twin.state.records import Artifact, CheckRun, Event, Step, Team, User, WorkflowRun
from ghx_twin.urls import GITHUB_URLS, BaseUrls
from ghx_twin.viewer import EVERY_SCOPE, AppAccess, Viewer
from ghx_twin.world import Act, World

SOURCE = "".join(f"value_{number} = {number}\n" for number in range(1, 21))


@dataclass(frozen=True)
class Reply:
    """One answer."""

    status: int
    content: bytes
    media_type: str
    headers: dict[str, str]
    operation: str

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass
class Client:
    """Asks as one user; remembers every answer."""

    world: World
    user: User
    scopes: frozenset[str] = EVERY_SCOPE
    base: BaseUrls = GITHUB_URLS
    app: AppAccess | None = None
    replies: list[tuple[str, str, Reply]] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None, *, accept: str = "", raw: bytes | None = None) -> Reply:
        raw_path, _, query = path.partition("?")
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        given = answer(
            self.world,
            Viewer(user=self.user, scopes=self.scopes, app=self.app),
            method=method,
            raw_path=raw_path,
            query=query,
            headers={"accept": accept} if accept else {},
            body=content,
            base=self.base,
        )
        reply = Reply(given.status, given.content, given.media_type, given.headers, given.operation)
        self.replies.append((method, path, reply))
        return reply

    def get(self, path: str, *, accept: str = "") -> Reply:
        return self.ask("GET", path, accept=accept)

    def post(self, path: str, body: Any = None) -> Reply:
        return self.ask("POST", path, body)

    def put(self, path: str, body: Any = None) -> Reply:
        return self.ask("PUT", path, body)

    def patch(self, path: str, body: Any = None) -> Reply:
        return self.ask("PATCH", path, body)

    def delete(self, path: str, body: Any = None) -> Reply:
        return self.ask("DELETE", path, body)


@dataclass
class Seeded:
    """`acme/widgets` (an organisation's, public) with something of everything; ann owns, bob writes, eve reads."""

    world: World
    people: dict[str, User]
    ids: dict[str, int]
    shas: dict[str, str]
    apps: dict[str, AppAccess] = field(default_factory=dict)

    def client(self, login: str = "ann", **options: Any) -> Client:
        return Client(self.world, self.people[login], app=self.apps.get(login), **options)


def seeded() -> Seeded:
    """Make the world; the caller closes it."""
    world = World.create()
    people, ids, shas = _people(world), dict[str, int](), dict[str, str]()
    made = Seeded(world, people, ids, shas)
    _files(made)
    _conversations(made)
    _review(made)
    _releases(made)
    _plan(made)
    return made


def _people(world: World) -> dict[str, User]:
    with world.acting(None) as act:
        people = {
            login: users.create_user(act, login=login, name=login.title(), email=f"{login}@example.com")
            for login in ("ann", "bob", "eve")
        }
        people["robot"] = users.create_user(act, login="robot", type="Bot")
        people["actions"] = users.create_user(act, login="github-actions", type="Bot")
        acme = people["acme"] = users.create_organization(act, login="acme", name="Acme")
        users.add_member(act, acme, people["ann"], "admin")
        users.add_member(act, acme, people["bob"])
        team = users.create_team(act, acme, name="Crew", description="Who does it")
        users.add_team_member(act, team, people["bob"])
        home = repositories.create(act, owner=acme, name="widgets", description="All of them", auto_init=True)
        users.add_team_repository(act, team, home)
        for login in ("bob", "robot", "actions"):
            repositories.add_collaborator(act, home, people[login], "write")
        repositories.update(act, home, topics=("tools", "python"))
        repositories.create(act, owner=people["ann"], name="secret", visibility="private", auto_init=True)
        repositories.create(act, owner=people["ann"], name="empty")
    return people


def _releases(made: Seeded) -> None:
    home = _home(made)
    with made.world.acting(Viewer(user=made.people["bob"])) as act:
        release = releases.create(act, home, tag_name="v1", name="One", body="The first.")
        draft = releases.create(act, home, tag_name="next", draft=True)
        asset = releases.upload_asset(act, release, name="app.bin", content=b"\x00\xff", label="The app")
        comment = commit_comments.create(act, home, sha=made.shas["main"], body="Nice")
        made.ids["commit_comment"] = comment.id
        made.ids |= {"release": release.id, "draft": draft.id, "asset": asset.id}


def _plan(made: Seeded) -> None:
    """Give acme and ann a project each, with a field of every type; acme's has an item of every sort."""
    made.ids["ann"] = made.people["ann"].id
    with made.world.acting(Viewer(user=made.people["ann"])) as act:
        home = repositories.create(act, owner=made.people["acme"], name="planned")
        issue = issues.create(act, home, title="On a project", assignees=[made.people["ann"]])
        for owner in ("ann", "acme"):
            board = projects.create(act, made.people[owner], title="Roadmap")
            status = field_by_name(act.database, board, "Status")
            fields = [
                projects.create_field(act, board, name=f"My {kind}", data_type=kind, options=[{"name": "Small"}])
                for kind in ("text", "number", "date", "single_select", "iteration")
            ]
            draft = projects.add_draft(act, board, title="Draft", body="Text")
            assert status is not None
            made.ids |= {f"{owner}_field": fields[4].id, f"{owner}_text": fields[0].id, f"{owner}_item": draft.id}
            made.ids[f"{owner}_status"] = status.id
    with made.world.acting(Viewer(user=made.people["bob"])) as act:
        item = projects.add_item(act, board, issue)
        for field, value in zip(fields, ("soon", 2, "2026-02-01", fields[3].options[0]["id"],
                                         iterations_of(fields[4])[0].id), strict=True):  # fmt: skip
            projects.set_value(act, item, field, value)


def _files(made: Seeded) -> None:
    world, home = made.world, _home(made)
    viewer = Viewer(user=made.people["ann"])
    with world.acting(viewer) as act:
        contents.put(act, home, path="src/app.py", content=SOURCE.encode(), message="Add the app")
        contents.put(act, home, path="LICENSE", content=b"MIT License\n\nCopyright\n", message="Add a license")
        contents.put(act, home, path="docs/a b.md", content="Grüße\n".encode(), message="Add a page")
    with world.acting(viewer) as act:
        main = act.git(home).ref("refs/heads/main")
        assert main is not None
        refs.create(act, home, ref="refs/heads/feature/x", sha=main)
        tag = objects.create_tag(act, home, name="v1", target=main, message="First")
        refs.create(act, home, ref="refs/tags/v1", sha=tag.sha)
        made.shas |= {"main": main, "tag": tag.sha}
    with world.acting(viewer) as act:
        blob = act.git(home).entry(main, "src/app.py")
        assert blob is not None
        changed = SOURCE.replace("value_5 = 5", "value_5 = 50")
        change = contents.put(
            act, home, path="src/app.py", content=changed.encode(), message="Change", branch="feature/x", sha=blob.sha
        )
        contents.put(act, home, path="other.txt", content=b"x\n", message="Other", branch="feature/x")
        made.shas |= {"blob": blob.sha, "feature": change.commit.sha, "tree": change.commit.tree}
    with world.acting(Viewer(user=made.people["eve"])) as act:
        repositories.fork(act, home, owner=made.people["eve"])


def _conversations(made: Seeded) -> None:
    world, home, ids = made.world, _home(made), made.ids
    with world.acting(Viewer(user=made.people["ann"])) as act:
        milestone = milestones.create(act, home, title="One", description="The first", due_on="2026-06-01T00:00:00Z")
        slashed = labels.create(act, home, name="area/ui kit", color="abcdef")
        issue = issues.create(
            act,
            home,
            title="It breaks",
            body="When used. cc @bob",
            labels=[slashed],
            assignees=[made.people["bob"]],
            milestone=milestone,
        )
        comment = comments.create(act, issue, "I see it too")
        reaction = reactions.add(act, issue, "heart")
        ids |= {"bob": made.people["bob"].id, "repository": home.id, "event": act.database.all(Event)[0].id}
        ids |= {"issue": issue.number, "comment": comment.id, "reaction": reaction.id, "milestone": milestone.number}
        ids["comment_reaction"] = reactions.add(act, comment, "+1").id
    with world.acting(Viewer(user=made.people["ann"])) as act:
        other = issues.create(act, home, title="Second", body=f"Like #{ids['issue']}")
        issues.close(act, other, reason="not_planned")
        issues.lock(act, other, "resolved")
        ids["closed_issue"] = other.number


def _review(made: Seeded) -> None:
    world, home, ids = made.world, _home(made), made.ids
    with world.acting(Viewer(user=made.people["ann"])) as act:
        body = f"Closes #{ids['issue']}"
        pull = pulls.create(act, home, title="Fix it", head="feature/x", base="main", body=body)
        reviews.request_reviews(act, pull, users=[made.people["bob"]])
        status = checks.create_status(act, home, sha=pull.head_sha, state="success", context="ci")
        made.shas["head"] = pull.head_sha
    with world.acting(Viewer(user=made.people["robot"])) as act:
        run = checks.create_check_run(act, home, sha=pull.head_sha, name="build", conclusion="success")
        ids |= {"pull": ids["closed_issue"] + 1, "status": status.id, "check_run": run.id}
    _runs(made)
    with world.acting(Viewer(user=made.people["bob"])) as act:
        note = threads.create(act, pull, path="src/app.py", body="Why 50?", line=5)
        ids |= {"review_comment": note.id, "note_reaction": reactions.add(act, note, "eyes").id}
        review = reviews.create(act, pull, event="REQUEST_CHANGES", body="Not yet")
        ids |= {"review": review.id, "noted": note.review_id}
    with world.acting(Viewer(user=made.people["eve"])) as act:
        ids["pending"] = reviews.create(act, pull, event=None, body="Still reading").id
    for name in ("mergeable", "behind", "merged"):
        _another_pull(made, name)
    _relations(made)
    _app(made)
    with world.acting(Viewer(user=made.people["ann"])) as act:
        rules = {"required_approvals": 1, "required_checks": ("ci",), "strict_checks": False}
        repositories.protect(act, home, pattern="main", **rules)
    _rulesets(made)
    _deployments(made)


def _deployments(made: Seeded) -> None:
    home, ids = _home(made), made.ids
    with made.world.acting(Viewer(user=made.people["ann"])) as act:
        team = act.database.all(Team)[0]
        reviewers = [{"type": "User", "id": ids["bob"]}, {"type": "Team", "id": team.id}]
        policy = {"protected_branches": True, "custom_branch_policies": False}
        place = deployments.put_environment(
            act, home, "staging", wait_timer=5, reviewers=reviewers, deployment_branch_policy=policy
        )
        for where in (Home(home), Home(home, place), Home(made.people["acme"])):
            reach = {"visibility": "selected", "selected": [home.id]} if where.owner == made.people["acme"] else {}
            variables.create_variable(act, where, name="LEVEL", value="high", **reach)
            variables.put_secret(act, where, name="TOKEN", encrypted_value=None, **reach)
        cache = caches.create(act, home, key="npm-1", ref="refs/heads/main", version="1", size_in_bytes=7)
        for name in ("old_deployment", "deployment"):
            deployed = deployments.create(act, home, ref="main", environment="staging")
            status = deployments.create_status(
                act, home, deployed, state="success", log_url="https://docs.github.com/ci"
            )
            ids |= {name: deployed.id, "deployment_status": status.id}
        ids |= {"cache": cache.id}
    _waiting_run(made)
    places = {"key": "/repos/acme/widgets/actions", "environment_key": "/repos/acme/widgets/environments/staging"}
    for name, place in {**places, "org_key": "/orgs/acme/actions"}.items():
        made.shas[name] = made.client().get(f"{place}/secrets/public-key").json()["key_id"]


def _waiting_run(made: Seeded) -> None:
    """A run of ann/secret that waits for an environment, apart from the runs that tests count."""
    home = lookup.repository(made.world, None, "ann", "secret")
    with made.world.acting(Viewer(user=made.people["ann"])) as act:
        reviewers = [{"type": "User", "id": made.people["ann"].id}]
        place = deployments.put_environment(act, home, "live", wait_timer=1, reviewers=reviewers)
        text, path = b"on: push\njobs: {deploy: {environment: live, steps: [{run: make}]}}\n", ".github/workflows/d.yml"
        sha = contents.put(act, home, path=path, content=text, message="Deploy").commit.sha
        workflow = workflows.create_or_update(act, home, name="Deploy", path=path)
        waiting = workflow_runs.create(act, workflow, sha=sha, event="push", branch="main")
        workflow_runs.add_job(act, waiting, name="deploy", status="waiting")
        made.ids |= {"environment": place.id, "waiting": waiting.id}


def _rulesets(made: Seeded) -> None:
    with made.world.acting(None) as act:
        releases = {"ref_name": {"include": ["refs/heads/release/**"], "exclude": []}}
        own = rulesets.create(
            act,
            _home(made),
            name="Releases",
            conditions=releases,
            rules=[{"type": "deletion"}, {"type": "pull_request"}],
            bypass_actors=[{"actor_type": "OrganizationAdmin"}],
        )
        everywhere = {"ref_name": {"include": ["~ALL"]}, "repository_name": {"include": ["widgets"]}}
        above = rulesets.create(
            act,
            made.people["acme"],
            name="All",
            enforcement="evaluate",
            conditions=everywhere,
            rules=[{"type": "update"}],
        )
        made.ids |= {"ruleset": own.id, "org_ruleset": above.id}


def _relations(made: Seeded) -> None:
    home, ids = _home(made), made.ids
    with made.world.acting(Viewer(user=made.people["ann"])) as act:
        parent = issues.create(act, home, title="The whole", issue_type="Bug")
        children = [issues.create(act, home, title=f"Part {number}") for number in (1, 2)]
        for child in children:
            issues.add_child(act, parent, child)
        issues.add_blocking(act, children[0], children[1])
        ids |= {"parent_issue": parent.number, "issue_type": parent.issue_type_id or 0}
        ids |= {"sub_issue": children[0].number, "last_sub_issue": children[1].number}
        ids |= {"sub_issue_id": children[0].id, "last_sub_issue_id": children[1].id}
        ids["issue_id"] = lookup.issue(made.world, home, ids["issue"]).id


def _app(made: Seeded) -> None:
    with made.world.acting(None) as act:
        wanted = {"issues": "write", "checks": "write"}
        app = apps.create(act, slug="fixer", owner=made.people["acme"], name="Fixer", permissions=wanted)
        installation = apps.install(act, app, made.people["acme"])
        token = apps.create_token(act, app, installation)
    bot = lookup.user_by_id(made.world, app.user_id)
    made.people |= {"fixer": bot, "fixer-app": bot}
    access = app_access(made.world, token)
    assert access is not None
    made.apps |= {"fixer": access, "fixer-app": AppAccess(app_id=app.id)}
    made.ids["installation"] = installation.id


def _runs(made: Seeded) -> None:
    home, ids = _home(made), made.ids
    with made.world.acting(Viewer(user=made.people["bob"])) as act:
        workflow = workflows.create_or_update(act, home, name="CI", path=".github/workflows/ci.yml")
        for name, event in (("run", "pull_request"), ("running", "push")):
            made_run = workflow_runs.create(act, workflow, sha=made.shas["head"], event=event, branch="feature/x")
            workflow_runs.add_job(act, made_run, name="lint", conclusion="success")
            last = workflow_runs.add_job(act, made_run, name="test", conclusion="failure")
            ids |= {"workflow": workflow.id, name: made_run.id, f"{name}_job": last.id}
        workflow_runs.rerun_failed(act, made_run)
        _say_what_happened(act, made)
    with made.world.acting(Viewer(user=made.people["actions"])) as act:
        ids["held"] = workflow_runs.create(act, workflow, sha=made.shas["main"], conclusion="action_required").id


def _say_what_happened(act: Act, made: Seeded) -> None:
    """Give the jobs of the run that has ended steps with logs, an annotation and an artifact."""
    run = act.database.get(WorkflowRun, made.ids["run"])
    assert run is not None
    failed = act.database.get(CheckRun, made.ids["run_job"])
    assert failed is not None
    names = ("Set up job", "Run pytest", "Complete job")
    for job in act.database.all(CheckRun, attempt_id=failed.attempt_id):
        for number, name in enumerate(names, 1):
            is_test = name == "Run pytest"
            act.database.insert(
                Step, job_id=job.id, number=number, name=name, started_at=job.started_at, completed_at=act.now,
                conclusion=job.conclusion if is_test else "success", log="1 of 2 failed\n" if is_test else None,
            )  # fmt: skip
    checks.add_annotation(act, failed, path="src/app.py", message="Boom", start_line=3, title="Test")
    artifact = act.database.insert(
        Artifact, repository_id=run.repository_id, run_id=run.id, name="report", created_at=act.now,
        files={"report.txt": base64.b64encode(b"97 %").decode()}, updated_at=act.now, expires_at="2099-01-01T00:00:00Z",
    )  # fmt: skip
    made.ids["artifact"] = artifact.id


def _another_pull(made: Seeded, name: str) -> None:
    home, git = _home(made), made.world.git(_home(made))
    with made.world.acting(Viewer(user=made.people["ann"])) as act:
        start = made.shas["main"] if name == "behind" else git.ref("refs/heads/main")
        assert start is not None
        refs.create(act, home, ref=f"refs/heads/{name}", sha=start)
        contents.put(act, home, path=f"{name}.txt", content=b"x\n", message=f"Add {name}", branch=name)
        if name == "behind":
            file = b"on: workflow_dispatch\njobs: {build: {steps: [{run: make}]}}\n"
            contents.put(act, home, path=".github/workflows/ci.yml", content=file, message="Add CI", branch=name)
        pull = pulls.create(act, home, title=name.title(), head=name, base="main")
        reviews.request_reviews(act, pull, users=[made.people["bob"]])
        made.ids[name] = lookup.issue_of(made.world, pull).number
        if name == "merged":
            merges.merge(act, pull)


def _home(made: Seeded) -> Any:
    return lookup.repository(made.world, None, "acme", "widgets")
