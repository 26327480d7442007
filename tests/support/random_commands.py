"""Commands in any order, by anyone, on a small world: what property tests of whole worlds are made of."""

from collections.abc import Callable, Iterable
from typing import Literal, TypeVar, cast

from hypothesis import strategies as st

from ghx_twin.commands import issues, kernel, projects, releases, repositories, users
from ghx_twin.commands.actions import checks, workflow_runs, workflows
from ghx_twin.commands.issues import comments, labels, milestones, reactions
from ghx_twin.commands.pulls import merges, pulls, reviews, threads
from ghx_twin.commands.pulls.threads import NewThread
from ghx_twin.commands.repositories import commit_comments, contents, refs
from ghx_twin.git.repository import RefUpdate, TreeChange
from ghx_twin.queries import lookup
from ghx_twin.queries.projects.projects import iterations_of
from ghx_twin.refusals import InvalidRefusal, Refusal
from ghx_twin.state.records import (
    CheckRun,
    Comment,
    Issue,
    Label,
    Milestone,
    Project,
    ProjectField,
    ProjectItem,
    Pull,
    Record,
    Release,
    Repository,
    Review,
    ReviewComment,
    Team,
    Thread,
    User,
    WorkflowRun,
)
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World

RecordT = TypeVar("RecordT", bound=Record)
Command = Callable[[Act, int, int], object]
Step = tuple[str, int, int, int]
TEXT = "".join(f"line {number}\n" for number in range(1, 13))
BRANCHES = ("main", "one", "two", "three")
Method = Literal["merge", "squash", "rebase"]


def base_world() -> World:
    """Make acme/widgets with three branches, a fork of it, an issue and two pull requests; and acme/gears."""
    world = World.create()
    with world.acting(None) as act:
        people = [users.create_user(act, login=login) for login in ("ann", "bob", "eve")]
        acme = users.create_organization(act, login="acme")
        users.add_member(act, acme, people[0], "admin")
        users.add_team_member(act, users.create_team(act, acme, name="Core"), people[1])
        widgets = repositories.create(act, owner=acme, name="widgets")
        repositories.add_collaborator(act, widgets, people[1], "write")
        contents.put(act, widgets, path="poem.txt", content=TEXT.encode(), message="Begin")
        for number, branch in enumerate(BRANCHES[1:], 2):
            _commit(act, widgets, branch, number)
        repositories.fork(act, widgets, owner=people[2])
        repositories.create(act, owner=acme, name="gears", auto_init=True)
        issues.create(act, widgets, title="It breaks")
        milestones.create(act, widgets, title="Soon")
    for head in ("one", "two"):
        with world.acting(Viewer(user=people[1])) as act:
            pulls.create(act, widgets, title=f"Change {head}", head=head, base="main", body="Fixes #1")
    return world


def steps(*, most: int = 25) -> st.SearchStrategy[list[Step]]:
    """Return sequences of commands: each by its name, an actor, and two numbers that choose what it is done to."""
    number = st.integers(0, 7)
    return st.lists(st.tuples(st.sampled_from(sorted(COMMANDS)), st.integers(0, 3), number, number), max_size=most)


def perform(world: World, wanted: Iterable[Step]) -> list[str]:
    """Do what is wanted, and return the names of the commands that were not refused."""
    done: list[str] = []
    for name, actor, first, second in wanted:
        people = world.database.all(User, type="User")
        viewer = None if actor == len(people) else Viewer(user=people[actor])
        try:
            with world.acting(viewer) as act:
                COMMANDS[name](act, first, second)
        except Refusal:
            continue
        done.append(name)
    return done


def _chosen(act: Act, model: type[RecordT], number: int) -> RecordT:
    found = act.database.all(model)
    if not found:
        raise InvalidRefusal("there is nothing to choose from")
    return found[number % len(found)]


