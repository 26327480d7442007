"""Pull requests, reviews, files and git objects over REST, with the keys that GitHub really sends."""

import base64

import pytest
from rest_world import SOURCE, Client, Seeded

R = "/repos/acme/widgets"


def test_git_says_what_a_pull_request_holds(ann: Client, world: Seeded) -> None:
    shown = ann.get(f"{R}/pulls/{world.ids['pull']}").json()

    assert (shown["commits"], shown["additions"], shown["deletions"], shown["changed_files"]) == (2, 2, 1, 2)
    assert (shown["mergeable"], shown["mergeable_state"], shown["merged"]) == (True, "blocked", False)
    assert (shown["head"]["label"], shown["base"]["ref"]) == ("acme:feature/x", "main")
    assert shown["merge_commit_sha"]
    assert shown["review_comments"] == 1


def test_a_pull_request_comes_as_diff_and_as_patch(ann: Client, world: Seeded) -> None:
    path = f"{R}/pulls/{world.ids['pull']}"

    for accept in ("application/vnd.github.v3.diff", "application/vnd.github.diff"):
        diff = ann.get(path, accept=accept)
        assert diff.text.startswith("diff --git a/other.txt b/other.txt\n")
        assert diff.media_type.startswith("application/vnd.github.diff")
    patch = ann.get(path, accept="application/vnd.github.v3.patch").text
    assert patch.startswith("From ")
    assert patch.count("\nSubject: [PATCH") == 2


def test_a_file_on_a_branch_that_is_not_there_is_not_written(ann: Client) -> None:
    answer = ann.put(f"{R}/contents/a", {"message": "m", "content": "eA==", "branch": "fp"})

    assert (answer.status, answer.json()["message"]) == (404, "Branch fp not found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "git/refs"), ("GET", "git/refs/heads"), ("GET", "git/ref/heads/main"),
        ("GET", "git/matching-refs/heads"), ("GET", "git/trees/main"), ("GET", f"git/commits/{'0' * 40}"),
        ("POST", "git/blobs"), ("GET", "commits"), ("GET", "commits/main"), ("GET", "commits/main/status"),
    ],
)  # fmt: skip
def test_an_empty_repository_has_no_git_database(ann: Client, method: str, path: str) -> None:
    answer = ann.ask(method, f"/repos/ann/empty/{path}", {"content": "x"} if method == "POST" else None)

    assert (answer.status, answer.json()["message"]) == (409, "Git Repository is empty.")


def test_commits_stand_in_a_timeline_where_they_were_pushed(ann: Client, world: Seeded) -> None:
    old = {"name": "Ann", "email": "ann@example.com", "date": "2001-01-01T00:00:00Z"}
    late = {**old, "date": "2099-01-01T00:00:00Z"}
    number = world.ids["pull"]
    ann.post(f"{R}/issues/{number}/comments", {"body": "Before"})
    for path, when in (("late.txt", late), ("old.txt", old)):
        sent = {"message": path, "content": "eA==", "branch": "feature/x", "author": when, "committer": when}
        ann.put(f"{R}/contents/{path}", sent)
    ann.post(f"{R}/issues/{number}/comments", {"body": "After"})

    told = [
        one.get("message") or one.get("body")
        for one in ann.get(f"{R}/issues/{number}/timeline").json()
        if one["event"] in {"committed", "commented"}
    ]

    assert told == ["Change", "Other", "Before", "late.txt", "old.txt", "After"]


def test_merging_with_another_head_is_a_conflict(ann: Client, world: Seeded) -> None:
    path = f"{R}/pulls/{world.ids['mergeable']}/merge"

    stale = ann.put(path, {"sha": world.shas["main"]})
    done = ann.put(path, {"merge_method": "squash", "commit_title": "All of it"})
    again = ann.put(path)

    assert stale.status == 409
    assert (done.status, done.json()["merged"]) == (200, True)
    assert ann.get(f"{R}/commits/main").json()["commit"]["message"].startswith("All of it")
    assert again.status == 405


