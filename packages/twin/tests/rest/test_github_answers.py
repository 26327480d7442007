"""What GitHub answers where a guess would be wrong; each row says how GitHub's answer is known."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from rest_world import Client, Reply, Seeded

from ghx_twin import diff
from ghx_twin.graphql.execution import execute
from ghx_twin.rest.dispatch import answer
from ghx_twin.urls import GITHUB_URLS
from ghx_twin.viewer import ANONYMOUS, Viewer

TRANSCRIPTS = "public transcripts of agents"
NOTES = "public notes of commands run on GitHub in August and September 2026"
RECORDED = "recorded answers of GitHub"
DUMMY = "the test suite of dummy_central, which also runs against GitHub"
DESCRIPTION = "GitHub's published description"
REPORTS = "public reports of users"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One request and what is certain of its answer; ids and shas of the seeded world stand in braces."""

    source: str
    ask: str  # method and path; `R` stands for /repos/acme/widgets
    body: Any = None
    user: str | None = "ann"  # None: without a token
    status: int
    answer: Any = None  # a part of the answer: keys that are not named are not compared


def asked(world: Seeded, row: Row) -> Reply:
    method, _, path = fill(world, row.ask).partition(" ")
    path = path.replace("R", "/repos/acme/widgets", 1) if path.startswith("R") else path
    stranger = Client(world.world, ANONYMOUS.user, ANONYMOUS.scopes)
    return (world.client(row.user) if row.user else stranger).ask(method, path, fill(world, row.body))


def fill(world: Seeded, value: Any) -> Any:
    match value:
        case str():
            for name, known in (*world.ids.items(), *world.shas.items(), ("robot", world.people["robot"].id)):
                value = str(known) if value == f"{{{name}}}" else value.replace(f"{{{name}}}", str(known))
            return value
        case list():
            return [fill(world, item) for item in value]
        case dict():
            return {key: fill(world, item) for key, item in value.items()}
        case _:
            return value


def part_of(whole: Any, part: Any) -> Any:
    """Return `whole` without what `part` does not name."""
    match whole, part:
        case dict(), dict():
            return {key: part_of(whole.get(key, "(missing)"), inner) for key, inner in part.items()}
        case list(), list() if len(whole) == len(part):
            return [part_of(one, inner) for one, inner in zip(whole, part, strict=True)]
        case _:
            return whole


def graphql(world: Seeded, query: str, user: str = "ann") -> Any:
    viewer = Viewer(user=world.people[user])
    return json.loads(execute(world.world, viewer, json.dumps({"query": query}).encode(), GITHUB_URLS).content)


APP = "You must authenticate via a GitHub App."
NOTE = {"body": "x", "commit_id": "{head}", "path": "src/app.py"}

CHECK_RUNS = {
    "a person makes no check run": Row(
        source=TRANSCRIPTS, ask="POST R/check-runs", body={"name": "x"}, status=403, answer={"message": APP}
    ),
    "a person does not turn a job green": Row(
        source=TRANSCRIPTS,
        ask="PATCH R/check-runs/{run_job}",
        body={"conclusion": "success"},
        status=403,
        answer={"message": APP},
    ),
    "another App does not turn a job green": Row(
        source=TRANSCRIPTS,
        ask="PATCH R/check-runs/{run_job}",
        body={"conclusion": "success"},
        user="robot",
        status=403,
        answer={
            "message": "Invalid app_id `{robot}` - check run can only be modified by the GitHub App that created it.",
        },
    ),
    "Actions ends its job": Row(
        source=DESCRIPTION,
        ask="PATCH R/check-runs/{run_job}",
        body={"conclusion": "success"},
        user="actions",
        status=200,
        answer={"conclusion": "success"},
    ),
}

INTEGERS = {
    f"{name} as text": Row(
        source=TRANSCRIPTS if name in {"line", "in_reply_to"} else DESCRIPTION,
        ask="POST R/pulls/{pull}/comments",
        body={**NOTE, "line": 5, name: "5"},
        status=422,
        answer={"message": f"Invalid request.\n\nFor 'properties/{name}', \"5\" is not {kind}."},
    )
    for name, kind in {
        "line": "an integer",
        "start_line": "an integer",
        "position": "an integer",
        "in_reply_to": "a number",
    }.items()
} | {
    "line of a review's comment as text": Row(
        source=DESCRIPTION,
        ask="POST R/pulls/{pull}/reviews",
        body={"comments": [{"path": "src/app.py", "body": "x", "line": "5"}]},
        status=422,
    ),
    "approvals as text": Row(
        source=DESCRIPTION,
        ask="PATCH R/branches/main/protection/required_pull_request_reviews",
        body={"required_approving_review_count": "1"},
        status=422,
    ),
    "milestone as text, which is allowed": Row(
        source=DESCRIPTION,
        ask="PATCH R/issues/{issue}",
        body={"milestone": "1"},
        status=200,
        answer={"milestone": {"number": 1}},
    ),
}

