"""What the capabilities of repositories read and write."""

import base64

import pytest
from capability_calls import NAME, OWNER, Ghx

REPOSITORY = {"owner": OWNER, "name": NAME}
EMPTY = {"owner": OWNER, "name": "empty"}


def read(ghx: Ghx, path: str, **given: str) -> str:
    return ghx.on_repo("repo.contents.get", path=path, **given)["content"]


def test_a_repository_is_told_in_short(ghx: Ghx) -> None:
    repository = ghx.on_repo("repo.view")

    assert (repository["name"], repository["nameWithOwner"]) == ("widgets", "acme/widgets")
    assert (repository["isPrivate"], repository["defaultBranch"]) == (False, "main")


def test_an_empty_repository_has_no_default_branch_and_no_commits(ghx: Ghx) -> None:
    assert ghx.data("repo.view", **EMPTY)["defaultBranch"] is None
    assert ghx.data("repo.commits.list", **EMPTY) == {
        "items": [],
        "pageInfo": {"hasNextPage": False, "endCursor": None},
    }
    assert ghx.data("repo.branches.list", **EMPTY)["items"] == []


def test_labels_are_described(ghx: Ghx) -> None:
    labels = {label["name"]: label for label in ghx.on_repo("repo.labels.list")["items"]}

    assert labels["bug"]["isDefault"]
    assert labels["bug"]["color"] == "d73a4a"


def test_issue_types_are_those_of_the_organization(ghx: Ghx) -> None:
    types = ghx.on_repo("repo.issue_types.list")["items"]

    assert {"Bug", "Feature", "Task"} <= {each["name"] for each in types}
    assert ghx.data("repo.issue_types.list", owner="octo", name="notes")["items"] == []


def test_branches_and_tags_tell_where_they_are(ghx: Ghx) -> None:
    branches = {branch["name"]: branch for branch in ghx.on_repo("repo.branches.list")["items"]}
    tags = ghx.on_repo("repo.tags.list")["items"]

    assert {name: branch["isDefault"] for name, branch in branches.items()} == {"main": True, "feature": False}
    assert [(tag["name"], tag["sha"]) for tag in tags] == [
        ("v1.1.0", branches["feature"]["sha"]),
        ("v1.0.0", branches["main"]["sha"]),
    ]


def test_commits_are_listed_by_branch_tag_commit_and_path(ghx: Ghx) -> None:
    newest = ghx.on_repo("repo.commits.list", ref="feature")["items"][0]

    assert (newest["message"], newest["authorLogin"]) == ("Add b", "hubot")
    assert len(ghx.on_repo("repo.commits.list")["items"]) == 1
    assert len(ghx.on_repo("repo.commits.list", ref="v1.1.0")["items"]) == 2
    assert len(ghx.on_repo("repo.commits.list", ref=newest["sha"])["items"]) == 2
    assert [one["sha"] for one in ghx.on_repo("repo.commits.list", ref="feature", path="src/b.py")["items"]] == [
        newest["sha"]
    ]


def test_a_ref_of_nothing_is_not_found(ghx: Ghx) -> None:
    assert ghx.error("repo.commits.list", **REPOSITORY, ref="nowhere") == "NOT_FOUND"
    assert ghx.error("repo.commits.list", **REPOSITORY, ref="main:README.md") == "NOT_FOUND"


def test_a_file_is_read_as_text(ghx: Ghx) -> None:
    file = ghx.on_repo("repo.contents.get", path="/README.md/")

    assert (file["type"], file["path"], file["encoding"], file["content"]) == (
        "file",
        "README.md",
        "utf-8",
        "# Widgets\n",
    )
    assert "items" not in file
    assert read(ghx, "src/b.py", ref="feature").startswith("def b")
    assert ghx.error("repo.contents.get", **REPOSITORY, path="src/b.py") == "NOT_FOUND"


def test_a_folder_is_listed(ghx: Ghx) -> None:
    top = ghx.on_repo("repo.contents.get")

    assert (top["type"], top["path"]) == ("dir", "")
    assert {(item["type"], item["name"]) for item in top["items"]} == {("file", "README.md"), ("dir", "src")}


@pytest.mark.parametrize("path", ["../secret", "src/../../x", "./README.md", "src//a.py"])
def test_a_path_stays_in_the_repository(ghx: Ghx, path: str) -> None:
    assert ghx.error("repo.contents.get", **REPOSITORY, path=path) == "VALIDATION"


def test_a_file_is_made_and_written_over(ghx: Ghx) -> None:
    made = ghx.on_repo("repo.contents.put", path="docs/ä b.md", content="One\n", message="Add")
    written = ghx.on_repo("repo.contents.put", path="docs/ä b.md", content="Two\n", message="Change", sha=made["sha"])

    assert (made["created"], written["created"]) == (True, False)
    assert read(ghx, "docs/ä b.md") == "Two\n"
    assert ghx.on_repo("repo.commits.list")["items"][0]["sha"] == written["commitSha"]


def test_a_file_is_written_over_without_knowing_its_blob(ghx: Ghx) -> None:
    ghx.on_repo("repo.contents.put", path="README.md", content="New\n", message="Change", branch="feature")

    assert read(ghx, "README.md", ref="feature") == "New\n"
    assert read(ghx, "README.md") == "# Widgets\n"


def test_a_file_that_somebody_else_changed_is_not_written_over(ghx: Ghx) -> None:
    old = ghx.on_repo("repo.contents.get", path="README.md")["sha"]
    ghx.on_repo("repo.contents.put", path="README.md", content="Theirs\n", message="Theirs")

    assert (
        ghx.error("repo.contents.put", **REPOSITORY, path="README.md", content="Mine\n", message="Mine", sha=old)
        == "VALIDATION"
    )
    assert read(ghx, "README.md") == "Theirs\n"


def test_what_is_no_text_goes_as_base64(ghx: Ghx) -> None:
    content = base64.b64encode(b"\x89PNG\xff").decode()
    ghx.on_repo("repo.contents.put", path="a.png", content=content, encoding="base64", message="Add")

    file = ghx.on_repo("repo.contents.get", path="a.png")

    assert (file["encoding"], file["content"], file["size"]) == ("base64", content, 5)
    assert (
        ghx.error("repo.contents.put", **REPOSITORY, path="b", content="?!", encoding="base64", message="Add")
        == "VALIDATION"
    )


def test_a_file_is_deleted(ghx: Ghx) -> None:
    deleted = ghx.on_repo("repo.file.delete", path="src/a.py", message="Drop a")

    assert deleted["deleted"]
    assert ghx.error("repo.contents.get", **REPOSITORY, path="src/a.py") == "NOT_FOUND"
    assert ghx.error("repo.file.delete", **REPOSITORY, path="src/a.py", message="Again") == "NOT_FOUND"


def test_a_folder_is_neither_written_nor_deleted(ghx: Ghx) -> None:
    assert ghx.error("repo.file.delete", **REPOSITORY, path="src", message="Drop") == "VALIDATION"
    assert ghx.error("repo.contents.put", **REPOSITORY, path="src", content="", message="x") == "VALIDATION"
    assert ghx.error("repo.contents.put", **REPOSITORY, path="/", content="", message="x") == "VALIDATION"


def test_who_may_only_read_writes_nothing(ghx: Ghx) -> None:
    reader = ghx.as_user("reader")

    code = reader.error("repo.contents.put", **REPOSITORY, path="x", content="", message="x")

    assert code in {"AUTH", "NOT_FOUND"}  # GitHub hides what it refuses here