def _repository(act: Act, number: int) -> Repository:
    return _chosen(act, Repository, number // 3)


def _commit(act: Act, repository: Repository, branch: str, number: int, *, start: str | None = None) -> None:
    git, ref = act.git(repository), f"refs/heads/{branch}"
    old = git.ref(ref)
    parent = start or old or git.ref(f"refs/heads/{repository.default_branch}")
    text = TEXT.replace(f"line {number}\n", f"line {number} by {branch} at {act.now}\n")
    who = kernel.user_signature(_chosen(act, User, number), act.now)
    tree = git.write_tree(parent, [TreeChange(path="poem.txt", sha=git.write_blob(text.encode()))])
    sha = git.write_commit(
        tree=tree, parents=(parent,) if parent else (), message=f"Change {number}", author=who, committer=who
    )
    git.set_ref(ref, sha)
    refs.record_push(act, repository, [RefUpdate(ref, old, sha)])


def _force(act: Act, first: int, second: int) -> None:
    home = _repository(act, first)
    root = act.git(home).resolve(home.default_branch, home.default_branch)
    _commit(act, home, BRANCHES[1 + second % 3], 1 + first, start=root)


def _delete_branch(act: Act, first: int, second: int) -> None:
    refs.delete(act, _repository(act, first), ref=f"refs/heads/{BRANCHES[second % 4]}")


def _create_branch(act: Act, first: int, second: int) -> None:
    home = _repository(act, first)
    sha = act.git(home).resolve("main", "main") or ""
    refs.create(act, home, ref=f"refs/heads/{BRANCHES[second % 4]}", sha=sha)


def _put_file(act: Act, first: int, second: int) -> None:
    branch = BRANCHES[second % 4]
    content = f"{act.now} closes #{second}".encode()
    contents.put(act, _repository(act, first), path=f"f{first}/x", content=content, message="Fix #1", branch=branch)


def _open_pull(act: Act, first: int, second: int) -> None:
    home = lookup.repository(act.world, None, "acme", "widgets")
    branch = BRANCHES[first % 4]
    head = f"eve:{branch}" if second > 4 else branch
    pulls.create(act, home, title=f"Pull {first}", head=head, base=BRANCHES[second % 2], draft=second % 3 == 0)


def _review(act: Act, first: int, second: int) -> None:
    pull = _chosen(act, Pull, first)
    event = cast("reviews.ReviewEvent | None", (None, "APPROVE", "REQUEST_CHANGES", "COMMENT")[second % 4])
    lines = [NewThread(path="poem.txt", line=1 + second, body=f"line {second}")] if second > 3 else []
    reviews.create(act, pull, event=event, body=f"review {second}" if second % 3 else "", threads=lines)


def _submit(act: Act, first: int, second: int) -> None:
    events: tuple[reviews.ReviewEvent, ...] = ("APPROVE", "COMMENT", "REQUEST_CHANGES")
    reviews.submit(act, _chosen(act, Review, first), event=events[second % 3], body=f"done {second}")


def _begin_thread(act: Act, first: int, second: int) -> None:
    threads.create(act, _chosen(act, Pull, first), path="poem.txt", line=1 + second, body="Why?")


def _reply(act: Act, first: int, second: int) -> None:
    review = _chosen(act, Review, second) if second % 2 else None
    threads.reply(act, _chosen(act, Thread, first), f"answer {second}", review=review)


def _update_pull(act: Act, first: int, second: int) -> None:
    base = BRANCHES[second % 4]
    pulls.update(act, _chosen(act, Pull, first), title=f"Retitled {second}", base=base)


def _react(act: Act, first: int, second: int) -> None:
    subject = _chosen(act, (Issue, Comment, ReviewComment, Review)[second % 4], first)
    reactions.add(act, subject, ("heart", "eyes", "+1")[second % 3])


def _label(act: Act, first: int, second: int) -> None:
    issue = _chosen(act, Issue, first)
    found = act.database.all(Label, repository_id=issue.repository_id)
    issues.set_labels(act, issue, found[second % 5 : second % 5 + 2])


def _assign(act: Act, first: int, second: int) -> None:
    issues.set_assignees(act, _chosen(act, Issue, first), [_chosen(act, User, second)])


def _schedule(act: Act, first: int, second: int) -> None:
    issues.update(act, _chosen(act, Issue, first), milestone=_chosen(act, Milestone, second))


def _check(act: Act, first: int, second: int) -> None:
    home = lookup.repository_of(act.world, pull := _chosen(act, Pull, first))
    if second % 2:
        checks.create_status(act, home, sha=pull.head_sha, state="success", context=f"ci/{second}")
    else:
        checks.create_check_run(act, home, sha=pull.base_sha, name="build", conclusion="failure", title="no")


def _run(act: Act, first: int, second: int) -> None:
    home = lookup.repository_of(act.world, pull := _chosen(act, Pull, first))
    workflow = workflows.create_or_update(act, home, name=("CI", "Nightly")[second % 2])
    run = workflow_runs.create(
        act, workflow, sha=pull.head_sha, event=("push", "pull_request")[first % 2], branch=pull.head_ref
    )
    for name, conclusion in (("build", "success"), ("test", (None, "failure", "cancelled")[second % 3])):
        workflow_runs.add_job(act, run, name=name, conclusion=conclusion)


def _rerun(act: Act, first: int, second: int) -> None:
    run = _chosen(act, WorkflowRun, first)
    if second % 3 == 2:
        workflow_runs.rerun_job(act, _chosen(act, CheckRun, second))
    else:
        (workflow_runs.rerun, workflow_runs.rerun_failed)[second % 3](act, run)


def _end_job(act: Act, first: int, second: int) -> None:
    conclusion = ("success", "failure", None)[second % 3]
    status = {} if conclusion else {"status": "in_progress"}
    checks.update_check_run(act, _chosen(act, CheckRun, first), conclusion=conclusion, **status)


def _release(act: Act, first: int, second: int) -> None:
    releases.create(
        act,
        _repository(act, first),
        tag_name=f"v{second}",
        name=(None, "Next")[second % 2],
        draft=first % 2 == 1,
        prerelease=second % 3 == 0,
        make_latest=(None, "false", "legacy")[first % 3],
    )


def _edit_release(act: Act, first: int, second: int) -> None:
    release = _chosen(act, Release, first)
    match second % 4:
        case 0:
            releases.update(act, release, draft=not release.draft)
        case 1:
            releases.update(act, release, make_latest="true")
        case 2:
            releases.update(act, release, tag_name=f"w{second}", body=f"edit {second}")
        case _:
            releases.update(act, release, prerelease=not release.prerelease)


def _delete_tag(act: Act, first: int, second: int) -> None:
    refs.delete(act, _repository(act, first), ref=f"refs/tags/v{second}")


def _comment_on_commit(act: Act, first: int, second: int) -> None:
    home = lookup.repository_of(act.world, pull := _chosen(act, Pull, first))
    commit_comments.create(act, home, sha=pull.head_sha, body=f"on {second}", position=second)


def _merge(act: Act, first: int, second: int) -> None:
    methods: tuple[Method, ...] = ("merge", "squash", "rebase")
    merges.merge(act, _chosen(act, Pull, first), method=methods[second % 3])


def _auto_merge(act: Act, first: int, second: int) -> None:
    pull = _chosen(act, Pull, first)
    repositories.update(act, lookup.repository_of(act.world, pull), allow_auto_merge=True)
    merges.enable_auto_merge(act, pull, title=f"Later {second}")


def _settings(act: Act, first: int, second: int) -> None:
    home = _repository(act, first)
    if second % 3 == 0:
        repositories.update(act, home, visibility=("public", "private")[second % 2], topics=("a", "b"))
    elif second % 3 == 1:
        repositories.update(act, home, name=f"named-{second}", delete_branch_on_merge=True)
    else:
        repositories.protect(act, home, pattern=BRANCHES[second % 4], required_approvals=1, dismiss_stale_reviews=True)


def _access(act: Act, first: int, second: int) -> None:
    home, who = _repository(act, first), _chosen(act, User, first)
    if second % 3 == 0:
        repositories.remove_collaborator(act, home, who)
    elif second % 3 == 1:
        repositories.add_collaborator(act, home, who, "triage")
    else:
        users.add_team_repository(act, _chosen(act, Team, 0), home, "maintain")


def _ask(act: Act, first: int, second: int) -> None:
    teams = [_chosen(act, Team, 0)] if second % 2 else []
    reviews.request_reviews(act, _chosen(act, Pull, first), users=[_chosen(act, User, second)], teams=teams)


def _new_issue(act: Act, first: int, second: int) -> None:
    body = f"like #{second}\n\n@bob: see acme/widgets#1 " if second % 2 else None
    issues.create(act, _repository(act, first), title=f"Issue {first}", body=body)


def _transfer(act: Act, first: int, second: int) -> None:
    issues.transfer(act, _chosen(act, Issue, first), _repository(act, second))


_VALUES = {"text": "Hi", "number": 1.5, "date": "2026-01-31"}
_CHOSEN = ("single_select", "iteration")


def _set_project_value(act: Act, first: int, second: int) -> None:
    item = _chosen(act, ProjectItem, first)
    settable = act.database.all(ProjectField, project_id=item.project_id, data_type=(*_VALUES, *_CHOSEN))
    field = settable[second % len(settable)]
    choices = [option["id"] for option in field.options] + [each.id for each in iterations_of(field)]
    projects.set_value(act, item, field, choices[first % len(choices)] if choices else _VALUES[field.data_type])


def _delete_project_field(act: Act, first: int, _second: int) -> None:
    own = act.database.all(ProjectField, built_in=False)
    if own:
        projects.delete_field(act, own[first % len(own)])


def _change_project(act: Act, first: int, second: int) -> None:
    project = _chosen(act, Project, first)
    changes = ({"title": "New"}, {"closed": True}, {"closed": False}, {"readme": "# Hi"}, {"public": True})
    projects.update(act, project, **changes[second % len(changes)])  # pyright: ignore[reportArgumentType]


def _create_project_field(act: Act, first: int, second: int) -> None:
    kind = ("text", "number", "date", "single_select", "iteration")[second % 5]
    options = [{"name": "S"}, {"name": "L"}]
    projects.create_field(act, _chosen(act, Project, first), name=f"F{second}", data_type=kind, options=options)


PROJECT_COMMANDS: dict[str, Command] = {
    "project": lambda act, first, _: projects.create(act, _chosen(act, User, first), title="Board"),
    "project field": _create_project_field,
    "project item": lambda act, first, second: projects.add_item(
        act, _chosen(act, Project, first), _chosen(act, Issue, second)
    ),
    "project draft": lambda act, first, second: projects.add_draft(
        act, _chosen(act, Project, first), title=f"D{second}"
    ),
    "project value": _set_project_value,
    "change project": _change_project,
    "archive project item": lambda act, first, _: projects.archive_item(act, _chosen(act, ProjectItem, first)),
    "move project item": lambda act, first, second: projects.move_item(
        act, _chosen(act, ProjectItem, first), _chosen(act, ProjectItem, second)
    ),
    "delete project item": lambda act, first, _: projects.delete_item(act, _chosen(act, ProjectItem, first)),
    "delete project field": _delete_project_field,
    "delete project": lambda act, first, second: (
        projects.delete(act, _chosen(act, Project, first)) if second == 0 else None
    ),
}

COMMANDS: dict[str, Command] = {
    **PROJECT_COMMANDS,
    "access": _access,
    "ask": _ask,
    "assign": _assign,
    "auto merge": _auto_merge,
    "begin thread": _begin_thread,
    "block": lambda act, first, second: issues.add_blocking(act, _issue(act, first), _issue(act, second)),
    "branch": _create_branch,
    "check": _check,
    "cancel run": lambda act, first, _: workflow_runs.cancel(act, _chosen(act, WorkflowRun, first)),
    "child": lambda act, first, second: issues.add_child(
        act, _issue(act, first), _issue(act, second), replace_parent=True
    ),
    "close": lambda act, first, second: issues.close(
        act, _issue(act, first), reason=("completed", "not_planned", "duplicate")[second % 3]
    ),
    "close pull": lambda act, first, _: pulls.close(act, _chosen(act, Pull, first)),
    "comment on commit": _comment_on_commit,
    "comment": lambda act, first, second: comments.create(act, _chosen(act, Issue, first), f"see #{second}"),
    "delete branch": _delete_branch,
    "delete comment": lambda act, first, _: comments.delete(act, _chosen(act, Comment, first)),
    "delete issue": lambda act, first, _: issues.delete(act, _chosen(act, Issue, first)),
    "delete label": lambda act, first, _: labels.delete(act, _chosen(act, Label, first)),
    "delete milestone": lambda act, first, _: milestones.delete(act, _chosen(act, Milestone, first)),
    "delete pending": lambda act, first, _: reviews.delete_pending(act, _chosen(act, Review, first)),
    "delete release": lambda act, first, _: releases.delete(act, _chosen(act, Release, first)),
    "delete tag": _delete_tag,
    "delete repository": lambda act, first, second: (
        repositories.delete(act, _chosen(act, Repository, 1 + second % 2)) if first + second > 11 else None
    ),
    "delete run": lambda act, first, _: workflow_runs.delete(act, _chosen(act, WorkflowRun, first)),
    "delete thread comment": lambda act, first, _: threads.delete_comment(act, _chosen(act, ReviewComment, first)),
    "dismiss": lambda act, first, _: reviews.dismiss(act, _chosen(act, Review, first), "No."),
    "draft": lambda act, first, _: pulls.convert_to_draft(act, _chosen(act, Pull, first)),
    "edit comment": lambda act, first, second: comments.update(act, _chosen(act, Comment, first), f"edit {second}"),
    "edit release": _edit_release,
    "edit review": lambda act, first, _: reviews.update(act, _chosen(act, Review, first), body=""),
    "end job": _end_job,
    "force push": _force,
    "issue": _new_issue,
    "label": _label,
    "lock": lambda act, first, second: issues.lock(act, _chosen(act, Issue, first), (None, "spam")[second % 2]),
    "merge": _merge,
    "milestone": lambda act, first, second: milestones.create(
        act, _repository(act, first), title=f"M{second}", state=("open", "closed")[first % 2]
    ),
    "minimize": lambda act, first, _: comments.minimize(act, _chosen(act, Comment, first), "spam"),
    "open pull": _open_pull,
    "pin": lambda act, first, _: issues.pin(act, _chosen(act, Issue, first)),
    "push": lambda act, first, second: _commit(act, _repository(act, first), BRANCHES[second % 4], 1 + first),
    "put file": _put_file,
    "react": _react,
    "ready": lambda act, first, _: pulls.mark_ready(act, _chosen(act, Pull, first)),
    "release": _release,
    "reopen": lambda act, first, _: issues.reopen(act, _issue(act, first)),
    "reopen pull": lambda act, first, _: pulls.reopen(act, _chosen(act, Pull, first)),
    "reply": _reply,
    "rerun": _rerun,
    "resolve": lambda act, first, _: threads.resolve(act, _chosen(act, Thread, first)),
    "review": _review,
    "run": _run,
    "schedule": _schedule,
    "settings": _settings,
    "submit": _submit,
    "transfer": _transfer,
    "upload": lambda act, first, second: releases.upload_asset(
        act, _chosen(act, Release, first), name=f"a{second}", content=bytes([first, 255])
    ),
    "update branch": lambda act, first, _: pulls.update_branch(act, _chosen(act, Pull, first)),
    "update pull": _update_pull,
}


def _issue(act: Act, number: int) -> Issue:
    """Choose an issue that is no pull request, which are closed by commands of their own."""
    found = act.database.all(Issue, is_pull=False)
    if not found:
        raise InvalidRefusal("there is no issue")
    return found[number % len(found)]