def test_a_review_with_comments_on_lines(world: Seeded) -> None:
    bob, number = world.client("bob"), world.ids["pull"]

    made = bob.post(
        f"{R}/pulls/{number}/reviews",
        {
            "body": "Two things",
            "event": "COMMENT",
            "comments": [
                {"path": "src/app.py", "line": 5, "side": "RIGHT", "body": "one"},
                {"path": "src/app.py", "position": 3, "body": "two"},
            ],
        },
    ).json()
    notes = bob.get(f"{R}/pulls/{number}/reviews/{made['id']}/comments").json()

    assert made["state"] == "COMMENTED"
    assert [note["body"] for note in notes] == ["one", "two"]
    assert notes[0]["diff_hunk"].splitlines()[-1] == "+value_5 = 50"
    assert all(note["pull_request_review_id"] == made["id"] for note in notes)


def test_what_others_still_write_is_not_there(ann: Client, world: Seeded) -> None:
    path = f"{R}/pulls/{world.ids['pull']}/reviews"

    assert world.ids["pending"] not in [review["id"] for review in ann.get(path).json()]
    assert ann.get(f"{path}/{world.ids['pending']}").status == 404
    assert world.client("eve").get(f"{path}/{world.ids['pending']}").json()["state"] == "PENDING"


def test_a_reply_stands_under_the_first_comment(ann: Client, world: Seeded) -> None:
    number, note = world.ids["pull"], world.ids["review_comment"]

    one = ann.post(f"{R}/pulls/{number}/comments/{note}/replies", {"body": "Because"}).json()
    two = ann.post(f"{R}/pulls/{number}/comments", {"body": "Also", "in_reply_to": one["id"]}).json()

    assert (one["in_reply_to_id"], two["in_reply_to_id"]) == (note, note)
    assert one["line"] == 5


def test_nobody_reviews_their_own_pull_request(ann: Client, world: Seeded) -> None:
    reply = ann.post(f"{R}/pulls/{world.ids['pull']}/reviews", {"event": "APPROVE"})

    assert reply.status == 422


def test_lists_of_pull_requests_are_filtered(ann: Client, world: Seeded) -> None:
    def shown(query: str) -> set[int]:
        return {pull["number"] for pull in ann.get(f"{R}/pulls?{query}").json()}

    assert shown("head=acme:feature/x") == {world.ids["pull"]}
    assert shown("state=closed") == {world.ids["merged"]}
    assert shown("base=none") == set()
    assert shown("state=all") >= shown("")


def test_files_are_read_as_json_and_raw(ann: Client) -> None:
    path = f"{R}/contents/src%2Fapp.py"

    shown = ann.get(path).json()

    assert base64.b64decode(shown["content"]).decode() == SOURCE
    assert ann.get(path, accept="application/vnd.github.raw").text == SOURCE
    assert ann.get(path, accept="application/vnd.github.raw+json").text == SOURCE
    assert [entry["path"] for entry in ann.get(f"{R}/contents/src/").json()] == ["src/app.py"]
    assert ann.get(f"{R}/contents/docs/a%20b.md").json()["name"] == "a b.md"


def test_a_file_is_replaced_only_by_who_has_seen_it(ann: Client, world: Seeded) -> None:
    path, text = f"{R}/contents/src/app.py", base64.b64encode(b"new").decode()

    blind = ann.put(path, {"message": "m", "content": text})
    stale = ann.put(path, {"message": "m", "content": text, "sha": world.shas["main"]})
    seen = ann.put(path, {"message": "m", "content": text, "sha": world.shas["blob"]})

    assert (blind.status, blind.json()["message"]) == (422, 'Invalid request.\n\n"sha" wasn\'t supplied.')
    assert stale.status == 409
    assert (seen.status, seen.json()["commit"]["message"]) == (200, "m")


def test_paths_that_lead_out_are_refused(ann: Client) -> None:
    for path in ("..%2Fescape", "a/%2E%2E/b", ".git/config"):
        reply = ann.put(f"{R}/contents/{path}", {"message": "m", "content": "eA=="})
        assert reply.status == 422, path


def test_objects_become_a_branch(ann: Client, world: Seeded) -> None:
    blob = ann.post(f"{R}/git/blobs", {"content": "aGk=", "encoding": "base64"}).json()["sha"]
    entries = [{"path": "deep/er/file", "mode": "100644", "type": "blob", "sha": blob}]
    tree = ann.post(f"{R}/git/trees", {"base_tree": world.shas["main"], "tree": entries}).json()["sha"]
    commit = ann.post(f"{R}/git/commits", {"message": "By hand", "tree": tree, "parents": [world.shas["main"]]}).json()
    made = ann.post(f"{R}/git/refs", {"ref": "refs/heads/by/hand", "sha": commit["sha"]})

    assert made.status == 201
    assert ann.get(f"{R}/contents/deep/er/file?ref=by/hand").json()["sha"] == blob
    assert ann.get(f"{R}/git/ref/heads/by%2Fhand").json()["object"]["sha"] == commit["sha"]
    again = ann.post(f"{R}/git/refs", {"ref": "refs/heads/by/hand", "sha": commit["sha"]})
    assert (again.status, again.json()["message"]) == (422, "Reference already exists")


