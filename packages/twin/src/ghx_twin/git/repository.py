"""One bare repository: objects, refs, histories, differences and merges."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from ghx_twin.git import bare, diffs, history, program, refs, trees
from ghx_twin.git.errors import GitContentError, GitLookupError, GitRefError
from ghx_twin.git.objects import (
    AnnotatedTag,
    AnyObject,
    Commit,
    FileDiff,
    ObjectKind,
    RefUpdate,
    Signature,
    TreeChange,
    TreeEntry,
    commit_content,
    commit_record,
    decode_text,
    encode_text,
    object_kind,
    signature_line,
    tag_content,
    tag_record,
)

Undo = Callable[[], None]


class GitRepository:
    """One bare repository.

    Every sha is 40 hexadecimal digits. What is not there is None where the return type says so, and otherwise a
    `GitLookupError`; every error is a `GitError`. Objects are never removed. `remember` gets a function that undoes
    each change of a ref.
    """

    def __init__(
        self, path: Path, *, durable: bool = False, remember: Callable[[Undo], None] = lambda _undo: None
    ) -> None:
        self.path, self.durable = path, durable
        self._remember = remember
        self._opened: pygit2.Repository | None = None
        self._state: dict[str, str] | None = None
        # Of refs that git moves for a push: what records say of them, and for how many pushes.
        self._recorded: dict[str, str | None] = {}
        self._pushes: Counter[str] = Counter()
        self._moving = threading.RLock()  # a push moves refs beside acts, which keep only each other away
        self._folders: tuple[str, ...] | None = None
        # A sha names content that never changes, so these caches need no invalidation.
        self._diff = lru_cache(maxsize=256)(self._find_diff)
        self._merge = lru_cache(maxsize=1024)(self._find_merge)
        self._text = lru_cache(maxsize=16)(self._print)
        self._log = lru_cache(maxsize=16)(self._find_log)

    def close(self) -> None:
        """Close the files held open, and forget what was read of them; the next use opens them again."""
        self.forget_state()
        self._folders = None
        if self._opened is not None:
            self._opened.free()
            self._opened = None

    # Refs

    def state(self) -> Mapping[str, str]:
        """Return HEAD and all refs, as a copy of the repository has them; read once, until `forget_state`."""
        with self._moving:
            if self._state is None:
                targets = {**self.refs(), **self._recorded}  # what a push has moved is not shown before it is recorded
                present = {name: sha for name, sha in sorted(targets.items()) if sha is not None}
                self._state = {bare.HEAD: f"ref: {self.head()}", **present}
            return self._state

    def forget_state(self) -> None:
        """Have `state` read again: every move of a ref calls this, also where the `git` program has moved it."""
        with self._moving:
            self._state = None

    @contextmanager
    def pushing(self, names: Collection[str]) -> Generator[None]:
        """Have `state` show these refs as they were while git moves them; what is not accepted is moved back."""
        with self._moving:
            for name in names:
                self._recorded.setdefault(name, self.ref(name))
            self._pushes.update(names)
        try:
            try:
                yield
            finally:
                for update in self.pushed_refs(names):
                    self._write_ref(update.ref, update.old, update.old)
        finally:  # also where the repository was deleted meanwhile
            with self._moving:
                self._pushes.subtract(names)
                self._recorded = {name: sha for name, sha in self._recorded.items() if self._pushes[name] > 0}

    def pushed_refs(self, names: Collection[str]) -> list[RefUpdate]:
        """Return those refs of a push that git has moved and that were not accepted yet."""
        with self._moving:
            pairs = ((name, self._recorded[name], self.ref(name)) for name in names)
            return [RefUpdate(name, old, new) for name, old, new in pairs if old != new]

    def pushed_texts(self, updates: Sequence[RefUpdate]) -> Iterator[bytes]:
        """Yield the names and contents that the refs of a push have brought, before it is accepted."""
        return history.pushed_texts(self._repository, updates, set(self.state().values()))

    def accept_push(self, updates: Sequence[RefUpdate]) -> None:
        """Have `state` show what git has moved, in the act that records it; if that fails, the refs go back."""
        with self._moving:
            self.forget_state()
            for update in updates:
                self._recorded[update.ref] = update.new
                self._remember(partial(self._write_ref, update.ref, update.old, update.old))

    def objects_folders(self) -> tuple[str, ...]:
        """Return every folder in which a copy of the repository finds its objects."""
        folders = self._folders
        if folders is not None:
            return folders
        found = tuple(bare.objects_folders(self.path))
        # Objects are never removed: once the repository has some of its own, the list stays as it is.
        self._folders = found if str(self.path / "objects") in found else None
        return found

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Return the refs whose full name starts with `prefix`, by name; an annotated tag's is the tag object."""
        return refs.list_refs(self._repository, prefix)

    def is_ref_name(self, name: str) -> bool:
        """Return whether a ref can have a full name: `refs/`, a kind, and what git allows after it."""
        return name.startswith("refs/") and name.count("/") > 1 and refs.is_ref_name(name)

    def ref(self, name: str) -> str | None:
        """Return the target of a ref, by its full name."""
        return refs.read_ref(self._repository, name)

    def set_ref(self, name: str, sha: str | None) -> None:
        """Create, move or (with None) delete a ref."""
        if not self.is_ref_name(name):
            raise GitRefError(f"{name!r} is no name a ref can have")
        if sha is not None:
            self._check_target(name, sha)
        with self._moving:
            before = self.ref(name)
            recorded = self._recorded.get(name, before)
            if before != sha:
                self._write_ref(name, sha, sha)
                self._remember(lambda: self._write_ref(name, before, recorded))

    def head(self) -> str:
        """Return the full name of the branch that HEAD points at, whether it exists or not."""
        return self.path.joinpath("HEAD").read_text(encoding="utf-8").strip().removeprefix("ref: ")

    def set_head(self, branch: str) -> None:
        """Point HEAD at a branch, which need not exist yet."""
        name, before = refs.branch_ref(branch), self.head()
        if before != name:
            self._write_head(name)
            self._remember(lambda: self._write_head(before))

    # Objects

    def kind(self, sha: str) -> ObjectKind | None:
        """Return the kind of the object with this sha."""
        git_object = self._get(sha)
        return None if git_object is None else object_kind(git_object)

    def peel(self, sha: str) -> str:
        """Return the commit that an object is or, through annotated tags, names."""
        return str(self._commit(sha).id)

    def resolve(self, expression: str, default_branch: str) -> str | None:
        """Return the commit that a sha (four digits or more), branch, tag or ref names, with `~1` or `^2` after it."""
        commit = refs.resolve_commit(self._repository, expression, default_branch)
        return None if commit is None else str(commit.id)

    def commit(self, sha: str) -> Commit | None:
        """Return the commit with this sha."""
        git_object = self._get(sha)
        return commit_record(git_object) if isinstance(git_object, pygit2.Commit) else None

    def write_commit(
        self, *, tree: str, parents: Sequence[str], message: str, author: Signature, committer: Signature
    ) -> str:
        """Write a commit; the same arguments give the same sha."""
        if self.kind(tree) != "tree":
            raise GitLookupError(f"there is no tree {tree}")
        for parent in parents:
            if self.kind(parent) != "commit":
                raise GitLookupError(f"there is no commit {parent}")
        content = commit_content(
            tree=tree,
            parents=tuple(parents),
            message=encode_text(message),
            author=signature_line(author),
            committer=signature_line(committer),
        )
        return str(self._repository.write(ObjectType.COMMIT, content))

    def blob(self, sha: str) -> bytes | None:
        """Return the content of the blob with this sha."""
        git_object = self._get(sha)
        return git_object.data if isinstance(git_object, pygit2.Blob) else None

    def write_blob(self, content: bytes) -> str:
        """Write a blob."""
        return str(self._repository.write(ObjectType.BLOB, content))

    def tag(self, sha: str) -> AnnotatedTag | None:
        """Return the annotated tag with this sha."""
        git_object = self._get(sha)
        return tag_record(git_object) if isinstance(git_object, pygit2.Tag) else None

    def write_tag(self, *, name: str, target: str, message: str, tagger: Signature | None) -> str:
        """Write an annotated tag; its ref is set separately."""
        if not refs.is_ref_name(f"refs/tags/{name}"):
            raise GitContentError(f"{name!r} is no name a tag can have")
        kind = self.kind(target)
        if kind is None:
            raise GitLookupError(f"there is no object {target}")
        content = tag_content(name=name, target=target, kind=kind, message=message, tagger=tagger)
        return str(self._repository.write(ObjectType.TAG, content))

    # Trees

    def tree(self, sha: str, *, recursive: bool = False, most: int | None = None) -> list[TreeEntry]:
        """Return the first entries, `most` or 100,000, of the tree or of the tree of the commit with this sha."""
        entries = trees.entries(self._repository, self._tree(sha), recursive=recursive)
        return list(islice(entries, most or trees.MOST_ENTRIES))

    def count_entries(self, sha: str) -> int:
        """Return how many entries a tree has, without what is below them."""
        return len(self._tree(sha))

    def write_tree(self, base: str | None, changes: Sequence[TreeChange]) -> str:
        """Write a tree: that of `base` (a tree or commit) with changes, applied in order."""
        return trees.write(self._repository, None if base is None else self._tree(base), changes)

    def entry(self, commit_or_tree: str, path: str) -> TreeEntry | None:
        """Return the entry at a path; the tree itself at the empty one."""
        return trees.find(self._repository, self._tree(commit_or_tree), path)

    # Histories

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Return whether a commit is another one or an ancestor of it."""
        old, new = self._commit(ancestor).id, self._commit(descendant).id
        return old == new or self._repository.descendant_of(new, old)

    def merge_base(self, a: str, b: str) -> str | None:
        """Return the best common ancestor of two commits."""
        merge_base = self._repository.merge_base(self._commit(a).id, self._commit(b).id)
        return None if merge_base is None else str(merge_base)  # pyright: ignore[reportUnnecessaryComparison] - None for unrelated histories

    def ahead_behind(self, base: str, head: str) -> tuple[int, int]:
        """Return how many commits `head` has that `base` has not, and the other way round."""
        return self._repository.ahead_behind(self._commit(head).id, self._commit(base).id)

    def commits_between(self, base: str | None, head: str) -> list[Commit]:
        """Return the commits that `head` has and `base` has not (all of them without a base), oldest first."""
        hidden = None if base is None else self._commit(base).id
        return [commit_record(each) for each in history.walk_between(self._repository, hidden, self._commit(head).id)]

    def log(
        self,
        start: str,
        *,
        path: str | None = None,
        since: str | None = None,
        until: str | None = None,
        author: str | Collection[str] | None = None,
    ) -> history.Log:
        """Return the history of a commit, newest first; `author` is one name or address, or several."""
        names = None if author is None else frozenset([author] if isinstance(author, str) else author)
        chosen = history.Filter(path=path, since=since, until=until, author=names)
        return history.Log(self._log(str(self._commit(start).id), chosen), lambda sha: commit_record(self._commit(sha)))

    def is_in_history(self, blob: str) -> bool:
        """Return whether a commit that a branch or tag leads to has, or once had, a file with this content."""
        tips = {self.peel(sha) for sha in self.refs().values()}
        tips = sorted(sha for sha in tips if self.kind(sha) == "commit")
        return bool(tips and self._print("log", "-1", "-m", "--format=%H", f"--find-object={blob}", *tips))

    def blame(self, sha: str, path: str) -> tuple[history.BlamedRange, ...]:
        """Return which commits wrote the lines of a file as it is in a commit, from its first line to its last."""
        printed = self._text("blame", "--porcelain", self.peel(sha), "--", path)
        return tuple(history.parse_blame(printed.split("\n")))

    # Differences

    def diff(self, base: str | None, head: str, *, from_merge_base: bool = True) -> tuple[FileDiff, ...]:
        """Return the difference of each file, renames found, since the merge base or `base` (None: an empty tree)."""
        return self._diff(self._since(base, head, from_merge_base=from_merge_base), head)

    def diff_text(self, base: str | None, head: str, *, from_merge_base: bool = True) -> str:
        """Return the output of `git diff`."""
        since = self._since(base, head, from_merge_base=from_merge_base)
        return self._text("diff", "--no-color", "--no-ext-diff", since or self.write_tree(None, ()), head)

    def patch_text(self, base: str | None, head: str) -> str:
        """Return the commits that `head` has and `base` has not (or `head` alone) as `git format-patch` prints them."""
        chosen = ("-1", self.peel(head)) if base is None else (f"{self.peel(base)}..{self.peel(head)}",)
        return self._text("format-patch", "--stdout", "--no-signature", "--no-color", *chosen)

    def archive(self, sha: str, kind: str, prefix: str) -> bytes:
        """Return the files of a commit as `git archive` packs them, each below `prefix`; dated as the commit is."""
        return program.run(self.path, ("archive", f"--format={kind}", f"--prefix={prefix}", self.peel(sha)))

    # Merges

    def merge(self, ours: str, theirs: str) -> str | None:
        """Merge two commits and return the tree; None on a conflict."""
        return self._merge(ours, theirs)

    def revert(self, tip: str, after: str, before: str) -> str | None:
        """Undo on `tip` what changed between `before` and `after`, and return the tree; None on a conflict."""
        return history.revert_commits(self._repository, self._commit(tip), self._commit(after), self._commit(before))

    def rebase(self, onto: str, base: str, head: str, committer: Signature) -> str | None:
        """Copy the commits that `head` has and `base` has not onto a commit; return the last, None on a conflict."""
        return history.rebase_commits(
            self._repository, self._commit(onto), self._commit(base), self._commit(head), committer
        )

    def fetch(self, other: "GitRepository", sha: str, ref: str) -> None:
        """Bring in a commit of another repository with all its objects, and point a ref at it."""
        if self.kind(sha) is None:  # else it is here already, and no process is needed
            if other.kind(sha) is None:
                raise GitLookupError(f"there is no object {sha}")
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
            program.run(self.path, ("fetch", *options, str(other.path), sha), durable=self.durable)
        self.set_ref(ref, sha)

    # Insides

    @property
    def _repository(self) -> pygit2.Repository:
        if self._opened is None:
            self._opened = bare.open_repository(self.path, durable=self.durable)
        return self._opened

    def _write_ref(self, name: str, sha: str | None, recorded: str | None) -> None:
        with self._moving:
            self.forget_state()
            refs.write_ref(self._repository, name, sha)
            if name in self._recorded:
                self._recorded[name] = recorded

    def _write_head(self, name: str) -> None:
        with self._moving:
            self.forget_state()
            self._repository.set_head(name)

    def _get(self, sha: str) -> AnyObject | None:
        return refs.get_object(self._repository, sha)

    def _commit(self, sha: str) -> pygit2.Commit:
        commit = refs.peel_to_commit(self._get(sha))
        if commit is None:
            raise GitLookupError(f"there is no commit {sha}")
        return commit

    def _tree(self, sha: str) -> pygit2.Tree:
        tree = self._get(sha)
        return tree if isinstance(tree, pygit2.Tree) else self._commit(sha).tree

    def _check_target(self, name: str, sha: str) -> None:
        kind = self.kind(sha)
        if kind is None:
            raise GitLookupError(f"there is no object {sha}")
        if name.startswith("refs/heads/") and kind != "commit":
            raise GitRefError(f"{name} cannot point to {sha}, which is a {kind} and no commit")

    def _since(self, base: str | None, head: str, *, from_merge_base: bool) -> str | None:
        return (self.merge_base(base, head) or base) if base is not None and from_merge_base else base

    def _find_diff(self, base: str | None, head: str) -> tuple[FileDiff, ...]:
        before = None if base is None else self._tree(base)
        return tuple(diffs.file_diffs(self._repository, before, self._tree(head)))

    def _find_merge(self, ours: str, theirs: str) -> str | None:
        return history.merge_commits(self._repository, self._commit(ours), self._commit(theirs))

    def _find_log(self, start: str, chosen: history.Filter) -> tuple[str, ...]:
        return tuple(history.list_commits(self._commit(start), chosen))

    def _print(self, *arguments: str) -> str:
        return decode_text(program.run(self.path, arguments))
