"""Trees and files of any size are answered within GitHub's limits, and hold up nobody else for long."""

import httpx2
import pygit2
import pytest
from served_world import Served

from ghx_twin.git import trees
from ghx_twin.git.repository import GitRepository
from ghx_twin.state.records import Repository

QUERY = """query ($expression: String!) { repository(owner: "acme", name: "widgets") { object(expression: $expression) {
  ... on Tree { entries { name lineCount object { ... on Blob { text } } } } ... on Blob { text isTruncated byteSize }
} } }"""


@pytest.fixture
def git(served: Served) -> GitRepository:
    found = served.world.database.one(Repository, name="widgets")
    assert found is not None
    return served.world.git(found)


def folder(git: GitRepository, entries: dict[str, tuple[str, int]]) -> str:
    builder = pygit2.Repository(str(git.path)).TreeBuilder()
    for name, (sha, mode) in entries.items():
        builder.insert(name, pygit2.Oid(hex=sha), mode)
    return str(builder.write())


def commit(git: GitRepository, entries: dict[str, tuple[str, int]]) -> str:
    """Put a tree with these entries on a branch of its own, and return its commit."""
    repository, who = pygit2.Repository(str(git.path)), pygit2.Signature("a", "a@example.com", 0, 0)
    made = repository.create_commit(
        "refs/heads/huge", who, who, "Huge", pygit2.Oid(hex=folder(git, entries)), [git.ref("refs/heads/main") or ""]
    )
    git.forget_state()
    return str(made)


@pytest.fixture
def bomb(git: GitRepository) -> str:
    """A tree of ten folders of ten folders, twelve times: a million million files in a few hundred bytes."""
    sha, mode = git.write_blob(b"x"), 0o100644
    for _ in range(12):
        sha, mode = folder(git, {f"n{number}": (sha, mode) for number in range(10)}), 0o040000
    return sha


@pytest.mark.nightly
def test_a_tree_is_cut_off_where_github_cuts_it_off(client: httpx2.Client, bomb: str) -> None:
    reply = client.get(f"/repos/acme/widgets/git/trees/{bomb}?recursive=1").json()

    assert reply["truncated"] is True
    assert 10_000 < len(reply["tree"]) < trees.MOST_ENTRIES


def test_a_branch_that_is_a_bomb_does_not_stall_what_reads_whole_branches(
    client: httpx2.Client, git: GitRepository, bomb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "MOST_ENTRIES", 2_000)
    commit(git, {"bomb": (bomb, 0o040000)})
    client.patch("/repos/acme/widgets", json={"default_branch": "huge"})

    assert client.get("/repos/acme/widgets/languages").status_code == 200
    assert client.get("/search/code?q=x+repo:acme/widgets").status_code == 200


@pytest.mark.slow
def test_folders_nested_deeper_than_any_path_are_read_as_far_as_paths_go(
    client: httpx2.Client, git: GitRepository
) -> None:
    sha, mode = git.write_blob(b"x"), 0o100644
    for _ in range(3_000):
        sha, mode = folder(git, {"n": (sha, mode)}), 0o040000

    reply = client.get(f"/repos/acme/widgets/git/trees/{sha}?recursive=1")

    assert reply.status_code == 200
    assert max(len(entry["path"]) for entry in reply.json()["tree"]) < 5_000


def test_a_folder_lists_a_thousand_files(client: httpx2.Client, git: GitRepository) -> None:
    blob = git.write_blob(b"x")
    wide = folder(git, {f"f{number:05}": (blob, 0o100644) for number in range(1_500)})
    commit(git, {"wide": (wide, 0o040000)})

    assert len(client.get("/repos/acme/widgets/contents/wide?ref=huge").json()) == 1_000
    assert len(client.get(f"/repos/acme/widgets/git/trees/{wide}").json()["tree"]) == 1_500


def test_a_change_lists_three_thousand_files(client: httpx2.Client, git: GitRepository) -> None:
    blob = git.write_blob(b"x\n")
    wide = folder(git, {f"f{number:05}": (blob, 0o100644) for number in range(3_500)})
    sha = commit(git, {"wide": (wide, 0o040000)})

    shown = client.get(f"/repos/acme/widgets/commits/{sha}").json()
    compared = client.get("/repos/acme/widgets/compare/main...huge").json()

    assert (len(shown["files"]), len(compared["files"])) == (3_000, 3_000)
    assert shown["stats"]["additions"] <= 3_000


def test_a_long_text_is_cut_off_and_says_so(client: httpx2.Client, git: GitRepository) -> None:
    content = b"0123456789abcde\n" * 64_000
    commit(git, {"big": (git.write_blob(content), 0o100644), "small": (git.write_blob(b"a\n"), 0o100644)})

    def ask(path: str) -> dict[str, object]:
        asked = {"query": QUERY, "variables": {"expression": f"huge:{path}"}}
        return client.post("/graphql", json=asked).json()["data"]["repository"]["object"]

    big = ask("big")
    assert (len(str(big["text"])), big["isTruncated"], big["byteSize"]) == (512_000, True, len(content))
    assert ask("small") == {"text": "a\n", "isTruncated": False, "byteSize": 2}


@pytest.mark.slow
def test_many_texts_in_one_answer_are_a_resource_limit(client: httpx2.Client, git: GitRepository) -> None:
    blob = git.write_blob(b"0123456789abcde\n" * 30_000)
    commit(git, {f"f{number:03}": (blob, 0o100644) for number in range(200)})

    reply = client.post("/graphql", json={"query": QUERY, "variables": {"expression": "huge:"}})

    assert reply.json()["errors"][0]["type"] == "RESOURCE_LIMITS_EXCEEDED"
    assert len(reply.content) < 64 << 20