def test_a_comparison_counts_both_ways(ann: Client) -> None:
    shown = ann.get(f"{R}/compare/main...feature%2Fx").json()
    foreign = ann.get(f"{R}/compare/main...eve:feature/x").json()

    assert (shown["status"], shown["ahead_by"]) == ("diverged", 2)
    assert [file["filename"] for file in shown["files"]] == ["other.txt", "src/app.py"]
    assert foreign["files"] == shown["files"]


def test_protection_is_set_shown_and_lifted(ann: Client) -> None:
    path = f"{R}/branches/feature/x/protection"
    rules = {
        "required_status_checks": {"strict": True, "checks": [{"context": "ci"}]},
        "enforce_admins": None,
        "required_pull_request_reviews": None,
        "restrictions": None,
    }

    assert ann.get(path).json()["message"] == "Branch not protected"
    made = ann.put(path, rules).json()
    assert made["required_status_checks"]["contexts"] == ["ci"]
    assert "required_pull_request_reviews" not in made
    assert ann.get(f"{R}/branches/feature/x").json()["protected"] is True
    assert ann.delete(path).status == 204
    assert ann.get(f"{R}/branches/feature/x").json()["protected"] is False


def test_protection_that_the_twin_cannot_keep_is_not_promised(ann: Client) -> None:
    rules = {
        "required_status_checks": None,
        "enforce_admins": None,
        "required_pull_request_reviews": None,
        "restrictions": None,
        "required_linear_history": True,
    }

    assert ann.put(f"{R}/branches/main/protection", rules).status == 501


KEYS_OF_A_USER = (
    "login id node_id avatar_url gravatar_id url html_url followers_url following_url gists_url starred_url"
    " subscriptions_url organizations_url repos_url events_url received_events_url type user_view_type site_admin"
)
KEYS_OF_A_REVIEW_COMMENT = {
    "": "url pull_request_review_id id node_id diff_hunk path commit_id original_commit_id user body created_at"
    " updated_at html_url pull_request_url _links reactions start_line original_start_line start_side line"
    " original_line side author_association original_position position subject_type",
    "user": KEYS_OF_A_USER,
    "_links": "self html pull_request",
    "reactions": "url total_count +1 -1 laugh hooray confused heart rocket eyes",
}
KEYS_OF_A_FILE = {"": "sha filename status additions deletions changes blob_url raw_url contents_url patch"}


def test_review_comments_and_files_have_the_keys_that_github_sends(ann: Client, world: Seeded) -> None:
    number = world.ids["pull"]

    ours = ann.get(f"{R}/pulls/{number}/comments").json()[0]
    files = ann.get(f"{R}/pulls/{number}/files").json()

    assert {at: set(ours[at] if at else ours) for at in KEYS_OF_A_REVIEW_COMMENT} == _sets(KEYS_OF_A_REVIEW_COMMENT)
    assert [set(target) for target in ours["_links"].values()] == [{"href"}] * 3
    assert {"": set(files[0])} == _sets(KEYS_OF_A_FILE)
    assert files[1]["blob_url"].endswith(f"/blob/{world.shas['head']}/src%2Fapp.py")


def _sets(keys: dict[str, str]) -> dict[str, set[str]]:
    return {at: set(names.split()) for at, names in keys.items()}


def test_an_issue_becomes_a_pull_request(world: Seeded) -> None:
    ann, number = world.client(), world.ids["parent_issue"]
    ann.post("/repos/acme/widgets/git/refs", {"ref": "refs/heads/late", "sha": world.shas["feature"]})

    made = ann.post("/repos/acme/widgets/pulls", {"issue": number, "head": "late", "base": "main"})

    assert made.status == 201
    assert (made.json()["number"], made.json()["title"]) == (number, "The whole")
    assert ann.get(f"/repos/acme/widgets/issues/{number}/sub_issues").json() == []
    gone = ann.post("/repos/acme/widgets/pulls", {"issue": 999, "head": "late", "base": "main"})
    assert gone.json()["errors"][0]["field"] == "issue"
