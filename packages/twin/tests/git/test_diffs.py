"""Differences, compared with what git itself prints."""

import pytest
from git_histories import signature, write_commit, write_files
from hypothesis import given, settings
from hypothesis import strategies as st

from ghx_twin.git import diffs, program
from ghx_twin.git.objects import FileDiff, TreeChange
from ghx_twin.git.repository import GitRepository
from ghx_twin.git.storage import GitStorage

LETTERS = {"added": "A", "removed": "D", "modified": "M", "renamed": "R", "changed": "T"}
CONTENTS = st.one_of(
    st.none(),
    st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "x y\n"]), max_size=12).map("".join),
    st.sampled_from(["no end", "a\nb", "é\n", "+\n-\n@@ -1 +1 @@\n"]),
)
FILES = st.dictionaries(st.sampled_from(["a", "b/c", "b/d", "e.txt", "f g"]), CONTENTS, max_size=5)


def only(repository: GitRepository, before: dict[str, str | bytes], after: dict[str, str | bytes | None]) -> FileDiff:
    base = write_commit(repository, before, message="before")
    (found,) = repository.diff(base, write_commit(repository, after, parents=[base], message="after"))
    return found


def hunks_of_git(text: str) -> dict[str, str]:
    """Return the hunks of each file in what `git diff` printed, by the path after the change or before it."""
    found: dict[str, str] = {}
    for part in text.split("diff --git ")[1:]:
        head, mark, body = part.partition("\n@@ ")
        names = [line for line in head.splitlines() if line.startswith(("--- ", "+++ "))]
        if mark:
            path = next(line[6:] for line in reversed(names) if not line.endswith("/dev/null"))
            found[path.rstrip("\t")] = ("@@ " + body).removesuffix("\n")
    return found


@settings(max_examples=settings.default.max_examples // 2)
@given(before=FILES, after=FILES)
def test_counts_statuses_and_hunks_are_those_of_git(
    before: dict[str, str | None], after: dict[str, str | None]
) -> None:
    storage = GitStorage.temporary()
    repository = storage.create(1, "main")
    old = write_files(repository, None, {path: text for path, text in before.items() if text is not None})
    new = write_files(repository, None, {path: text for path, text in after.items() if text is not None})

    found = repository.diff(old, new, from_merge_base=False)

    raw = program.run(repository.path, ["diff-tree", "-r", "-z", "--no-renames", "--numstat", old, new]).decode()
    counted = {line.split("\t")[2]: line.split("\t")[:2] for line in raw.split("\0") if line}
    by_path = {diff.path: diff for diff in found}
    for path, (added, deleted) in counted.items():
        if path in by_path and by_path[path].status in {"modified", "added"}:
            assert (str(by_path[path].additions), str(by_path[path].deletions)) == (added, deleted)
    assert set(counted) == {d.path for d in found} | {d.previous_path for d in found if d.previous_path}
    text = repository.diff_text(old, new, from_merge_base=False)
    printed = hunks_of_git(text)
    unmoved = {diff.path: diff.patch for diff in found if diff.status != "renamed" and diff.patch}
    for path in unmoved.keys() & printed.keys():
        assert _without_context(unmoved[path]) == _without_context(printed[path])
    storage.close()


def _without_context(hunks: str) -> list[str]:
    """Leave out what git guesses to be the function around a hunk."""
    return ["@@" if line.startswith("@@") else line for line in hunks.split("\n")]


def test_a_change_is_shown_with_three_lines_around_it(repository: GitRepository) -> None:
    text = "".join(f"{n}\n" for n in range(10))

    found = only(repository, {"a": text}, {"a": text.replace("5\n", "five\n")})

    assert (found.status, found.additions, found.deletions, found.binary) == ("modified", 1, 1, False)
    assert found.patch == "@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8"


def test_a_missing_newline_at_the_end_is_told(repository: GitRepository) -> None:
    found = only(repository, {"a": "x\n"}, {"a": "y"})

    assert found.patch == "@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file"


def test_added_and_removed_files_have_the_blob_that_is_or_was_there(repository: GitRepository) -> None:
    base = write_commit(repository, {"gone": "1\n"})
    head = write_commit(repository, {"gone": None, "new": "other content\nsecond\n"}, parents=[base])

    gone, new = repository.diff(base, head)

    assert (gone.path, gone.status, gone.sha, gone.patch) == (
        "gone",
        "removed",
        repository.write_blob(b"1\n"),
        "@@ -1 +0,0 @@\n-1",
    )
    assert (new.path, new.status, new.additions) == ("new", "added", 2)
    assert new.sha == repository.write_blob(b"other content\nsecond\n")


def test_a_moved_file_is_renamed_with_what_changed_in_it(repository: GitRepository) -> None:
    text = "".join(f"line {n}\n" for n in range(30))

    found = only(repository, {"old/a": text, "b": "b\n"}, {"old/a": None, "new/a": text + "end\n"})

    assert (found.status, found.path, found.previous_path) == ("renamed", "new/a", "old/a")
    assert (found.additions, found.deletions) == (1, 0)
    assert found.patch is not None
    assert found.patch.endswith("\n+end")


def test_a_file_moved_as_it_is_has_no_patch(repository: GitRepository) -> None:
    found = only(repository, {"a": "some text\n"}, {"a": None, "b": "some text\n"})

    assert (found.status, found.patch, found.additions, found.deletions) == ("renamed", None, 0, 0)


@pytest.mark.parametrize("similar", [0, 4, 6, 10])
def test_files_half_alike_are_a_rename_and_others_are_not(repository: GitRepository, similar: int) -> None:
    lines = [f"this is line number {n} of ten\n" for n in range(10)]
    other = [f"something else entirely {n} here\n" for n in range(10)]
    base = write_commit(repository, {"a": "".join(lines)})
    head = write_commit(repository, {"a": None, "b": "".join(lines[:similar] + other[similar:])}, parents=[base])

    found = {diff.status for diff in repository.diff(base, head)}

    assert found == ({"renamed"} if similar > 5 else {"added", "removed"})
    letters = program.run(repository.path, ["diff", "--name-status", "-M", base, head]).decode().split()
    assert {letter[0] for letter in letters if letter not in {"a", "b"}} == {LETTERS[status] for status in found}


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["", "one\n", "line a\nline b\nline c\nline d\nline e\nline f\n"]),
        st.sampled_from(["a/x", "a/y", "b/x", "b/__init__.py", "c/__init__.py"]),
        st.sampled_from([None, "a/x", "n/x", "n/y", "n/__init__.py", "m/__init__.py"]),
        st.sampled_from(["", "line g\n"]),
    ),
    max_size=5,
    unique_by=(lambda move: move[1], lambda move: move[2] or move[1]),
)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(moves=MOVES)
def test_the_same_files_are_renamed_as_git_says(moves: list[tuple[str, str, str | None, str]]) -> None:
    storage = GitStorage.temporary()
    repository = storage.create(1, "main")
    old = write_files(repository, None, {path: text for text, path, _, _ in moves})
    new = write_files(repository, None, {to: text + more for text, _, to, more in moves if to is not None})

    found = {(LETTERS[d.status], d.previous_path, d.path) for d in repository.diff(old, new, from_merge_base=False)}

    said = program.run(repository.path, ["diff-tree", "-r", "-M", "--name-status", old, new]).decode()
    expected = [line.split("\t") for line in said.splitlines()]
    assert found == {(letter[0], paths[0] if paths[1:] else None, paths[-1]) for letter, *paths in expected}
    storage.close()


