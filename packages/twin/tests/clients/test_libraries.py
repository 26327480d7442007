"""Libraries as their users use them: a repository, a file, a pull request, a review with inline comments, a merge."""

import base64
import json
import subprocess
from pathlib import Path

import pytest
from github import Auth, Github, GithubException
from githubkit import GitHub
from githubkit.exception import RequestFailed
from node_packages import NODE, NotObtainableError, node_modules

from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.queries import lookup

OCTOKIT = "@octokit/rest@22.0.1"


def token_of(twin: GitHubTwin, login: str) -> str:
    return twin.environment_of(login)["GH_TOKEN"]


def merged_text(twin: GitHubTwin, name: str, path: str) -> bytes | None:
    """Return a file on the default branch of one of octo's repositories."""
    repository = lookup.repository(twin.world, None, "octo", name)
    git = twin.world.git(repository)
    entry = git.entry(git.refs()["refs/heads/main"], path)
    return None if entry is None else git.blob(entry.sha)


@pytest.mark.parametrize("prefix", ["", "/api/v3"])
def test_pygithub(github_twin: GitHubTwin, prefix: str) -> None:
    def client(token: str) -> Github:
        pauses = {"seconds_between_requests": 0, "seconds_between_writes": 0}
        return Github(base_url=github_twin.url + prefix, auth=Auth.Token(token), **pauses)

    with client(github_twin.token) as author, client(token_of(github_twin, "hubot")) as reviewer:
        made = author.get_user().create_repo("from-pygithub", auto_init=True)
        made.add_to_collaborators("hubot", "push")
        made.create_git_ref("refs/heads/work", made.get_branch("main").commit.sha)
        made.create_file("docs/a.md", "Add a file", "one\ntwo\n", branch="work")
        pull = made.create_pull(base="main", head="work", title="Work", body="Some")
        theirs = reviewer.get_repo("octo/from-pygithub").get_pull(pull.number)
        commit = theirs.get_commits().reversed[0]
        comment = {"path": "docs/a.md", "line": 2, "side": "RIGHT", "body": "Two!"}
        review = theirs.create_review(commit, "Fine.", "APPROVE", [comment])
        reply = pull.create_review_comment_reply(next(iter(pull.get_review_comments())).id, "Yes!")
        label = made.create_label("hot", "ff0000")
        pull.add_to_labels(label)
        pull.create_issue_comment("Merging.")

        assert review.state == "APPROVED"
        assert reply.in_reply_to_id is not None
        assert [each.filename for each in pull.get_files()] == ["docs/a.md"]
        assert [each.name for each in pull.get_labels()] == ["hot"]
        assert pull.merge(merge_method="squash").merged
        assert made.get_pull(pull.number).merged
        assert made.get_contents("docs/a.md").decoded_content == b"one\ntwo\n"
        assert [each.full_name for each in author.search_repositories("from-pygithub")] == ["octo/from-pygithub"]
        with pytest.raises(GithubException) as missing:
            made.get_issue(99)
        assert missing.value.status == 404

    assert merged_text(github_twin, "from-pygithub", "docs/a.md") == b"one\ntwo\n"