TYPES = {
    "an issue is opened with a type": Row(
        source=DESCRIPTION,
        ask="POST R/issues",
        body={"title": "x", "type": "bug"},
        status=201,
        answer={"type": {"name": "Bug", "color": "red"}},
    ),
    "a type that the organization lacks leaves no issue behind": Row(
        source=DESCRIPTION,
        ask="POST R/issues",
        body={"title": "x", "type": "Epic"},
        status=422,
        answer={"errors": [{"resource": "Issue", "field": "type", "code": "invalid", "value": "Epic"}]},
    ),
}

TREES = {
    "a branch with a slash names its tree": Row(
        source=RECORDED,
        ask="GET R/git/trees/feature/x?recursive=1",
        status=200,
        answer={"truncated": False},
    ),
    "a folder of a branch is a tree": Row(
        source=TRANSCRIPTS, ask="GET R/git/trees/main:src", status=200, answer={"tree": [{"path": "app.py"}]}
    ),
    "a folder of a branch with a slash is a tree": Row(
        source=TRANSCRIPTS, ask="GET R/git/trees/feature/x:src", status=200, answer={"tree": [{"path": "app.py"}]}
    ),
    "a file is no tree": Row(source=DESCRIPTION, ask="GET R/git/trees/main:src/app.py", status=404),
    "no folder is no tree": Row(source=DESCRIPTION, ask="GET R/git/trees/main:none", status=404),
}

FIRST = 'Invalid request.\n\nNo subschema in "oneOf" matched.\n"positioning" wasn\'t supplied.\n'
WITHOUT_COMMIT = (
    '"commit_id", "position" weren\'t supplied.\n"in_reply_to" wasn\'t supplied.\n'
    '"subject_type" is not a permitted key.\n'
    '"commit_id", "line" weren\'t supplied.\n"commit_id" wasn\'t supplied.'
)
OWN = "Review Can not approve your own pull request"


def outside(field: str) -> dict[str, Any]:
    name = f"pull_request_review_thread.{field}"
    resource = "PullRequestReviewComment"
    return {"errors": [{"resource": resource, "code": "invalid", "field": name, "message": "could not be resolved"}]}


REVIEWS = {
    "a comment on a line outside the diff": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/comments",
        body={**NOTE, "line": 500},
        status=422,
        answer=outside("line"),
    ),
    "a comment on a file outside the diff": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/comments",
        body={**NOTE, "path": "none", "line": 5},
        status=422,
        answer=outside("path"),
    ),
    "a comment without a commit": Row(
        source=f"{NOTES}, word for word",
        ask="POST R/pulls/{pull}/comments",
        body={"body": "x", "path": "src/app.py", "subject_type": "file"},
        status=422,
        answer={"message": FIRST + WITHOUT_COMMIT},
    ),
    "a review with a line outside the diff": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/reviews",
        body={"event": "COMMENT", "comments": [{"path": "src/app.py", "line": 500, "body": "x"}]},
        status=422,
        answer={"message": "Unprocessable Entity", "errors": ["Line could not be resolved"]},
    ),
    "a review with three comments outside the diff": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/reviews",
        body={
            "event": "COMMENT",
            "comments": [{"path": path, "line": 500, "body": "x"} for path in ("src/app.py", "none", "src/app.py")],
        },
        status=422,
        answer={"errors": ["Line could not be resolved, Path could not be resolved, and Line could not be resolved"]},
    ),
    "a review of a foreign commit, even before the verdict": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/reviews",
        body={"event": "APPROVE", "commit_id": "0" * 40},
        status=422,
        answer={"message": "Unprocessable Entity", "errors": ["The commitOID is not part of the pull request"]},
    ),
    "a review with no known event": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/reviews",
        body={"event": "LGTM"},
        status=422,
        answer={"errors": ["Variable $event of type PullRequestReviewEvent was provided invalid value"]},
    ),
    "an approval of one's own": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/reviews",
        body={"event": "APPROVE"},
        status=422,
        answer={"message": "Unprocessable Entity", "errors": [OWN]},
    ),
}

