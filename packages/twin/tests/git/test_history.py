"""Histories and merges, compared with what git itself says."""

import pytest
from git_histories import MONA, signature, write_commit, write_files
from hypothesis import given, settings
from hypothesis import strategies as st

from ghx_twin.git import program
from ghx_twin.git.errors import GitLookupError
from ghx_twin.git.objects import Commit, Signature
from ghx_twin.git.repository import GitRepository
from ghx_twin.git.storage import GitStorage

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


def shas(commits: object) -> list[str]:
    return [commit.sha for commit in commits]  # type: ignore[attr-defined]


def git(repository: GitRepository, *arguments: str) -> list[str]:
    return program.run(repository.path, arguments).decode().split()


def graph(repository: GitRepository, shape: list[tuple[int, int, int]]) -> list[str]:
    """Write commits, each with one or two earlier ones as parents and a change of one of three files."""
    made: list[str] = []
    for number, (first, second, path) in enumerate(shape):
        parents = list(dict.fromkeys([made[first % number], made[second % number]] if number else []))
        parents = parents[: 1 + (second % 3 == 0)]
        files: dict[str, str | bytes | None] = {f"f{path}": f"{number}\n"} if path < 3 else {}
        made.append(write_commit(repository, files, parents=parents, message=f"c{number}", minute=number))
    return made


SHAPES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(shape=SHAPES)
def test_histories_are_those_that_git_tells(shape: list[tuple[int, int, int]]) -> None:
    storage = GitStorage.temporary()
    repository = storage.create(1, "main")
    made = graph(repository, shape)
    head, other = made[-1], made[len(made) // 2]

    assert shas(repository.log(head)) == git(repository, "log", "--format=%H", head)
    assert shas(repository.log(head, path="f1")) == git(repository, "log", "--format=%H", head, "--", "f1")
    ahead = git(repository, "rev-list", head, f"^{other}")
    between = shas(repository.commits_between(other, head))
    assert sorted(between) == sorted(ahead)
    for position, sha in enumerate(between):
        parents = repository.commit(sha)
        assert parents is not None
        assert not set(parents.parents) & set(between[position:]), "parents come first"
    behind = git(repository, "rev-list", other, f"^{head}")
    assert repository.ahead_behind(other, head) == (len(ahead), len(behind))
    assert repository.is_ancestor(other, head) == (not behind)
    bases = git(repository, "merge-base", "--all", other, head) if repository.merge_base(other, head) else []
    assert (repository.merge_base(other, head) in bases) or not bases
    storage.close()


def test_unrelated_histories_have_no_merge_base(repository: GitRepository) -> None:
    one, two = write_commit(repository, {"a": "1"}), write_commit(repository, {"b": "2"}, message="other")

    assert repository.merge_base(one, two) is None
    assert not repository.is_ancestor(one, two)
    assert repository.ahead_behind(one, two) == (1, 1)
    assert shas(repository.commits_between(None, two)) == [two]


def test_a_history_is_cut_by_time_and_author(repository: GitRepository) -> None:
    made: list[str] = []
    for minute in range(4):
        who = signature(minute, name="Mona" if minute % 2 else "Hubot")
        tree = write_files(repository, None, {"a": str(minute)})
        made.append(
            repository.write_commit(tree=tree, parents=made[-1:], message=str(minute), author=who, committer=who)
        )

    def listed(**chosen: object) -> list[int]:
        return [made.index(commit.sha) for commit in repository.log(made[-1], **chosen)]  # type: ignore[arg-type]

    assert listed() == [3, 2, 1, 0]
    assert listed(since="2026-01-02T00:02:00Z") == [3, 2]
    assert listed(until="2026-01-02T01:01:00+01:00") == [1, 0]
    assert listed(author="mona") == [3, 1]
    assert listed(author=["nobody", "MONA@example.com"]) == [3, 2, 1, 0]
    assert listed(author="nobody") == []


def test_a_history_of_nothing_is_an_error_that_names_it(repository: GitRepository) -> None:
    with pytest.raises(GitLookupError, match="1111"):
        repository.log("1" * 40)
    with pytest.raises(GitLookupError):
        repository.merge_base("1" * 40, "2" * 40)


def branches(
    repository: GitRepository, ours: dict[str, str | bytes | None], theirs: dict[str, str | bytes | None]
) -> tuple[str, str, str]:
    base = write_commit(repository, {"a": TEXT, "b": "b\n"}, message="base")
    one = write_commit(repository, ours, parents=[base], message="ours", minute=1)
    two = write_commit(repository, theirs, parents=[base], message="theirs", minute=2)
    return base, one, two


def content(repository: GitRepository, tree: str | None, path: str) -> bytes | None:
    assert tree is not None
    entry = repository.entry(tree, path)
    return None if entry is None else repository.blob(entry.sha)


def test_changes_of_different_lines_merge_and_the_same_line_does_not(repository: GitRepository) -> None:
    top, bottom = TEXT.replace("line 1\n", "top\n"), TEXT.replace("line 20\n", "bottom\n")
    _, one, two = branches(repository, {"a": top}, {"a": bottom})
    rival = write_commit(repository, {"a": TEXT.replace("line 1\n", "TOP\n")}, parents=[one], message="rival")

    merged = repository.merge(one, two)

    assert content(repository, merged, "a") == top.replace("line 20\n", "bottom\n").encode()
    assert repository.merge(one, two) == merged
    three = write_commit(repository, {"a": TEXT.replace("line 1\n", "else\n")}, parents=[two], message="clash")
    assert repository.merge(rival, three) is None


def test_a_change_follows_a_rename(repository: GitRepository) -> None:
    changed = TEXT.replace("line 3\n", "three\n")
    _, one, two = branches(repository, {"a": None, "moved/a": TEXT}, {"a": changed})

    merged = repository.merge(one, two)

    assert content(repository, merged, "moved/a") == changed.encode()
    assert content(repository, merged, "a") is None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"a": None}, {"a": TEXT + "more\n"}),
        ({"n": "one\n"}, {"n": "two\n"}),
        ({"b": b"\0\1"}, {"b": b"\0\2"}),
        ({"b": None, "b/c": "x\n"}, {"b": "changed\n"}),
    ],
)
def test_contradictions_are_conflicts(
    repository: GitRepository, ours: dict[str, str | bytes | None], theirs: dict[str, str | bytes | None]
) -> None:
    _, one, two = branches(repository, ours, theirs)

    assert repository.merge(one, two) is None
    assert repository.merge(two, one) is None
    assert repository.rebase(one, repository.merge_base(one, two) or "", two, MONA) is None