def test_binary_files_have_no_patch(repository: GitRepository) -> None:
    found = only(repository, {"a": b"\0\1\2"}, {"a": b"\0\1\3"})

    assert (found.binary, found.patch, found.status, found.additions) == (True, None, "modified", 0)


def test_a_binary_file_that_moves_and_changes_has_no_patch(repository: GitRepository) -> None:
    content = b"\0" + bytes(range(256)) * 20

    found = only(repository, {"a.bin": content}, {"a.bin": None, "b.bin": content + b"more"})

    assert (found.status, found.previous_path, found.binary, found.patch) == ("renamed", "a.bin", True, None)


def test_a_submodule_that_moves_is_told(repository: GitRepository) -> None:
    old = repository.write_tree(None, [TreeChange(path="a", mode="160000", sha="1" * 40)])
    new = repository.write_tree(None, [TreeChange(path="b", mode="160000", sha="1" * 40)])

    (found,) = repository.diff(old, new, from_merge_base=False)

    assert (found.status, found.previous_path, found.path, found.sha) == ("renamed", "a", "b", "1" * 40)


def test_text_that_is_no_utf8_is_shown_replaced(repository: GitRepository) -> None:
    found = only(repository, {"a": b"caf\xe9\n"}, {"a": b"th\xe9\n"})

    assert found.patch == "@@ -1 +1 @@\n-caf\ufffd\n+th\ufffd"
    assert "caf\ufffd" in repository.diff_text(None, write_commit(repository, {"a": b"caf\xe9\n"}))


def test_a_change_of_the_mode_alone_is_told_as_a_change(repository: GitRepository) -> None:
    blob = repository.write_blob(b"x\n")
    old = repository.write_tree(None, [TreeChange(path="a", sha=blob)])
    new = repository.write_tree(None, [TreeChange(path="a", mode="100755", sha=blob)])

    (found,) = repository.diff(old, new, from_merge_base=False)

    assert (found.status, found.patch) == ("changed", None)