OTHERS = {
    "a fork of one's own repository is the repository": Row(
        source=f"{DUMMY}; source of gh",
        ask="POST /repos/ann/secret/forks",
        status=202,
        answer={"full_name": "ann/secret", "fork": False},
    ),
    "code is searched by a file's name alone": Row(
        source=TRANSCRIPTS,
        ask="GET /search/code?q=filename:app.py+repo:acme/widgets",
        status=200,
        answer={"total_count": 1, "items": [{"path": "src/app.py"}]},
    ),
    "code is not searched by a repository alone": Row(
        source=DESCRIPTION, ask="GET /search/code?q=repo:acme/widgets", status=422
    ),
    "REST refuses to ask the author for a review": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/requested_reviewers",
        body={"reviewers": ["ann"]},
        status=422,
        answer={"message": "Review cannot be requested from pull request author."},
    ),
    "what stops a merge begins with the reviews": Row(
        source=NOTES,
        ask="PUT R/pulls/{behind}/merge",
        user="bob",
        status=405,
        answer={
            "message": "At least 1 approving review is required by reviewers with write access. "
            'Required status check "ci" is expected.'
        },
    ),
}


def refused(ask: str, body: Any, message: str, *, source: str = DUMMY, **answer: Any) -> Row:
    return Row(source=source, ask=ask, body=body, status=422, answer={"message": message, **answer})


def tree(**entry: Any) -> dict[str, Any]:
    return {"tree": [{"path": "foo", "mode": "160000", "type": "commit", **entry}]}


COMMIT = {"message": "x", "tree": "{tree}"}
GIT = {
    "a ref must start with refs/": refused(
        "POST R/git/refs", {"ref": "foo", "sha": "{main}"}, "Reference name must start with 'refs/'."
    ),
    "a ref has three components": refused(
        "POST R/git/refs",
        {"ref": "refs/foo", "sha": "{main}"},
        "Reference name must contain at least three slash-separated components.",
    ),
    "a branch is a commit": refused(
        "POST R/git/refs", {"ref": "refs/heads/foo", "sha": "{blob}"}, "Reference update failed"
    ),
    "base_tree is there": refused(
        "POST R/git/trees", {"base_tree": "0" * 40, **tree(sha="1" * 40)}, "base_tree is not a valid tree oid"
    ),
    "a path has no slash in front": refused(
        "POST R/git/trees", tree(path="/foo", sha="1" * 40), "tree.path cannot start with a slash"
    ),
    "a submodule is a commit": refused("POST R/git/trees", tree(sha="5"), "tree.sha 5 is not a valid commit"),
    "a submodule is not null": refused("POST R/git/trees", tree(sha="0" * 40), "GitRPC::BadObjectState"),
    "a submodule may be anywhere": Row(source=DUMMY, ask="POST R/git/trees", body=tree(sha="1" * 40), status=201),
    "a tree of a commit is a sha": refused(
        "POST R/git/commits",
        {"message": "x", "tree": "nonsense"},
        "The tree parameter must be exactly 40 characters and contain only [0-9a-f].",
    ),
    "an author is an object": refused(
        "POST R/git/commits",
        {**COMMIT, "author": None},
        "Invalid request.\n\nFor 'properties/author', nil is not an object.",
    ),
    "an author has a name": refused(
        "POST R/git/commits",
        {**COMMIT, "author": {"name": "", "email": "a@b.c"}},
        "Validation Failed",
        errors=[{"code": "missing_field", "field": "name", "resource": "author"}],
    ),
    "any encoding of a blob but base64 is text": Row(
        source=DUMMY,
        ask="POST R/git/blobs",
        body={"content": "x", "encoding": "latin1"},
        status=201,
        answer={"sha": "c1b0730e0133447badcfd47fd144e254807b06e1"},
    ),
}

