"""What GitHub has and the twin lacks is named, also where a wider path of ours would have taken it."""

import pytest
from gh_client import GhClient


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("user/keys", "GET /user/keys"),
        ("user/issues", "GET /user/issues"),
        ("repos/acme/widgets/hooks", "GET /repos/{owner}/{repo}/hooks"),
    ],
)
def test_an_operation_that_the_twin_lacks_is_501_and_named(new_gh: GhClient, path: str, operation: str) -> None:
    refused = new_gh.run("api", path)

    assert refused.code == 1
    assert refused.json["status"] == "501"
    assert refused.json["message"] == f"{operation} is not implemented by the twin."


def test_a_field_that_the_twin_lacks_is_501_and_named(new_gh: GhClient) -> None:
    refused = new_gh.run("api", "graphql", "-f", "query={viewer {gists(first: 1) {totalCount}}}")

    assert refused.code == 1
    assert [entry.status for entry in refused.requests] == [501]
    assert refused.json["errors"] == [
        {"type": "NOT_IMPLEMENTED", "message": "User.gists is not implemented by the twin"}
    ]