def test_a_file_that_becomes_a_link_and_a_submodule_that_moves_are_told(repository: GitRepository) -> None:
    file, link = repository.write_blob(b"text\n"), repository.write_blob(b"target")
    old = repository.write_tree(
        None, [TreeChange(path="a", sha=file), TreeChange(path="sub", mode="160000", sha="1" * 40)]
    )
    new = repository.write_tree(
        None, [TreeChange(path="a", mode="120000", sha=link), TreeChange(path="sub", mode="160000", sha="2" * 40)]
    )

    found = {diff.path: diff for diff in repository.diff(old, new, from_merge_base=False)}

    assert found["a"].status == "changed"
    assert found["sub"].status == "modified"
    assert found["sub"].sha == "2" * 40
    assert found["sub"].patch == f"@@ -1 +1 @@\n-Subproject commit {'1' * 40}\n+Subproject commit {'2' * 40}"


def test_patches_end_where_those_of_github_end(repository: GitRepository) -> None:
    long_lines = ("x" * 99 + "\n") * 4_000  # 400 kB
    files: dict[str, str | bytes | None] = {
        "a-many-lines": "y\n" * (diffs.LINES_OF_A_PATCH + 1),
        "b-wide": "z" * (diffs.BYTES_OF_A_PATCH + 1),
        **{f"c{n}": f"{n}\n" + long_lines for n in range(4)},
        "d-short": "short\n",
    }
    base = write_commit(repository, {"x": "x"})

    found = {diff.path: diff for diff in repository.diff(base, write_commit(repository, files, parents=[base]))}

    assert [path for path, diff in found.items() if diff.patch] == ["c0", "c1", "d-short"]
    assert found["a-many-lines"].additions == diffs.LINES_OF_A_PATCH + 1


def test_a_difference_is_taken_from_where_the_branches_parted(repository: GitRepository) -> None:
    base = write_commit(repository, {"a": "1\n"})
    main = write_commit(repository, {"m": "m\n"}, parents=[base], minute=1)
    topic = write_commit(repository, {"t": "t\n"}, parents=[base], minute=2)

    assert [diff.path for diff in repository.diff(main, topic)] == ["t"]
    assert {diff.path: diff.status for diff in repository.diff(main, topic, from_merge_base=False)}.keys() <= {"m", "t"}
    assert repository.diff_text(main, topic) == (
        "diff --git a/t b/t\nnew file mode 100644\nindex 0000000..718f4d2\n--- /dev/null\n+++ b/t\n@@ -0,0 +1 @@\n+t\n"
    )
    assert (
        repository.diff_text(topic, main, from_merge_base=False)
        == program.run(repository.path, ["diff", topic, main]).decode()
    )


def test_a_first_commit_differs_from_nothing(repository: GitRepository) -> None:
    sha = write_commit(repository, {"a": "1\n"}, message="First")

    assert [diff.status for diff in repository.diff(None, sha)] == ["added"]
    assert repository.diff_text(None, sha).startswith("diff --git a/a b/a\nnew file mode 100644\n")
    assert f"From {sha} Mon Sep 17 00:00:00 2001\n" in repository.patch_text(None, sha)


def test_a_pull_request_reads_as_mails_with_one_patch_for_each_commit(repository: GitRepository) -> None:
    base = write_commit(repository, {"a": "1\n"})
    one = write_commit(repository, {"a": "2\n"}, parents=[base], message="One\n\nWhy", minute=1)
    two = write_commit(repository, {"b": b"\0\1"}, parents=[one], message="Two", minute=2)

    text = repository.patch_text(base, two)

    assert [line for line in text.splitlines() if line.startswith(("From ", "Subject:", "Date:"))] == [
        f"From {one} Mon Sep 17 00:00:00 2001",
        "Date: Fri, 2 Jan 2026 00:01:00 +0000",
        "Subject: [PATCH 1/2] One",
        f"From {two} Mon Sep 17 00:00:00 2001",
        "Date: Fri, 2 Jan 2026 00:02:00 +0000",
        "Subject: [PATCH 2/2] Two",
    ]
    assert "GIT binary patch" in text
    assert text.count("From: Mona Lisa <mona@example.com>") == 2


def test_settings_of_the_user_change_no_difference(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_DIFF_OPTS", "-u0")
    base = write_commit(repository, {"a": "1\n2\n3\n"}, message=signature().at)
    head = write_commit(repository, {"a": "1\n2\n3\n4\n"}, parents=[base])

    assert "\n 3\n+4\n" in repository.diff_text(base, head)