TEXTS = {
    "an empty body of an issue is none": Row(
        source=DUMMY, ask="POST R/issues", body={"title": "x", "body": ""}, status=201, answer={"body": None}
    ),
    "an empty body of a pull request is none": Row(
        source=DUMMY, ask="PATCH R/pulls/{pull}", body={"body": ""}, status=200, answer={"body": None}
    ),
    "an object is quoted as Ruby prints it": refused(
        "POST R/pulls/{pull}/reviews",
        {"comments": {"0": {"body": "x", "line": None}}},
        'Invalid request.\n\nFor \'properties/comments\', {"0" => {"body" => "x", "line" => nil}} is not an array.',
        source=f"{RECORDED} and {TRANSCRIPTS}",
    ),
    "a long comment in ASCII": Row(
        source=DUMMY, ask="POST R/issues/{issue}/comments", body={"body": "a" * 262144}, status=201
    ),
    "a comment that is too long": Row(
        source=DUMMY,
        ask="POST R/issues/{issue}/comments",
        body={"body": "a" * 262145},
        status=422,
        answer={"errors": [{"message": "Body is too long (maximum is 65536 characters)"}]},
    ),
    "a status in a state that is none": refused(
        "POST R/statuses/{head}",
        {"state": "wonderful"},
        "Validation Failed",
        errors=[
            {"resource": "Status", "code": "custom", "field": "state", "message": "state is not included in the list"}
        ],
    ),
    "no labels to add": refused(
        "POST R/issues/{issue}/labels", {"labels": []}, "Invalid request.\n\n1 item required; only 0 were supplied."
    ),
    "no labels to add, in an array": Row(
        source=DUMMY, ask="POST R/issues/{issue}/labels", body=[], status=200, answer=[{"name": "area/ui kit"}]
    ),
    "a pull request between branches that are not there": refused(
        "POST R/pulls",
        {"title": "x", "head": "none", "base": "no"},
        "Validation Failed",
        errors=[{"field": "base", "code": "invalid"}, {"field": "head", "code": "invalid"}],
    ),
    "a fork into an account that is not there": refused(
        "POST R/forks",
        {"organization": "nosuch"},
        "Validation Failed",
        errors=[{"resource": "Fork", "code": "invalid", "field": "organization"}],
    ),
    "a fork into a person's account by name": refused(
        "POST R/forks",
        {"organization": "bob"},
        "'bob' is the login for a user account. You must pass the login for an organization account.",
    ),
}

REPOSITORIES = {
    f"a repository named x{suffix}": Row(
        source=DUMMY, ask="POST /user/repos", body={"name": f"x{suffix}"}, status=201, answer={"name": name}
    )
    for suffix, name in {
        ".git": "x", ".git.git": "x", ".zip": "x.zip", ".jpeg.git": "x.jpeg", ".git.jpeg": "x.git.jpeg",
        "y;*z!": "xy-z-",
    }.items()
} | {
    "a repository with a name that is too long": refused(
        "POST /user/repos",
        {"name": "z" * 101},
        "Repository creation failed.",
        errors=[{"code": "custom", "field": "name", "message": "name cannot be more than 100 characters"}],
    ),
    "a repository with the longest name": Row(
        source=DUMMY, ask="POST /user/repos", body={"name": "z" * 100}, status=201
    ),
}  # fmt: skip


LOOKS = {
    "an archive of the default branch is there on GitHub": Row(source=DESCRIPTION, ask="GET R/zipball", status=302),
    "a comment on a whole file is on its first line": Row(
        source=NOTES,
        ask="POST R/pulls/{pull}/comments",
        body={**NOTE, "subject_type": "file"},
        status=201,
        answer={"line": 1, "original_line": 1, "original_position": 1, "position": 1, "subject_type": "file"},
    ),
    "a bot has the picture of its app": Row(
        source=RECORDED,
        ask="GET /users/robot%5Bbot%5D",
        status=200,
        answer={"avatar_url": "https://avatars.githubusercontent.com/in/{robot}?v=4"},
    ),
}

