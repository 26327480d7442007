"""Objects and refs: written as git writes them, read whatever is in them."""

import subprocess

import pygit2
import pytest
from git_histories import MONA, signature, write_commit
from pygit2.enums import ObjectType

from ghx_twin.git import program
from ghx_twin.git.errors import GitContentError, GitLookupError, GitRefError
from ghx_twin.git.objects import Signature
from ghx_twin.git.repository import GitRepository
from ghx_twin.git.storage import GitStorage

UNKNOWN = "1" * 40


def raw(repository: GitRepository, kind: ObjectType, content: bytes) -> str:
    return str(pygit2.Repository(str(repository.path)).write(kind, content))


def git(repository: GitRepository, *arguments: str) -> str:
    return program.run(repository.path, arguments).decode()


def test_the_same_arguments_give_the_same_shas_as_git_gives(repository: GitRepository) -> None:
    blob = repository.write_blob(b"hello\n")
    assert blob == "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object
    assert repository.write_tree(None, ()) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's empty tree
    who = Signature(name="Mona", email="m@x", at="2005-04-07T22:13:13+02:00")
    tree = repository.write_tree(None, ())
    sha = repository.write_commit(tree=tree, parents=(), message="hi\n", author=who, committer=who)

    done = subprocess.run(
        program.command(repository.path, ["commit-tree", tree], durable=False),
        env=program.environment({f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in GIT_WHO.items()}),
        input=b"hi\n",
        capture_output=True,
        check=True,
    )
    assert sha == done.stdout.decode().strip()


GIT_WHO = {"NAME": "Mona", "EMAIL": "m@x", "DATE": "2005-04-07T22:13:13+02:00"}


def test_a_commit_is_read_as_it_was_written(repository: GitRepository) -> None:
    who = Signature(name="Zoë ✨", email="zoe@example.com", at="2026-03-04T05:06:07-03:30")
    sha = repository.write_commit(
        tree=repository.write_tree(None, ()), parents=(), message="Über\n\nmehr", author=who, committer=MONA
    )

    commit = repository.commit(sha)

    assert commit is not None
    assert (commit.message, commit.author, commit.committer) == ("Über\n\nmehr", who, MONA)
    assert commit.author.utc == "2026-03-04T08:36:07Z"


def test_names_cannot_add_lines_to_a_commit(repository: GitRepository) -> None:
    who = Signature(name="a\nparent x <b>", email="<c>\n\0", at="2026-01-01T00:00:00Z")
    sha = repository.write_commit(
        tree=repository.write_tree(None, ()), parents=(), message="m", author=who, committer=who
    )

    commit = repository.commit(sha)

    assert commit is not None
    assert (commit.author.name, commit.author.email, commit.parents) == ("aparent x b", "c", ())
    git(repository, "fsck", "--strict")


@pytest.mark.parametrize("name", ["", "<>", "..."])
def test_a_signature_may_have_no_name(repository: GitRepository, name: str) -> None:
    who = Signature(name=name, email="", at="2026-01-01T00:00:00Z")
    sha = repository.write_commit(
        tree=repository.write_tree(None, ()), parents=(), message="m", author=who, committer=who
    )

    commit = repository.commit(sha)

    assert commit is not None
    assert commit.author == Signature(name="", email="", at="2026-01-01T00:00:00Z")


def test_a_message_with_half_a_character_is_stored_all_the_same(repository: GitRepository) -> None:
    sha = write_commit(repository, message="half \ud83d of it")

    commit = repository.commit(sha)

    assert commit is not None
    assert commit.message == "half ? of it"


def test_a_message_that_git_would_cut_short_is_refused(repository: GitRepository) -> None:
    with pytest.raises(GitContentError):
        write_commit(repository, message="a\0b")


def test_a_time_that_is_none_is_refused(repository: GitRepository) -> None:
    who = Signature(name="a", email="b", at="yesterday")
    with pytest.raises(GitContentError):
        repository.write_commit(tree=repository.write_tree(None, ()), parents=(), message="", author=who, committer=who)


