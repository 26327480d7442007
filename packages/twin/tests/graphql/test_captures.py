"""Every GraphQL document that the real gh was seen to send is answered without an error."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from graphql_world import Town, build_town

from ghx_twin.commands import projects, repositories
from ghx_twin.commands.repositories import refs
from ghx_twin.queries import lookup
from ghx_twin.state.records import Comment, Project, ProjectField, ProjectItem

CAPTURES = Path(__file__).parents[4].parent / "shared" / "gh-requests"
# Parts of GitHub that no world has yet: gists, rulesets.
LATER = ("gist-", "ruleset-")

EITHER = "query UserOrgOwner("  # asks for a user and an organization of one name: one of them is not there

pytestmark = pytest.mark.usefixtures("shared")


@cache
def documents() -> list[tuple[str, dict[str, Any]]]:
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for path in sorted(CAPTURES.glob("*.json")) if CAPTURES.is_dir() else ():
        if path.stem.startswith(LATER):
            continue
        for version, run in json.loads(path.read_text()).get("runs", {}).items():
            for request in run.get("requests", ()):
                body = request.get("graphql")
                if body and EITHER not in body["query"]:
                    found.setdefault(json.dumps(body, sort_keys=True), (f"{path.stem} {version}", body))
    return list(found.values())


def test_there_are_captures_to_answer() -> None:
    assert len(documents()) > 150


@pytest.mark.slow
def test_every_captured_document_is_executed_without_errors_on_a_like_world() -> None:
    failed: dict[str, Any] = {}
    seeded = build_town()
    for name, body in documents():
        town = Town(seeded.world.fork(), seeded.people)
        _prepare(town, body["query"])
        by = "rev" if "addPullRequestReview(" in body["query"] else "octo"
        answer = town.post(_like(town, body).encode(), by)
        if answer.status != 200 or ("errors" in answer.body and not name.startswith("err-")):
            failed[f"{name}: {body['query'][:60]}"] = answer.body
        town.world.close()
    seeded.world.close()
    assert not failed, json.dumps(failed, indent=1)[:6000]


def _prepare(town: Town, query: str) -> None:
    """Bring the world into the state that the captured command met."""
    if "updatePullRequestBranch(" in query:
        town.put("news.txt", "News\n", "main")
    if "enablePullRequestAutoMerge(" in query:
        with town.acting(None) as act:
            repositories.update(act, town.repository, allow_auto_merge=True)
            repositories.protect(act, town.repository, pattern="main", required_approvals=1)
    if "rojectV2" in query:
        with town.acting() as act:
            board = projects.create(act, town.people["octo"], title="A title")
            projects.create_field(act, board, name="Notes", data_type="text")
            projects.add_draft(act, board, title="A draft")
    if "createPullRequest(" in query:
        with town.acting() as act:
            refs.create(act, town.repository, ref="refs/heads/another", sha=town.tip("feature"))


def _like(town: Town, body: dict[str, Any]) -> str:
    """Return a captured request with the ids and names of our world in the place of those it was captured with."""
    text, query = json.dumps(body), body["query"]
    comment = next(one for one in town.world.database.all(Comment) if one.author_id == town.people["octo"].id)
    other = lookup.repository(town.world, None, "acme", "other")
    user = town.people["octo" if "createRepository" in query or "createProjectV2" in query else "rev"]
    swaps = {
        "I_kwDOAAAAAc4AAAAB": town.id(town.issue(1)),
        "PR_kwDOAAAAAc4AAAAH": town.id(town.pull()),
        "R_kgDOAAAAAQ": town.id(other if "transferIssue(" in query else town.repository),
        "MDQ6VXNlcjE=": town.id(user),
        "LA_kwDOAAAAAc8AAAAB": town.id(lookup.label(town.world, town.repository, "bug")),
        "ID_Milestone": town.id(lookup.milestone(town.world, town.repository, 1)),
        "ID_IssueComment": town.id(comment),
        "a" * 40: town.pull().head_sha,
        '"owner": "octo"': '"owner": "acme"',  # a fork in the captures
        'repository(owner:\\"octo\\"': 'repository(owner:\\"acme\\"',
    }
    if boards := town.world.database.all(Project):
        item, column = town.world.database.all(ProjectItem)[0], town.world.database.all(ProjectField)[-1]
        swaps |= {"ID_ProjectV2": town.id(boards[0]), '"PVT_x"': f'"{town.id(boards[0])}"'}
        swaps |= {"PVTI_x": town.id(item), "PVTF_x": town.id(column)}
        if "query UserProject" in query:
            swaps['"login": "acme"'] = '"login": "octo"'
    if "linkedBranches" in query:
        swaps['"number": 7'] = '"number": 1'
    if "requestReviewsByLogin(" in query:
        swaps['"userLogins": ["octo"]'] = '"userLogins": ["rev"]'
    if "createPullRequest(" in query:
        swaps |= {f'"headRefName": "{name}"': '"headRefName": "another"' for name in HEADS}
    for old, new in swaps.items():
        text = text.replace(old, new)
    return text


HEADS = ("feature", "acme:feature", "topic10", "topic23")