NO_TARGET = {"resource": "Release", "code": "invalid", "field": "target_commitish"}
NO_TAG = [
    {"resource": "Release", "code": "custom", "field": "tag_name", "message": "tag_name is not a valid tag"},
    {"resource": "Release", "code": "custom", "message": "Published releases must have a valid tag"},
]
RELEASES = {
    name: Row(source=REPORTS, ask=ask, body=body, status=status, answer=answer)
    for name, ask, body, status, answer in (
        *(
            (
                f"a release at {target}", "POST R/releases", {"tag_name": "v9", "target_commitish": target}, 422,
                {"message": "Validation Failed", "errors": [*NO_TAG, NO_TARGET]},
            )
            for target in ("refs/tags/v1", "HEAD", "0123456", "master")
        ),
        (
            "a draft at a tag, with notes", "POST R/releases",
            {"tag_name": "v9", "target_commitish": "refs/tags/v1", "draft": True, "generate_release_notes": True}, 422,
            {"errors": [NO_TARGET]},
        ),
        (
            "a release of a tag that has one", "POST R/releases", {"tag_name": "v1"}, 422,
            {"errors": [{"resource": "Release", "code": "already_exists", "field": "tag_name"}]},
        ),
        (
            "a draft that is to be the latest", "PATCH R/releases/{draft}", {"make_latest": "true"}, 422,
            {"errors": [{"code": "custom", "message": "Latest release cannot be draft or prerelease."}]},
        ),
        (
            "notes since a tag that is not there", "POST R/releases/generate-notes",
            {"tag_name": "v9", "previous_tag_name": "none"}, 400, {"message": "Invalid previous_tag parameter"},
        ),
        (
            "a file without a length", "POST R/releases/{release}/assets?name=x", None, 400,
            {"message": "Bad Content-Length: "},
        ),
    )
}  # fmt: skip

NO_TOKEN = {"message": "Requires authentication"}
STRANGERS = {
    name: Row(source=source, ask=ask, body=body, user=None, status=status, answer=answer)
    for name, source, ask, body, status, answer in (
        ("the API's root", DESCRIPTION, "GET /", None, 200, None),
        ("a public repository", DUMMY, "GET R", None, 200, {"full_name": "acme/widgets", "permissions": "(missing)"}),
        ("a blob of a public repository", DUMMY, "GET R/git/blobs/{blob}", None, 200, None),
        ("an issue of a public repository", DESCRIPTION, "GET R/issues/{issue}", None, 200, None),
        ("a search of public issues", DESCRIPTION, "GET /search/issues?q=repo:acme/widgets", None, 200, None),
        ("a private repository", DESCRIPTION, "GET /repos/ann/secret", None, 404, {"message": "Not Found"}),
        ("the account behind no token", DESCRIPTION, "GET /user", None, 401, NO_TOKEN),
        ("a repository for nobody", DUMMY, "POST /user/repos", {"name": "x"}, 401, NO_TOKEN),
        ("an issue by nobody", DESCRIPTION, "POST R/issues", {"title": "x"}, 401, NO_TOKEN),
        ("a private repository's issue by nobody", DESCRIPTION, "POST /repos/ann/secret/issues", {}, 404, None),
        ("the protection of a branch", DESCRIPTION, "GET R/branches/main/protection", None, 401, NO_TOKEN),
        (
            "a fork for nobody", DUMMY, "POST R/forks", None, 401, {"message": "You must be logged in to do that."},
        ),
        (
            "a search of code", REPORTS, "GET /search/code?q=x", None, 401,
            {**NO_TOKEN, "errors": [{"message": "Must be authenticated to access the code search API", "field": "q"}]},
        ),
    )
}  # fmt: skip

ROWS = (
    CHECK_RUNS | INTEGERS | TYPES | TREES | REVIEWS | OTHERS | GIT | TEXTS | LOOKS | STRANGERS | REPOSITORIES | RELEASES
)


@pytest.mark.parametrize("name", ROWS)
def test_the_twin_answers_as_github_does(world: Seeded, name: str) -> None:
    row = ROWS[name]

    reply = asked(world, row)

    assert reply.status == row.status, reply.text
    if row.answer is not None:
        expected = fill(world, row.answer)
        assert part_of(reply.json(), expected) == expected, row.source


def test_a_person_has_one_fork_and_an_organization_any_number_under_other_names(world: Seeded) -> None:
    """Known by the test suite of dummy_central, which also runs against GitHub."""

    def forked(body: Any) -> str:
        return world.client().post("/repos/acme/widgets/forks", body).json()["full_name"]

    assert [forked({}), forked({})] == ["ann/widgets", "ann/widgets"]
    assert [forked({"organization": "acme"}), forked({"organization": "acme"})] == ["acme/widgets-1", "acme/widgets-2"]


