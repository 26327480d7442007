"""Statuses, bodies, media types, pages and addresses, as GitHub gives them."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_world import Client, Seeded

from ghx_twin.rest.operations import OPERATIONS
from ghx_twin.urls import GITHUB_URLS, find_endpoint

R = "/repos/acme/widgets"


def test_a_path_that_github_does_not_have_is_not_found(ann: Client) -> None:
    reply = ann.post(f"{R}/pulls/comments/1/replies", {"body": "x"})

    assert reply.status == 404
    assert reply.json() == {
        "message": "Not Found",
        "documentation_url": "https://docs.github.com/rest",
        "status": "404",
    }


def test_what_github_has_and_the_twin_has_not_says_so(ann: Client) -> None:
    reply = ann.get(f"{R}/hooks")

    assert reply.status == 501
    assert "GET /repos/{owner}/{repo}/hooks" in reply.json()["message"]


def test_a_wrong_method_is_not_found(ann: Client) -> None:
    assert ann.put(f"{R}/labels/bug").status == 404


def test_head_is_answered_as_get_is(ann: Client) -> None:
    assert ann.ask("HEAD", R).status == 200
    assert ann.ask("HEAD", "/repos/acme/none").status == 404


def test_a_refusal_names_the_page_that_describes_the_operation(ann: Client) -> None:
    reply = ann.get(f"{R}/issues/99")

    assert reply.json() == {
        "message": "Not Found",
        "documentation_url": "https://docs.github.com/rest/issues/issues#get-an-issue",
        "status": "404",
    }


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"{", 400, "Problems parsing JSON"),
        (b'{"title": NaN}', 400, "Problems parsing JSON"),
        (b'{"title": "\\ud800"}', 400, "Problems parsing JSON"),
        (b"[" * 100_000, 400, "Problems parsing JSON"),
        (b"\xff\xfe", 400, "Problems parsing JSON"),
        (b"[]", 400, "Body should be a JSON object"),
        (b"7", 400, "Body should be a JSON object"),
        (b"", 422, 'Invalid request.\n\n"title" wasn\'t supplied.'),
        (b'{"title": []}', 422, "Invalid request.\n\nFor 'properties/title', [] is not a string."),
        (b'{"title": "x", "body": 3}', 422, "Invalid request.\n\nFor 'properties/body', 3 is not a string."),
        (b'{"title": "x", "labels": "a"}', 422, "Invalid request.\n\nFor 'properties/labels', \"a\" is not an array."),
    ],
)
def test_a_bad_body_is_refused_in_github_s_words(ann: Client, content: bytes, status: int, message: str) -> None:
    reply = ann.ask("POST", f"{R}/issues", raw=content)

    assert (reply.status, reply.json()["message"]) == (status, message)


def test_keys_that_nobody_knows_are_ignored(ann: Client) -> None:
    assert ann.post(f"{R}/issues", {"title": "x", "colour": {"deep": []}}).status == 201


def test_a_word_that_is_no_choice_is_refused(ann: Client, world: Seeded) -> None:
    reply = ann.patch(f"{R}/issues/{world.ids['issue']}", {"state": "ajar"})

    told = 'Invalid request.\n\nFor \'properties/state\', "ajar" is not a member of ["open", "closed"].'
    assert (reply.status, reply.json()["message"]) == (422, told)


def test_a_client_that_takes_no_json_is_told(ann: Client) -> None:
    assert ann.get(R, accept="image/png").status == 415
    assert (
        ann.get(
            R, accept="application/vnd.github.merge-info-preview+json, application/vnd.github.nebula-preview"
        ).status
        == 200
    )


def test_a_token_without_the_scope_is_told_which_it_needs(world: Seeded) -> None:
    reply = world.client("ann", scopes=frozenset({"repo"})).delete(R)

    assert reply.status == 403
    assert reply.headers["X-Accepted-OAuth-Scopes"] == "delete_repo"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/orgs/acme/rulesets", None),
        ("GET", "/orgs/acme/actions/variables", None),
        ("POST", "/orgs/acme/actions/variables", {"name": "NEW", "value": "1", "visibility": "all"}),
        ("GET", "/orgs/acme/actions/secrets", None),
        ("POST", "/orgs/acme/issue-types", {"name": "Epic", "is_enabled": True}),
    ],
)
def test_who_acts_for_an_organization_is_its_admin_with_a_token_that_may(
    world: Seeded, method: str, path: str, body: object
) -> None:
    refused = world.client("ann", scopes=frozenset({"repo"})).ask(method, path, body)
    done = world.client("ann", scopes=frozenset({"admin:org"})).ask(method, path, body)

    assert refused.status == 403
    assert refused.headers["X-Accepted-OAuth-Scopes"] == "admin:org"
    assert done.status in {200, 201}
    assert world.client("bob").ask(method, path, body).status in {403, 404}


def test_pages_lead_to_each_other(ann: Client) -> None:
    reply = ann.get(f"{R}/labels?per_page=3&page=2")
    api = "https://api.github.com/repos/acme/widgets/labels?per_page=3&page="

    assert len(reply.json()) == 3
    assert reply.headers["Link"] == (
        f'<{api}1>; rel="prev", <{api}3>; rel="next", <{api}4>; rel="last", <{api}1>; rel="first"'
    )


def test_following_next_shows_everything_once(ann: Client) -> None:
    path, names = f"{R}/labels?per_page=4", list[str]()
    while path:
        reply = ann.get(path)
        names += [label["name"] for label in reply.json()]
        links = dict(reversed(part.split("; ")) for part in reply.headers.get("Link", "").split(", ") if part)
        path = links.get('rel="next"', "").strip("<>").removeprefix("https://api.github.com")

    assert len(names) == len(set(names)) == 10


@pytest.mark.parametrize(
    ("query", "count"), [("", 10), ("?per_page=0", 10), ("?per_page=x&page=-1", 10), ("?page=9", 0)]
)
def test_a_list_that_fits_on_a_page_has_no_links(ann: Client, query: str, count: int) -> None:
    reply = ann.get(f"{R}/labels{query}")

    assert len(reply.json()) == count
    assert "Link" not in reply.headers


def test_addresses_are_on_the_host_that_was_asked(world: Seeded) -> None:
    for path in ("/", "/api/v3/"):
        base = find_endpoint("127.0.0.1:8000", "http", path).urls
        body = world.client("ann", base=base).get(f"{R}/pulls/{world.ids['pull']}").text

        assert base.api in body
        assert "://github.com" not in body
        assert "api.github.com" not in body


def test_a_repository_is_found_by_its_id(ann: Client) -> None:
    identity = ann.get(R).json()["id"]

    assert ann.get(f"/repositories/{identity}").json() == ann.get(R).json()
    assert ann.get(f"/repositories/{identity}/labels/bug").json()["name"] == "bug"
    assert ann.get("/repositories/9999/labels").status == 404


def test_names_are_found_in_any_case(ann: Client) -> None:
    assert ann.get("/repos/ACME/Widgets/labels/BUG").json()["name"] == "bug"


def test_an_issue_that_was_deleted_is_gone(ann: Client, world: Seeded) -> None:
    from ghx_twin.commands import issues
    from ghx_twin.queries import lookup

    home = lookup.repository(world.world, None, "acme", "widgets")
    with world.world.acting(None) as act:
        issues.delete(act, lookup.issue(world.world, home, world.ids["issue"]))

    assert ann.get(f"{R}/issues/{world.ids['issue']}").status == 410


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    "title", "body", "labels", "assignees", "milestone", "state", "name", "color", "ref", "sha", "content", "message",
    "tree", "path", "head", "base", "event", "comments", "line", "commit_id", "reviewers", "names", "position",
    "encoding", "parents", "object", "tag", "type", "author", "in_reply_to", "restrictions", "permission", "due_on",
)  # fmt: skip
PIECES = {"owner": "acme", "repo": "widgets"}


@pytest.mark.slow
@settings(max_examples=4 * settings.default.max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nothing_a_client_sends_makes_the_server_fail(world: Seeded, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(OPERATIONS))
    path = operation.template
    for name in {part[1:-1] for part in path.split("/") if part.startswith("{")}:
        known = st.sampled_from([PIECES.get(name, ""), "1", "3", "main", "bug", "ann", "heads/main", "src/app.py"])
        value = PIECES[name] if name in PIECES else data.draw(known | st.text(max_size=8))
        path = path.replace(f"{{{name}}}", _encoded(value))
    query = data.draw(
        st.dictionaries(st.sampled_from(["q", "ref", "page", "sha", "since", "path", "sort"]), st.text(max_size=9))
    )
    body = data.draw(st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=5) | JUNK)
    asked = f"{path}?{'&'.join(f'{key}={_encoded(value)}' for key, value in query.items())}"

    reply = world.client("ann").ask(operation.method, asked, raw=json.dumps(body).encode())

    assert 200 <= reply.status < 500 or reply.status == 501, (asked, body, reply.text[:300])


def _encoded(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def test_the_old_name_of_a_repository_leads_to_the_new_one(ann: Client) -> None:
    identity = ann.get("/repos/ann/secret").json()["id"]
    ann.patch("/repos/ann/secret", {"name": "hidden"})

    read = ann.get("/repos/ann/secret/issues?state=all&page=2")
    written = ann.post("/repos/Ann/secret/issues", {"title": "T"})
    place = f"{GITHUB_URLS.api}/repositories/{identity}"

    assert (read.status, read.headers["Location"]) == (301, f"{place}/issues?state=all&page=2")
    assert (read.json()["message"], read.json()["url"]) == ("Moved Permanently", read.headers["Location"])
    assert (written.status, written.headers["Location"]) == (307, f"{place}/issues")
    assert ann.get("/repos/ann/secret").headers["Location"] == place
    assert ann.get(f"/repositories/{identity}").json()["full_name"] == "ann/hidden"
    assert ann.get("/repos/ANN/Hidden").status == 200


def test_who_may_not_see_a_renamed_repository_is_not_told_of_its_name(ann: Client, world: Seeded) -> None:
    ann.patch("/repos/ann/secret", {"name": "hidden"})

    assert world.client("eve").get("/repos/ann/secret").status == 404


def test_a_token_that_may_not_read_the_user_sees_the_public_profile(world: Seeded) -> None:
    private = {"plan", "total_private_repos", "two_factor_authentication", "disk_usage"}

    own = world.client("ann").get("/user").json()
    public = world.client("ann", scopes=frozenset({"repo"})).get("/user").json()

    assert private <= own.keys()
    assert not private & public.keys()
    assert public["login"] == "ann"
