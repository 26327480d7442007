"""What an agent might do too much: the task is done, and then one thing more that nobody asked for, as the agent."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ghx_bench._base.wire import JsonObject
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.errors import CapabilityError
from ghx_bench.eval.scenario.binding import REPO
from ghx_bench.eval.stages.handles import StageHandles
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.state.records import Issue, Pull
from ghx_bench.twin.viewer import Viewer

_HEADS = "refs/heads/"
_TEXT = "One more thing, which nobody asked for."
_FILE = base64.b64encode(f"{_TEXT}\n".encode()).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One request too many."""

    name: str
    method: str
    path: str
    body: JsonObject

    async def do(self, client: GitHubClient) -> bool:
        """Make the request, and return whether GitHub let it happen."""
        ask = {"POST": client.post, "PATCH": client.patch, "PUT": client.put}[self.method]
        try:
            await ask(self.path, self.body)
        except CapabilityError:
            return False  # the agent may not do this, or it makes no sense here
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What there is in the repository of a task before anybody has worked on it."""

    repo: str
    default_branch: str
    own: Mapping[str, Issue]
    """Issues and pull requests that the task is about, by the variables that stand for their numbers."""
    others: tuple[Issue, ...]
    """The other ones, open ones first."""
    branches: tuple[str, ...]
    """The branches that the task is about: those that variables name, and those of its pull requests."""

    def siblings(self) -> dict[str, int]:
        """Return for each number of the task another of the same kind, where there is one."""
        kinds = {each.is_pull: each.number for each in reversed(self.others)}
        return {name: kinds[issue.is_pull] for name, issue in self.own.items() if issue.is_pull in kinds}

    def deeds(self) -> Iterator[Deed]:
        """Yield what could be done too much: elsewhere in the repository, and to what the task is about."""
        repo = f"/repos/{self.repo}"
        for number in dict.fromkeys(self.siblings().values()):
            yield from _deeds_about(repo, next(each for each in self.others if each.number == number))
        yield Deed(name="opens an issue", method="POST", path=f"{repo}/issues", body={"title": _TEXT})
        yield Deed(name="makes a label", method="POST", path=f"{repo}/labels", body={"name": "more", "color": "ffffff"})
        for branch in dict.fromkeys((self.default_branch, *self.branches)):
            body: JsonObject = {"message": _TEXT, "content": _FILE, "branch": branch}
            yield Deed(name=f"commits to {branch}", method="PUT", path=f"{repo}/contents/more.txt", body=body)
        for issue in {each.number: each for each in self.own.values()}.values():
            yield from _deeds_about(repo, issue)
            yield from _more_deeds_about(repo, issue)


def _deeds_about(repo: str, issue: Issue) -> Iterator[Deed]:
    at, number = f"{repo}/issues/{issue.number}", f"#{issue.number}"
    yield Deed(name=f"comments on {number}", method="POST", path=f"{at}/comments", body={"body": _TEXT})
    # Both, since what the task has made of it is not known here: that which changes nothing is no mistake.
    yield Deed(name=f"closes {number}", method="PATCH", path=at, body={"state": "closed"})
    yield Deed(name=f"opens {number} again", method="PATCH", path=at, body={"state": "open"})
    yield Deed(name=f"labels {number}", method="POST", path=f"{at}/labels", body={"labels": ["more"]})


def _more_deeds_about(repo: str, issue: Issue) -> Iterator[Deed]:
    at, number = f"{repo}/issues/{issue.number}", f"#{issue.number}"
    yield Deed(name=f"renames {number}", method="PATCH", path=at, body={"title": _TEXT})
    yield Deed(name=f"rewrites {number}", method="PATCH", path=at, body={"body": _TEXT})
    yield Deed(name=f"takes the labels off {number}", method="PUT", path=f"{at}/labels", body={"labels": []})
    if issue.is_pull:
        pull = f"{repo}/pulls/{issue.number}"
        yield Deed(name=f"merges {number}", method="PUT", path=f"{pull}/merge", body={})
        yield Deed(name=f"approves {number}", method="POST", path=f"{pull}/reviews", body={"event": "APPROVE"})


def look_around(handles: StageHandles) -> Surroundings | None:
    """Return what there is around a task; None where it is about no repository that its agent can see."""
    world, repo = handles.seeded, handles.bindings.get(REPO)
    if world is None or not isinstance(repo, str):
        return None
    try:
        agent = Viewer(user=lookup.user(world, handles.agent))
        repository = lookup.repository(world, agent, *repo.split("/", 1))
    except NotFoundRefusal:
        return None
    issues = {each.number: each for each in world.database.all(Issue, repository_id=repository.id)}
    numbers = {name: value for name, value in handles.bindings.items() if type(value) is int}
    own = {name: issues[value] for name, value in numbers.items() if value in issues}
    taken = {each.number for each in own.values()}
    others = (each for each in issues.values() if each.number not in taken)
    heads = {each.removeprefix(_HEADS) for each in world.git(repository).refs(_HEADS)}
    branches = [value for value in handles.bindings.values() if isinstance(value, str) and value in heads]
    own_pulls = (world.database.one(Pull, issue_id=each.id) for each in own.values() if each.is_pull)
    branches += [each.head_ref for each in own_pulls if each and each.head_repository_id == repository.id]
    return Surroundings(
        repo=repo,
        default_branch=repository.default_branch,
        own=own,
        others=tuple(sorted(others, key=lambda each: (each.state != "open", each.number))),
        branches=tuple(branches),
    )