@pytest.mark.parametrize(
    ("encoding", "stored", "read"),
    [
        (b"", b"caf\xe9", "caf\ufffd"),
        (b"encoding ISO-8859-1\n", b"caf\xe9", "café"),
        (b"encoding nonsense\n", b"caf\xe9", "caf\ufffd"),
        (b"", "café".encode(), "café"),
    ],
)
def test_a_commit_in_any_encoding_is_read(repository: GitRepository, encoding: bytes, stored: bytes, read: str) -> None:
    tree = repository.write_tree(None, ()).encode()
    who = stored + b" <x@y> 1700000000 +0100"
    content = b"tree %b\nauthor %b\ncommitter %b\n%b\n%b" % (tree, who, who, encoding, stored)

    commit = repository.commit(raw(repository, ObjectType.COMMIT, content))

    assert commit is not None
    assert (commit.message, commit.author.name) == (read, read)
    assert commit.author.at == "2023-11-14T23:13:20+01:00"


@pytest.mark.parametrize("when", [b"99999999999999 +0000", b"1 +9999", b"0 -0000"])
def test_a_commit_of_an_impossible_time_is_read(repository: GitRepository, when: bytes) -> None:
    tree = repository.write_tree(None, ()).encode()
    content = b"tree %b\nauthor a <b> %b\ncommitter a <b> %b\n\nm" % (tree, when, when)

    commit = repository.commit(raw(repository, ObjectType.COMMIT, content))

    assert commit is not None
    assert commit.author.at.startswith("1970-01-01T")
    assert commit.author.utc.endswith("Z")


def test_a_commit_needs_a_tree_and_parents_that_are_there(repository: GitRepository) -> None:
    tree, blob = repository.write_tree(None, ()), repository.write_blob(b"")
    for wrong_tree, parents in ((blob, ()), (UNKNOWN, ()), ("main", ()), (tree, (UNKNOWN,)), (tree, (tree,))):
        with pytest.raises(GitLookupError):
            repository.write_commit(tree=wrong_tree, parents=parents, message="", author=MONA, committer=MONA)


def test_an_annotated_tag_leads_to_its_commit(repository: GitRepository) -> None:
    commit = write_commit(repository, branch="main")
    tag = repository.write_tag(name="v1", target=commit, message="One", tagger=MONA)
    of_tag = repository.write_tag(name="v2", target=tag, message="Two", tagger=None)
    repository.set_ref("refs/tags/v2", of_tag)

    assert repository.refs("refs/tags/") == {"refs/tags/v2": of_tag}
    assert repository.peel(of_tag) == commit
    assert repository.resolve("v2", "main") == commit
    read = repository.tag(tag)
    assert read is not None
    assert (read.name, read.target, read.target_type, read.message, read.tagger) == (
        "v1",
        commit,
        "commit",
        "One",
        MONA,
    )
    assert repository.tag(commit) is None
    git(repository, "fsck", "--strict")


def test_a_tag_of_nothing_or_with_an_impossible_name_is_refused(repository: GitRepository) -> None:
    commit = write_commit(repository)
    with pytest.raises(GitLookupError):
        repository.write_tag(name="v1", target=UNKNOWN, message="", tagger=MONA)
    with pytest.raises(GitContentError):
        repository.write_tag(name="v1\ntagger me", target=commit, message="", tagger=MONA)


def test_every_kind_of_object_is_told_apart(repository: GitRepository) -> None:
    commit = write_commit(repository)
    blob = repository.write_blob(b"\0\xff")
    tag = repository.write_tag(name="t", target=blob, message="", tagger=MONA)

    assert [repository.kind(sha) for sha in (commit, blob, tag, repository.write_tree(None, ()))] == [
        "commit",
        "blob",
        "tag",
        "tree",
    ]
    assert repository.blob(blob) == b"\0\xff"
    assert repository.blob(commit) is None
    with pytest.raises(GitLookupError):
        repository.peel(tag)