def test_githubkit(github_twin: GitHubTwin) -> None:
    place = {"owner": "octo", "repo": "from-githubkit"}
    with (
        GitHub(github_twin.token, base_url=f"{github_twin.url}/") as author,
        GitHub(token_of(github_twin, "hubot"), base_url=f"{github_twin.url}/") as reviewer,
    ):
        rest = author.rest
        rest.repos.create_for_authenticated_user(name="from-githubkit", auto_init=True)
        rest.repos.add_collaborator(**place, username="hubot", permission="push")
        tip = rest.git.get_ref(**place, ref="heads/main").parsed_data.object_.sha
        rest.git.create_ref(**place, ref="refs/heads/work", sha=tip)
        content = base64.b64encode(b"one\ntwo\n").decode()
        rest.repos.create_or_update_file_contents(
            **place, path="docs/a.md", message="Add a file", content=content, branch="work"
        )
        pull = rest.pulls.create(**place, title="Work", head="work", base="main").parsed_data
        labelled = rest.issues.add_labels(**place, issue_number=pull.number, labels=["bug"]).parsed_data
        review = reviewer.rest.pulls.create_review(
            **place,
            pull_number=pull.number,
            event="REQUEST_CHANGES",
            body="Look.",
            comments=[{"path": "docs/a.md", "line": 1, "side": "RIGHT", "body": "One!"}],
        ).parsed_data
        comments = rest.pulls.list_review_comments(**place, pull_number=pull.number).parsed_data
        (listed,) = rest.pulls.list(**place).parsed_data
        merged = rest.pulls.merge(**place, pull_number=pull.number, merge_method="rebase").parsed_data
        seen = author.graphql(
            'query {repository(owner: "octo", name: "from-githubkit") {pullRequest(number: 1) {state}}}'
        )

        assert [each.name for each in labelled] == [each.name for each in listed.labels] == ["bug"]
        assert review.state == "CHANGES_REQUESTED"
        assert [each.body for each in comments] == ["One!"]
        assert merged.merged
        assert seen == {"repository": {"pullRequest": {"state": "MERGED"}}}
        with pytest.raises(RequestFailed) as missing:
            rest.issues.get(**place, issue_number=99)
        assert missing.value.response.status_code == 404

    assert merged_text(github_twin, "from-githubkit", "docs/a.md") == b"one\ntwo\n"


def test_octokit(github_twin: GitHubTwin) -> None:
    try:
        modules = node_modules(OCTOKIT)
    except NotObtainableError as error:
        pytest.skip(str(error))
    variables = {"NODE_PATH": str(modules), "REVIEWER_TOKEN": token_of(github_twin, "hubot")}

    done = subprocess.run(
        [NODE, Path(__file__).with_name("octokit_flow.cjs")],
        env={**github_twin.environment, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "path": "docs/a file.md",
        "number": 1,
        "review": "APPROVED",
        "comments": ["Two!"],
        "merged": True,
        "state": "MERGED",
        "missing": 404,
    }
    assert merged_text(github_twin, "from-octokit", "docs/a file.md") == b"one\ntwo\n"


@pytest.mark.slow
def test_libraries_release_and_download(github_twin: GitHubTwin, tmp_path: Path) -> None:
    (tmp_path / "app.bin").write_bytes(b"\x00\xff")
    with Github(base_url=github_twin.url, auth=Auth.Token(github_twin.token), seconds_between_writes=0) as client:
        made = client.get_repo("acme/widgets")
        release = made.create_git_release("v1.0.0", "One", "Notes.", draft=True)
        asset = release.upload_asset(str(tmp_path / "app.bin"), label="The app", content_type="application/zip")
        release.update_release("One", "Better.", draft=False)
        comment = made.get_branch("main").commit.create_comment("Released.")

        assert (asset.name, asset.label, asset.size, asset.content_type) == ("app.bin", "The app", 2, "application/zip")
        assert made.get_latest_release().body == "Better."
        assert [each.body for each in made.get_comments()] == [comment.body] == ["Released."]
        assert made.get_archive_link("zipball").endswith("/acme/widgets/legacy.zip/refs/heads/main")

    with GitHub(github_twin.token, base_url=github_twin.url) as other:
        latest = other.rest.repos.get_latest_release("acme", "widgets").parsed_data
        assert [each.digest is not None for each in latest.assets] == [True]
        raw = other.request("GET", latest.assets[0].url, headers={"Accept": "application/octet-stream"})
        assert raw.content == b"\x00\xff"
        notes = other.rest.repos.generate_release_notes("acme", "widgets", tag_name="v2.0.0").parsed_data
        assert notes.body.endswith("/acme/widgets/compare/v1.0.0...v2.0.0")
