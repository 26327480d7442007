"""Every operation answers as GitHub's published OpenAPI description says, when it grants and when it refuses."""

import pytest
from openapi import Description, NotObtainableError, description_file
from rest_calls import ask_as_written
from rest_cases import CASES
from rest_world import Seeded

from ghx_twin.rest.operations import OPERATIONS

R = "/repos/{owner}/{repo}"
OLD_FORMS = {  # forms that clients use and the description does not name: as described under another template
    f"GET {R}/contents": f"GET {R}/contents/{{path}}",
    f"GET {R}/git/refs": f"GET {R}/git/matching-refs/{{ref}}",
    f"GET {R}/git/refs/{{ref}}": f"GET {R}/git/ref/{{ref}}",
}
# The description wants every account of this list to be a user and an enterprise at once.
IMPOSSIBLE = ("GET /app/installations", "0/account: ")
AMBIGUOUS = {  # an issue is to be one of three things, and as described it is two of them: an issue and a draft issue
    f"POST /{owners}/projectsV2/{{project_number}}/items" for owners in ("orgs/{org}", "users/{username}")
}
NAMES = [operation.name for operation in OPERATIONS]


@pytest.fixture(scope="module")
def description() -> Description:
    try:
        return Description(description_file())
    except NotObtainableError as error:
        pytest.skip(f"GitHub's OpenAPI description is not obtainable here: {error}")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_granted_is_as_described(name: str, world: Seeded, description: Description) -> None:
    reply = ask_as_written(world, name, CASES[name][0])

    assert 200 <= reply.status < 400, (reply.status, reply.text[:500])  # files are behind a redirect
    assert reply.operation == name
    described = OLD_FORMS.get(name, name)
    problems = description.problems(described, reply.status, reply.media_type, reply.content)
    impossible = [one for one in problems if name == IMPOSSIBLE[0] and one.startswith(IMPOSSIBLE[1])]
    ambiguous = [one for one in problems if name in AMBIGUOUS and one.endswith("'oneOf' keyword")]
    assert [one for one in problems if one not in (*impossible, *ambiguous)] == []


@pytest.mark.parametrize("issue", ["parent_issue", "sub_issue", "last_sub_issue"])
def test_what_happened_between_issues_is_as_described(issue: str, world: Seeded, description: Description) -> None:
    for kind in ("events", "timeline"):
        reply = world.client().get(f"/repos/acme/widgets/issues/{world.ids[issue]}/{kind}")

        assert reply.json()
        name = f"GET {R}/issues/{{issue_number}}/{kind}"
        assert description.problems(name, reply.status, reply.media_type, reply.content) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused_is_as_described(name: str, world: Seeded, description: Description) -> None:
    before = world.world.snapshot()

    reply = ask_as_written(world, name, CASES[name][1])

    assert 400 <= reply.status < 500, (reply.status, reply.text[:500])
    assert reply.operation == name
    described = OLD_FORMS.get(name, name)
    assert description.problems(described, reply.status, reply.media_type, reply.content) == []
    assert set(reply.json()) >= {"message", "documentation_url", "status"}
    assert world.world.snapshot() == before


def test_there_are_no_cases_of_operations_that_do_not_exist() -> None:
    assert set(CASES) - set(NAMES) == set()
    assert len(NAMES) == len(set(NAMES))


def test_the_description_refuses_an_answer_that_lacks_a_key(parent: Seeded, description: Description) -> None:
    reply = parent.client().get("/repos/acme/widgets/labels/bug")
    name = f"GET {R}/labels/{{name}}"

    assert description.problems(name, 200, reply.media_type, reply.content) == []
    assert description.problems(name, 200, reply.media_type, reply.content.replace(b'"color"', b'"colour"')) != []
    assert description.problems(name, 418, reply.media_type, b'{"message": 7}') != []