@pytest.mark.parametrize("sha", ["", "x", "main", UNKNOWN, "1" * 39, "1" * 41, "é" * 40, "\0" * 40, "A" * 40])
def test_what_is_no_object_is_none(repository: GitRepository, sha: str) -> None:
    assert repository.kind(sha) is None
    assert repository.commit(sha) is None
    assert repository.blob(sha) is None
    assert repository.tag(sha) is None
    with pytest.raises(GitLookupError):
        repository.tree(sha)


def test_an_empty_repository_has_nothing_and_says_so(repository: GitRepository) -> None:
    assert repository.refs() == {}
    assert repository.head() == "refs/heads/main"
    assert [repository.resolve(name, "main") for name in ("HEAD", "main", "refs/heads/main", "abcd")] == [None] * 4


def test_refs_are_created_moved_and_deleted(repository: GitRepository) -> None:
    first, second = write_commit(repository, message="1"), write_commit(repository, message="2")

    repository.set_ref("refs/heads/x", first)
    repository.set_ref("refs/heads/x", second)
    assert repository.ref("refs/heads/x") == second
    repository.set_ref("refs/heads/x", None)
    repository.set_ref("refs/heads/x", None)  # nothing to do

    assert repository.ref("refs/heads/x") is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "main",
        "HEAD",
        "refs/heads",
        "refs/heads/",
        "refs/heads/a..b",
        "refs/heads/a b",
        "refs/heads/../x",
        "refs/heads/a\x00b",
        "refs/heads/\ud800",
        "refs/heads/a\n",
        "refs/heads/.a",
        "refs/heads/a.lock",
        "refs/heads/a~1",
        "refs/heads/\x00",
        "config",
        "refs/x",
    ],
)
def test_a_ref_cannot_have_such_a_name(repository: GitRepository, name: str) -> None:
    sha = write_commit(repository)
    before = sorted(repository.path.rglob("*"))

    with pytest.raises(GitRefError):
        repository.set_ref(name, sha)

    assert repository.ref(name) is None
    assert sorted(repository.path.rglob("*")) == before


def test_a_ref_name_too_long_for_the_file_system_is_refused(repository: GitRepository) -> None:
    with pytest.raises(GitRefError):
        repository.set_ref(f"refs/heads/{'x' * 300}", write_commit(repository))


def test_a_branch_points_to_a_commit_that_is_there(repository: GitRepository) -> None:
    with pytest.raises(GitLookupError):
        repository.set_ref("refs/heads/x", UNKNOWN)
    with pytest.raises(GitRefError):
        repository.set_ref("refs/heads/x", repository.write_blob(b""))
    repository.set_ref("refs/tags/x", repository.write_blob(b""))


@pytest.mark.parametrize(("first", "second"), [("a", "a/b"), ("a/b", "a")])
def test_a_branch_cannot_be_a_folder_of_another(repository: GitRepository, first: str, second: str) -> None:
    sha = write_commit(repository, branch=first)

    with pytest.raises(GitRefError):
        repository.set_ref(f"refs/heads/{second}", sha)
    repository.set_ref(f"refs/heads/{first}", None)
    repository.set_ref(f"refs/heads/{second}", sha)

    assert repository.refs() == {f"refs/heads/{second}": sha}


@pytest.mark.parametrize(("first", "second"), [("a", "a/b"), ("a/b", "a")])
def test_a_packed_branch_cannot_be_a_folder_of_another(storage: GitStorage, first: str, second: str) -> None:
    repository = storage.create(1, "main")
    sha = write_commit(repository, branch=first)
    git(repository, "pack-refs", "--all")

    with pytest.raises(GitRefError):
        repository.set_ref(f"refs/heads/{second}", sha)
    repository.set_ref(f"refs/heads/{first}", None)
    repository.set_ref(f"refs/heads/{second}", sha)

    assert repository.refs() == {f"refs/heads/{second}": sha}


def test_a_ref_with_a_name_that_is_no_utf8_is_listed(repository: GitRepository) -> None:
    sha = write_commit(repository, branch="main")
    (repository.path / "packed-refs").write_bytes(b"# pack-refs with: sorted \n%b refs/heads/caf\xe9\n" % sha.encode())

    assert repository.refs() == {"refs/heads/main": sha, "refs/heads/caf\ufffd": sha}


