"""Trees: any sequence of changes gives the tree that a dict of files would."""

import subprocess

import pygit2
import pytest
from git_histories import write_commit, write_files
from hypothesis import given, settings
from hypothesis import strategies as st
from pygit2.enums import ObjectType

from ghx_twin.git import program
from ghx_twin.git.errors import GitLookupError, GitPathError
from ghx_twin.git.objects import TreeChange
from ghx_twin.git.repository import GitRepository
from ghx_twin.git.storage import GitStorage

NAMES = st.sampled_from(["a", "b", "a.b", "a-b", "é", "A", "a b"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
STEPS = st.lists(st.tuples(PATHS, st.one_of(st.none(), st.integers(0, 5))), max_size=12)


def listed(repository: GitRepository, sha: str) -> dict[str, bytes]:
    entries = [entry for entry in repository.tree(sha, recursive=True) if entry.type == "blob"]
    return {entry.path: repository.blob(entry.sha) or b"" for entry in entries}


def applied(files: dict[str, bytes], path: str, content: bytes | None) -> dict[str, bytes] | None:
    """Return what a change makes of files; None where there is nothing to remove."""
    below = {name for name in files if name == path or name.startswith(f"{path}/")}
    if content is None:
        return {name: files[name] for name in files.keys() - below} if below else None
    above = {name for name in files if path.startswith(f"{name}/")}
    return {name: files[name] for name in files.keys() - below - above} | {path: content}


@settings(max_examples=settings.default.max_examples // 2)
@given(steps=STEPS)
def test_changes_one_by_one_make_the_tree_that_a_dict_of_files_says(steps: list[tuple[str, int | None]]) -> None:
    storage = GitStorage.temporary()
    repository = storage.create(1, "main")
    tree, files = repository.write_tree(None, ()), dict[str, bytes]()
    for path, number in steps:
        content = None if number is None else b"%d" % number
        change = TreeChange(path=path, sha=None if content is None else repository.write_blob(content))
        expected = applied(files, path, content)
        if expected is None:
            with pytest.raises(GitPathError):
                repository.write_tree(tree, [change])
        else:
            tree, files = repository.write_tree(tree, [change]), expected
        assert listed(repository, tree) == files
    assert tree == _as_git_writes_it(repository, files)
    storage.close()


@settings(max_examples=settings.default.max_examples // 2)
@given(steps=STEPS)
def test_changes_at_once_make_the_same_tree_as_one_by_one(steps: list[tuple[str, int | None]]) -> None:
    storage = GitStorage.temporary()
    repository = storage.create(1, "main")
    changes = [
        TreeChange(path=path, sha=None if number is None else repository.write_blob(b"%d" % number))
        for path, number in steps
    ]
    tree = repository.write_tree(None, ())
    try:
        at_once = repository.write_tree(None, changes)
    except GitPathError:
        storage.close()
        return  # a file and something below it in the same request, or nothing to remove
    for change in changes:
        tree = repository.write_tree(tree, [change])
    storage.close()

    assert at_once == tree


def _as_git_writes_it(repository: GitRepository, files: dict[str, bytes]) -> str:
    """Return the tree that git's own index makes of files."""
    index = {"GIT_INDEX_FILE": str(repository.path / "test-index")}
    (repository.path / "test-index").unlink(missing_ok=True)
    lines = "".join(f"100644 {repository.write_blob(content)}\t{path}\0" for path, content in files.items())
    subprocess.run(
        program.command(repository.path, ["update-index", "-z", "--index-info"], durable=False),
        env=program.environment(index),
        input=lines.encode(),
        check=True,
    )
    done = subprocess.run(
        program.command(repository.path, ["write-tree"], durable=False),
        env=program.environment(index),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        "../a",
        "./a",
        ".git",
        ".git/config",
        "a/.git/b",
        ".GIT/x",
        ".git.",
        ".git ",
        "git~1",
        "GIT~1/x",
        ".g\u200cit",
        "a\\.git\\config",
        ".git::$INDEX_ALLOCATION",
        "a\x00b",
        "x" * 5000,
    ],
)
def test_a_path_that_could_escape_a_working_copy_is_refused(repository: GitRepository, path: str) -> None:
    blob = repository.write_blob(b"")

    with pytest.raises(GitPathError) as caught:
        repository.write_tree(None, [TreeChange(path=path, sha=blob)])

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", [".gitignore", ".github/x.yml", "a.git", "git", ".gitmodules", "...", "a\\b", "ü/ñ"])
def test_a_path_that_only_looks_alike_is_fine(repository: GitRepository, path: str) -> None:
    tree = write_files(repository, None, {path: "x"})

    assert listed(repository, tree) == {path: b"x"}


def test_a_file_and_something_below_it_in_one_request_contradict_each_other(repository: GitRepository) -> None:
    blob = repository.write_blob(b"")
    with pytest.raises(GitPathError):
        repository.write_tree(None, [TreeChange(path="a", sha=blob), TreeChange(path="a/b", sha=blob)])


def test_a_file_makes_way_for_a_folder_and_the_other_way_round(repository: GitRepository) -> None:
    file = write_files(repository, None, {"a": "1"})
    folder = write_files(repository, file, {"a/b": "2"})
    again = write_files(repository, folder, {"a": "3"})

    assert listed(repository, folder) == {"a/b": b"2"}
    assert listed(repository, again) == {"a": b"3"}


def test_a_folder_that_lost_its_last_file_is_gone(repository: GitRepository) -> None:
    tree = write_files(repository, None, {"a/b/c": "1", "d": "2"})

    tree = write_files(repository, tree, {"a/b/c": None})

    assert [entry.path for entry in repository.tree(tree, recursive=True)] == ["d"]


def test_a_whole_tree_can_be_set_and_changed_in_one_request(repository: GitRepository) -> None:
    inner = write_files(repository, None, {"x": "1", "y": "2"})
    blob = repository.write_blob(b"3")

    tree = repository.write_tree(
        None, [TreeChange(path="in", mode="040000", sha=inner), TreeChange(path="in/x", sha=blob)]
    )

    assert listed(repository, tree) == {"in/x": b"3", "in/y": b"2"}


@pytest.mark.parametrize("mode", ["100644", "100755", "120000", "160000"])
def test_files_links_and_submodules_keep_their_modes(repository: GitRepository, mode: str) -> None:
    sha = "2" * 40 if mode == "160000" else repository.write_blob(b"target")
    tree = repository.write_tree(None, [TreeChange(path="d/x", mode=mode, sha=sha)])

    entry = repository.entry(tree, "d/x")

    assert entry is not None
    assert (entry.mode, entry.sha) == (mode, sha)
    assert (entry.type, entry.size) == (("commit", None) if mode == "160000" else ("blob", 6))
    assert [found.type for found in repository.tree(tree, recursive=True)] == ["tree", entry.type]


def test_what_is_below_a_link_or_submodule_is_not_there(repository: GitRepository) -> None:
    blob = repository.write_blob(b"/etc")
    tree = repository.write_tree(
        None,
        [TreeChange(path="link", mode="120000", sha=blob), TreeChange(path="sub", mode="160000", sha="2" * 40)],
    )

    assert repository.entry(tree, "link/passwd") is None
    assert repository.entry(tree, "sub/x") is None


def test_a_mode_and_an_object_that_do_not_fit_are_refused(repository: GitRepository) -> None:
    blob, tree = repository.write_blob(b""), repository.write_tree(None, ())
    for mode, sha in (("100644", tree), ("040000", blob), ("100644", "1" * 40), ("040000", "1" * 40), ("100644", "x")):
        with pytest.raises(GitLookupError):
            repository.write_tree(None, [TreeChange(path="a", mode=mode, sha=sha)])
    for mode in ("", "644", "100664", "nonsense"):
        with pytest.raises(GitPathError):
            repository.write_tree(None, [TreeChange(path="a", mode=mode, sha=blob)])


def test_a_base_may_be_a_commit_and_must_be_there(repository: GitRepository) -> None:
    commit = write_commit(repository, {"a": "1"})

    assert listed(repository, write_files(repository, commit, {"b": "2"})) == {"a": b"1", "b": b"2"}
    with pytest.raises(GitLookupError):
        repository.write_tree("1" * 40, ())


def test_names_that_are_no_utf8_are_shown_replaced_and_kept(repository: GitRepository) -> None:
    blob = repository.write_blob(b"x")
    content = b"100644 caf\xe9\0" + bytes.fromhex(blob)
    raw = str(pygit2.Repository(str(repository.path)).write(ObjectType.TREE, content))

    changed = write_files(repository, raw, {"b": "y"})

    assert [entry.path for entry in repository.tree(changed, recursive=True)] == ["b", "caf\ufffd"]
    assert b"caf\xe9" in pygit2.Repository(str(repository.path))[changed].read_raw()
    assert repository.entry(raw, "caf\ufffd") is None
    assert [diff.path for diff in repository.diff(raw, changed, from_merge_base=False)] == ["b"]
    assert [diff.path for diff in repository.diff(None, raw)] == ["caf\ufffd"]


def test_a_path_leads_to_what_is_there(repository: GitRepository) -> None:
    commit = write_commit(repository, {"a/b/c": "1", "d": "2"})

    found = {
        path: repository.entry(commit, path) for path in ("", "a", "a/b/c", "d", "x", "a/x", "d/x", "/a", "a/", "..")
    }

    assert {path: entry.type for path, entry in found.items() if entry} == {
        "": "tree",
        "a": "tree",
        "a/b/c": "blob",
        "d": "blob",
    }
    for wrong in ("\ud800", "a\0", "x" * 10_000):
        assert repository.entry(commit, wrong) is None