def test_the_type_of_an_issue_is_set_and_taken_away_as_gh_does(world: Seeded) -> None:
    node = world.client().get(f"/repos/acme/widgets/issues/{world.ids['issue']}").json()["node_id"]
    types = graphql(
        world, '{ repository(owner: "acme", name: "widgets") { issueTypes(first: 9) { nodes { id name } } } }'
    )
    bug = next(one["id"] for one in types["data"]["repository"]["issueTypes"]["nodes"] if one["name"] == "Bug")
    of_type = '{ repository(owner: "acme", name: "widgets") { issues(filterBy: {type: "Bug"}) { totalCount } } }'

    before = graphql(world, of_type)["data"]["repository"]["issues"]["totalCount"]

    for given, name, count in ((f'"{bug}"', {"name": "Bug"}, before + 1), ("null", None, before)):
        change = f'updateIssueIssueType(input: {{issueId: "{node}", issueTypeId: {given}}})'
        done = graphql(world, f"mutation {{ {change} {{ issue {{ issueType {{ name }} }} }} }}")
        assert done == {"data": {"updateIssueIssueType": {"issue": {"issueType": name}}}}
        assert graphql(world, of_type)["data"]["repository"]["issues"]["totalCount"] == count


def test_what_github_has_added_since_its_schema_was_published_is_not_implemented(world: Seeded) -> None:
    repository = world.client().get("/repos/acme/widgets").json()["node_id"]
    asked = f'createIssue(input: {{repositoryId: "{repository}", title: "x", issueFieldValues: []}})'

    done = graphql(world, f"mutation {{ {asked} {{ issue {{ number }} }} }}")

    assert done["errors"][0]["type"] == "NOT_IMPLEMENTED"


def test_a_thread_on_one_line_starts_on_it_in_graphql_and_nowhere_in_rest(world: Seeded) -> None:
    """Known by recorded answers of GitHub, nine of them, and by public notes."""
    thread = "reviewThreads(first: 1) { nodes { line startLine } }"
    number = world.ids["pull"]

    asked = graphql(
        world, f'{{ repository(owner: "acme", name: "widgets") {{ pullRequest(number: {number}) {{ {thread} }} }} }}'
    )
    shown = world.client().get(f"/repos/acme/widgets/pulls/comments/{world.ids['review_comment']}").json()

    assert asked["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"] == [{"line": 5, "startLine": 5}]
    assert (shown["line"], shown["start_line"]) == (5, None)


VAR = 'Expected VAR_SIGN, actual: UNKNOWN_CHAR ("\\") at [1, 7]'
TOO_MANY = "Expected one of SCHEMA, SCALAR, TYPE, ENUM, INPUT, UNION, INTERFACE, actual: RCURLY"
DOCUMENTS = [
    ("query(\\$owner:String!){viewer{login}}", VAR, TRANSCRIPTS),
    ("{ viewer { login } } }", f'{TOO_MANY} ("}}") at [1, 22]', TRANSCRIPTS),
    ("{ viewer { ", 'Expected NAME, actual: (none) ("") at [1, 12]', "a public test of messages seen on GitHub"),
    ('{ viewer { login "Bad gateway" } }', 'Expected NAME, actual: STRING ("Bad gateway") at [1, 18]', "the same"),
    ("{ user(login:'x') { id } }", 'Expected VALUE, actual: UNKNOWN_CHAR ("\'") at [1, 14]', "notes of clients"),
    ("{ viewer {\n// x\nlogin } }", 'Expected NAME, actual: UNKNOWN_CHAR ("/") at [2, 1]', "the same"),
    ("{ a(number: 0158) }", 'Expected NAME, actual: INT ("158") at [1, 14]', "a measurement in a public repository"),
    ("query Q($a) { a }", 'Expected COLON, actual: RPAREN (")") at [1, 11]', "source of graphql-ruby"),
    ("# nothing", "Unexpected end of document", "source of graphql-ruby"),
]


@pytest.mark.parametrize(("document", "message", "source"), DOCUMENTS)
def test_what_is_no_graphql_is_refused_in_the_words_of_githubs_parser(
    world: Seeded, document: str, message: str, source: str
) -> None:
    assert [error["message"] for error in graphql(world, document)["errors"]] == [message], source


def test_a_variable_that_does_not_fit_is_explained_in_githubs_words(world: Seeded) -> None:
    """Known by answers of servers with GitHub's GraphQL library, in public tests and notes."""
    query = "mutation($i: CreateIssueInput!) { createIssue(input: $i) { issue { id } } }"
    variables = {"i": {"repositoryId": "x", "labelIds": "x", "foo": 1}}

    reply = execute(
        world.world,
        Viewer(user=world.people["ann"]),
        json.dumps({"query": query, "variables": variables}).encode(),
        GITHUB_URLS,
    )

    (error,) = json.loads(reply.content)["errors"]
    where = "foo (Field is not defined on CreateIssueInput), title (Expected value to not be null)"
    assert error["message"] == f"Variable $i of type CreateIssueInput! was provided invalid value for {where}"
    assert error["extensions"]["problems"][1] == {"path": ["title"], "explanation": "Expected value to not be null"}