def test_what_git_itself_writes_and_packs_is_seen_at_once(repository: GitRepository) -> None:
    sha = write_commit(repository, {"a": "a"}, branch="main")
    assert repository.ref("refs/heads/other") is None

    git(repository, "update-ref", "refs/heads/other", sha)
    assert repository.ref("refs/heads/other") == sha
    tree = repository.tree(sha)[0].sha
    git(repository, "repack", "-adq")
    git(repository, "pack-refs", "--all", "--prune")
    assert repository.refs() == {"refs/heads/main": sha, "refs/heads/other": sha}
    assert repository.blob(tree) == b"a"
    new = git(
        repository, "-c", "user.name=a", "-c", "user.email=b", "commit-tree", "-m", "x", f"{sha}^{{tree}}"
    ).strip()
    assert repository.commit(new) is not None
    git(repository, "update-ref", "-d", "refs/heads/other")
    assert repository.refs() == {"refs/heads/main": sha}


def test_head_names_a_branch_that_need_not_be_there(repository: GitRepository) -> None:
    repository.set_head("trunk/x")

    assert repository.head() == "refs/heads/trunk/x"
    assert git(repository, "symbolic-ref", "HEAD").strip() == "refs/heads/trunk/x"
    for wrong in ("", "a..b", "a\nb", "/"):
        with pytest.raises(GitRefError):
            repository.set_head(wrong)


def test_commits_are_found_by_everything_that_names_them(repository: GitRepository) -> None:
    first = write_commit(repository, message="1")
    second = write_commit(repository, message="2", parents=[first], branch="feature/x")
    merge = write_commit(repository, message="3", parents=[second, first], branch="main")
    repository.set_ref("refs/tags/v1", first)
    repository.set_ref("refs/pull/1/head", second)

    named = {
        "main": merge,
        "HEAD": merge,
        "heads/main": merge,
        "refs/heads/feature/x": second,
        "feature/x": second,
        "v1": first,
        "tags/v1": first,
        "pull/1/head": second,
        first: first,
        first[:10]: first,
        "main~1": second,
        "main^": second,
        "main^2": first,
        "main~2^0": first,
        "main~3": None,
        "main^3": None,
        "nope": None,
        "": None,
        first[:3]: None,
        "main:README.md": None,
        "../../main": None,
        "main~9999999": None,
    }
    assert {name: repository.resolve(name, "main") for name in named} == named


def test_a_branch_wins_over_a_tag_and_a_short_sha_and_a_whole_sha_over_a_branch(repository: GitRepository) -> None:
    first, second = write_commit(repository, message="1"), write_commit(repository, message="2")
    repository.set_ref("refs/heads/x", first)
    repository.set_ref("refs/tags/x", second)
    repository.set_ref(f"refs/heads/{second[:7]}", first)
    repository.set_ref(f"refs/heads/{second}", first)

    assert repository.resolve("x", "main") == first
    assert repository.resolve(second[:7], "main") == first
    assert repository.resolve(second, "main") == second


def test_a_sha_of_something_else_than_a_commit_resolves_to_nothing(repository: GitRepository) -> None:
    assert repository.resolve(repository.write_blob(b"x"), "main") is None
    assert repository.resolve(repository.write_tree(None, ()), "main") is None


def test_a_folder_of_another_owner_can_be_opened_and_the_check_stays_on(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    class Spy(pygit2.Repository):
        def __init__(self, *arguments: object) -> None:
            seen.append(pygit2.option(pygit2.enums.Option.GET_OWNER_VALIDATION))
            super().__init__(*arguments)  # type: ignore[arg-type]

    before = pygit2.option(pygit2.enums.Option.GET_OWNER_VALIDATION)
    monkeypatch.setattr(pygit2, "Repository", Spy)

    sha = write_commit(repository, branch="main", message=signature().at)

    assert repository.ref("refs/heads/main") == sha
    assert [bool(value) for value in seen] == [False]
    assert pygit2.option(pygit2.enums.Option.GET_OWNER_VALIDATION) == before
