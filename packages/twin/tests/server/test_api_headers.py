"""The headers that clients read: validators, allowances, scopes, media types, and HEAD."""

from datetime import datetime

import httpx2
import pytest
from served_world import Served

from ghx_twin.rest.operations import OPERATIONS
from ghx_twin.server.rates import Rates
from ghx_twin.state.records import User
from ghx_twin.viewer import Viewer


@pytest.mark.parametrize(
    "path", ["/user", "/repos/acme/widgets", "/repos/acme/widgets/issues?per_page=1", "/repos/a/b"]
)
def test_head_says_what_get_says_and_sends_nothing(client: httpx2.Client, path: str) -> None:
    get, head = client.get(path), client.head(path)

    assert head.status_code == get.status_code
    assert head.content == b""
    same = ("content-type", "content-length", "etag", "link", "x-accepted-oauth-scopes")
    assert {name: head.headers.get(name) for name in same} == {name: get.headers.get(name) for name in same}


def test_what_has_not_changed_is_not_sent_again(client: httpx2.Client) -> None:
    first = client.get("/repos/acme/widgets/issues/1")
    held = {"If-None-Match": first.headers["etag"]}

    again = client.get("/repos/acme/widgets/issues/1", headers=held)
    client.patch("/repos/acme/widgets/issues/1", json={"title": "Changed"})
    changed = client.get("/repos/acme/widgets/issues/1", headers=held)

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "content-type" not in again.headers
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize("spelling", ["*", '"x", {}', '{}, W/"y"', "W/{}"])
def test_a_validator_is_found_among_others(client: httpx2.Client, spelling: str) -> None:
    tag = client.get("/user").headers["etag"]

    reply = client.get("/user", headers={"If-None-Match": spelling.format(tag.removeprefix("W/"))})

    assert reply.status_code == 304


def test_validators_are_weak_and_only_for_what_was_found(client: httpx2.Client) -> None:
    assert client.get("/user").headers["etag"].startswith('W/"')
    assert "etag" not in client.get("/users/nobody").headers
    assert "etag" not in client.post("/repos/acme/widgets/issues", json={"title": "x"}).headers


def test_two_viewers_of_one_thing_have_their_own_validators(served: Served) -> None:
    with served.client("ann") as ann, served.client("eve") as eve:
        tag = ann.get("/repos/acme/widgets").headers["etag"]
        assert eve.get("/repos/acme/widgets", headers={"If-None-Match": tag}).status_code == 200


def test_graphql_tells_the_same_allowance_as_its_headers(client: httpx2.Client) -> None:
    query = {"query": "{ rateLimit { limit used remaining resetAt } }"}
    for expected in ("1", "2"):
        reply = client.post("/graphql", json=query)
        told = reply.json()["data"]["rateLimit"]
        reset = datetime.fromisoformat(told["resetAt"]).timestamp()

        assert reply.headers["x-ratelimit-used"] == str(told["used"]) == expected
        assert reply.headers["x-ratelimit-limit"] == str(told["limit"])
        assert reply.headers["x-ratelimit-remaining"] == str(told["remaining"])
        assert reply.headers["x-ratelimit-reset"] == str(int(reset))


def test_every_answer_counts_against_the_allowance(client: httpx2.Client) -> None:
    first, second = client.get("/user"), client.get("/users/nobody")

    assert first.headers["x-ratelimit-limit"] == "5000"
    assert first.headers["x-ratelimit-resource"] == "core"
    assert int(second.headers["x-ratelimit-used"]) == int(first.headers["x-ratelimit-used"]) + 1
    assert int(second.headers["x-ratelimit-remaining"]) == int(first.headers["x-ratelimit-remaining"]) - 1


def test_asking_for_the_allowance_tells_it_and_costs_nothing(client: httpx2.Client) -> None:
    client.get("/user")
    client.post("/graphql", json={"query": "{ viewer { login } }"})
    client.get("/search/issues", params={"q": "x"})

    told = [client.get("/rate_limit") for _ in range(2)][1]

    resources = told.json()["resources"]
    assert [resources[name]["used"] for name in ("core", "graphql", "search", "code_search")] == [1, 1, 1, 0]
    assert resources["search"]["limit"] == 30
    assert told.json()["rate"] == resources["core"]
    assert told.headers["x-ratelimit-used"] == "1"
    assert told.headers["x-ratelimit-reset"] == str(resources["core"]["reset"])


def test_users_have_allowances_of_their_own(served: Served) -> None:
    with served.client("ann") as ann, served.client("bob") as bob:
        for _ in range(3):
            ann.get("/user")
        assert bob.get("/user").headers["x-ratelimit-used"] == "1"


def test_an_allowance_is_full_again_after_its_window_and_never_runs_out_by_itself() -> None:
    rates = Rates()
    one, other = (
        Viewer(user=User(id=number, login=f"user-{number}", created_at="", updated_at="")) for number in (1, 2)
    )

    for _ in range(50):
        last = rates.count(one, "search", 59)

    assert (last.used, last.remaining, last.reset) == (29, 1, 60)
    assert rates.count(one, "search", 60).used == 1
    assert rates.allowance(other, "search", 60).used == 0


@pytest.mark.parametrize("name", sorted({operation.name for operation in OPERATIONS if "{" not in operation.template}))
def test_every_answer_says_which_scopes_there_are_and_which_were_needed(client: httpx2.Client, name: str) -> None:
    method, path = name.split(" ")

    reply = client.request(method, path, **({"json": {"name": "n"}} if method == "POST" else {}))

    wanted = next(operation.scope for operation in OPERATIONS if operation.name == name)
    assert reply.headers["x-accepted-oauth-scopes"] == wanted
    assert "repo" in reply.headers["x-oauth-scopes"].split(", ")


def test_answers_carry_what_clients_look_for(client: httpx2.Client) -> None:
    replies = [client.get("/user", headers={"X-GitHub-Api-Version": "2022-11-28"}), client.get("/user")]

    assert replies[0].headers["content-type"] == "application/json; charset=utf-8"
    assert replies[0].headers["x-github-media-type"] == "github.v3; format=json"
    assert replies[0].headers["x-github-api-version-selected"] == "2022-11-28"
    assert replies[0].headers["x-github-request-id"] != replies[1].headers["x-github-request-id"]
    assert len(replies[0].headers.get_list("server")) == 1


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "PATCH", "POST", "DELETE", "TRACE"])
def test_a_method_that_a_path_does_not_have_is_not_found(client: httpx2.Client, method: str) -> None:
    for path in ("/", "/user", "/rate_limit", "/search/issues", "/repos/acme/widgets/languages"):
        assert client.request(method, path).status_code in {404, 501}


def test_what_github_has_and_the_twin_lacks_says_so(client: httpx2.Client) -> None:
    reply = client.get("/repos/acme/widgets/hooks")

    assert reply.status_code == 501
    assert reply.json()["message"] == "GET /repos/{owner}/{repo}/hooks is not implemented by the twin."