def test_what_is_merged_already_merges_to_what_is_there(repository: GitRepository) -> None:
    base, one, _ = branches(repository, {"a": "x\n"}, {})

    commit = repository.commit(one)
    assert commit is not None
    assert repository.merge(one, base) == repository.merge(base, one) == commit.tree


def read(repository: GitRepository, sha: str | None) -> Commit:
    commit = repository.commit(sha or "")
    assert commit is not None
    return commit


def test_a_rebase_copies_commits_with_their_authors_and_a_new_committer(repository: GitRepository) -> None:
    base, onto, first = branches(repository, {"o": "o\n"}, {"a": TEXT + "more\n"})
    second = write_commit(repository, {"c": "c\n"}, parents=[first], message="second ✓", minute=9)
    web = Signature(name="GitHub", email="noreply@github.com", at="2026-05-06T07:08:09Z")

    tip = repository.rebase(onto, base, second, web)

    new = repository.commits_between(onto, tip or "")
    assert [commit.message for commit in new] == ["theirs", "second ✓"]
    assert [commit.author for commit in new] == [read(repository, sha).author for sha in (first, second)]
    assert {commit.committer for commit in new} == {web}
    assert new[0].parents == (onto,)
    assert {entry.path for entry in repository.tree(tip or "")} == {"a", "b", "c", "o"}
    assert repository.rebase(onto, base, second, web) == tip


def test_a_rebase_leaves_out_merges_and_what_is_there_already(repository: GitRepository) -> None:
    base, onto, first = branches(repository, {"n": "new\n"}, {"n": "new\n"})
    merge = repository.write_commit(
        tree=repository.merge(first, onto) or "",
        parents=[first, onto],
        message="Merge",
        author=MONA,
        committer=MONA,
    )
    empty = write_commit(repository, parents=[merge], message="empty on purpose", minute=3)

    tip = repository.rebase(onto, base, empty, MONA)

    assert [commit.message for commit in repository.commits_between(onto, tip or "")] == ["empty on purpose"]
    assert repository.rebase(onto, base, first, MONA) == onto


def test_objects_of_a_fork_are_fetched_with_everything_they_need(storage: GitStorage) -> None:
    parent, fork = storage.create(1, "main"), storage.create(2, "main")
    base = write_commit(fork, {"a": "1"})
    head = write_commit(fork, {"b/c": "2"}, parents=[base], minute=1)

    parent.fetch(fork, head, "refs/pull/1/head")

    assert parent.refs() == {"refs/pull/1/head": head}
    assert shas(parent.log(head)) == [head, base]
    program.run(parent.path, ["fsck", "--connectivity-only", "--strict"])
    assert not (parent.path / "FETCH_HEAD").exists()
    with pytest.raises(GitLookupError):
        parent.fetch(fork, "1" * 40, "refs/pull/2/head")


def test_a_fork_shares_objects_and_fetches_from_its_parent_and_back(storage: GitStorage) -> None:
    parent = storage.create(1, "main")
    base = write_commit(parent, {"a": "1"}, branch="main")
    parent.set_ref("refs/pull/1/head", base)
    fork = storage.create_fork(2, 1)
    assert fork.refs() == {"refs/heads/main": base}

    head = write_commit(fork, {"b": "2"}, parents=[base], branch="topic")
    parent.fetch(fork, head, "refs/pull/2/head")
    grandchild = storage.create_fork(3, 2)

    assert parent.kind(head) == "commit"
    assert grandchild.refs() == {"refs/heads/main": base, "refs/heads/topic": head}
    assert shas(grandchild.log(head)) == [head, base]
    assert write_commit(parent, {"z": "3"}, parents=[base], branch="main") != base
    assert fork.ref("refs/heads/main") == base