@pytest.mark.parametrize("place", ['path: "src/app.py", line: 500', 'path: "none", line: 5'])
def test_a_thread_outside_the_diff_is_null_and_no_error_in_graphql(world: Seeded, place: str) -> None:
    """Known by the source of GitHub's MCP server, which reports the error that the API does not."""
    before = world.world.snapshot()
    node = world.client().get(f"/repos/acme/widgets/pulls/{world.ids['pull']}").json()["node_id"]
    asked = f'addPullRequestReviewThread(input: {{pullRequestId: "{node}", body: "x", {place}}})'

    done = graphql(world, f"mutation {{ {asked} {{ thread {{ id }} }} }}")

    assert done == {"data": {"addPullRequestReviewThread": {"thread": None}}}
    assert not diff(before, world.world)


def node_of(world: Seeded, number: int) -> str:
    return world.client().get(f"/repos/acme/widgets/pulls/{number}").json()["node_id"]


def test_a_draft_has_the_merge_state_of_any_other_pull_request_in_graphql(world: Seeded) -> None:
    """Known by public notes of commands run on GitHub: DRAFT is never returned."""
    node = node_of(world, world.ids["mergeable"])

    done = graphql(
        world,
        f'mutation {{ convertPullRequestToDraft(input: {{pullRequestId: "{node}"}}) '
        "{ pullRequest { isDraft mergeStateStatus } } }",
    )

    shown = done["data"]["convertPullRequestToDraft"]["pullRequest"]
    assert shown == {"isDraft": True, "mergeStateStatus": "BLOCKED"}


MUTATIONS = [
    (
        'replaceActorsForAssignable(input: {assignableId: "%s", actorLogins: ["nosuch"]}) { clientMutationId }',
        "Could not resolve to a user or bot with the login 'nosuch'.",
    ),
    (
        'requestReviewsByLogin(input: {pullRequestId: "%s", userLogins: ["nosuch"]}) { clientMutationId }',
        "Could not resolve user with login 'nosuch'.",
    ),
    ('requestReviewsByLogin(input: {pullRequestId: "%s", userLogins: ["ann"]}) { clientMutationId }', None),
    ('disablePullRequestAutoMerge(input: {pullRequestId: "%s"}) { clientMutationId }', None),
]


@pytest.mark.parametrize(("mutation", "message"), MUTATIONS)
def test_what_gh_pr_edit_and_merge_send_is_answered_as_by_github(
    world: Seeded, mutation: str, message: str | None
) -> None:
    """Known by public notes of `gh pr edit` and `gh pr merge --disable-auto` on GitHub."""
    done = graphql(world, f"mutation {{ {mutation % node_of(world, world.ids['mergeable'])} }}")

    assert [error["message"] for error in done.get("errors", [])] == ([message] if message else [])


def test_the_keys_of_reviews_and_comments_come_in_githubs_order(world: Seeded) -> None:
    """Known by recorded answers of GitHub."""
    client, number = world.client(), world.ids["pull"]
    first = world.ids["review_comment"]
    reply = client.post(f"/repos/acme/widgets/pulls/{number}/comments/{first}/replies", {"body": "Because"}).json()
    review = client.get(f"/repos/acme/widgets/pulls/{number}/reviews/{world.ids['review']}").json()

    assert list(reply)[-6:] == [
        "side", "in_reply_to_id", "author_association", "original_position", "position", "subject_type",
    ]  # fmt: skip
    assert list(review)[-3:] == ["_links", "submitted_at", "commit_id"]


def test_a_version_that_the_api_does_not_have_is_refused(world: Seeded) -> None:
    """Known by GitHub's documentation of API versions."""
    statuses = {
        version: answer(
            world.world,
            Viewer(user=world.people["ann"]),
            method="GET",
            raw_path="/user",
            query="",
            headers={"x-github-api-version": version},
            body=b"",
            base=GITHUB_URLS,
        ).status
        for version in ("2022-11-28", "2026-03-10", "2020-01-01")
    }

    assert statuses == {"2022-11-28": 200, "2026-03-10": 200, "2020-01-01": 400}
