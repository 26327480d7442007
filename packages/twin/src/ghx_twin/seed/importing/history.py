"""The history of a repository: fetched by git, cut and cleaned commit by commit, and bundled."""

import base64
import os
import re
import subprocess
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pygit2
from pygit2.enums import ObjectType

from ghx_base.files.scratch import ScratchFolder
from ghx_base.problems import one_line
from ghx_twin.git import bare, program
from ghx_twin.git.bundles import bundle
from ghx_twin.git.errors import GitError
from ghx_twin.git.repository import GitRepository
from ghx_twin.seed.checks import SeedWorkflow
from ghx_twin.seed.conversations import SeedOutcome, SeedPlace, SeedPull, SeedThread
from ghx_twin.seed.document import SeedRepository
from ghx_twin.seed.importing.github import ImportFailedError
from ghx_twin.seed.importing.redaction import Redactor

_SIGNER = re.compile(rb"(?P<role>author|committer|tagger) (?P<name>.*?) ?<(?P<email>[^>]*)>(?P<time>.*)", re.DOTALL)
_SIGNED = (b"gpgsig", b"gpgsig-sha256", b"mergetag")
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--stdin")


@dataclass(slots=True)
class ImportedHistory:
    """A bare repository with what was fetched; `rename` makes of it what the seed holds."""

    path: Path
    url: str
    token: str | None = None
    _written: dict[str, str | None] = field(default_factory=dict[str, str | None])
    _opened: GitRepository | None = None

    def fetch(self, refspecs: Iterable[str], *, url: str | None = None) -> None:
        """Fetch refs; the token travels in the environment, where other users of the machine cannot read it."""
        if not self.path.exists():
            pygit2.init_repository(str(self.path), bare=True)
        extra = {"GIT_ALLOW_PROTOCOL": "http:https"}  # the address is the server's word, and git knows ways to programs
        if self.token is not None:
            basic = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
            extra |= {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": f"http.{_origin(self.url)}.extraHeader",
                "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
            }
        proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        done = subprocess.run(
            program.command(self.path, (*_FETCH, url or self.url), durable=False),
            env=program.environment({**proxies, **extra}),
            input="".join(f"{each}\n" for each in refspecs).encode(),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise ImportFailedError(
                one_line(f"git cannot fetch {url or self.url}: {lines[-1] if lines else 'it failed'}")
            )

    def fetch_pulls(self, numbers: Iterable[int]) -> None:
        """Fetch the heads of pull requests; GitHub has lost a few of the oldest, which would fail the others."""
        refspecs = [f"+refs/pull/{number}/head:refs/pull/{number}/head" for number in numbers]
        try:
            self.fetch(refspecs)
        except ImportFailedError:
            for each in refspecs:
                with suppress(ImportFailedError):
                    self.fetch((each,))

    def fetch_commits(self, shas: Iterable[str]) -> None:
        """Fetch commits that no branch has any more, as far as the server still has them."""
        for sha in sorted({each for each in shas if not self.has(each)}):
            with suppress(ImportFailedError):  # what refers to it is moved to the head of its pull request
                self.fetch((f"+{sha}:refs/imported/{sha}",))

    def has(self, sha: str) -> bool:
        """Return whether a commit was fetched."""
        return self._repository.kind(sha) == "commit"

    def peel(self, sha: str) -> str | None:
        """Return the commit that a tag names; None where it names something else."""
        try:
            return self._repository.peel(sha)
        except GitError:
            return None

    def tagged(self, names: Iterable[str]) -> set[str]:
        """Return the commits of some tags."""
        refs = self.refs()
        targets = (refs.get(f"refs/tags/{name}") for name in names)
        return {commit for sha in targets if sha is not None and (commit := self.peel(sha)) is not None}

    def refs(self) -> dict[str, str]:
        """Return what was fetched by name, without what `fetch_commits` brought."""
        refs = self._repository.refs()
        return {name: sha for name, sha in refs.items() if not name.startswith("refs/imported/")}

    def emails(self) -> set[str]:
        """Return the addresses of all who wrote or committed something."""
        return set(self._git("log", "--all", "--format=%ae%n%ce").lower().split("\n")) - {""}

    def newest(self, depth: int, default_branch: str, extra: Collection[str]) -> set[str]:
        """Return the commits that are kept when history is cut.

        Those are the newest of the default branch, the newest of each other branch and pull request that are not on
        it, where pull requests begin, and the commits that records name.
        """
        default = f"refs/heads/{default_branch}"
        commits = {sha for sha in extra if self.has(sha)}
        commits |= set(self._git("rev-list", f"--max-count={depth}", default).split())
        for name, sha in self.refs().items():
            if not name.startswith("refs/tags/"):
                shas = self._git("rev-list", f"--max-count={depth}", sha, f"^{default}").split()
                commits |= {sha, *shas, *self._merge_base(default, sha)}
        return commits

    @property
    def _repository(self) -> GitRepository:
        if self._opened is None:
            self._opened = GitRepository(self.path)
        return self._opened

    def _merge_base(self, first: str, second: str) -> list[str]:
        try:
            return self._git("merge-base", first, second).split()
        except GitError:  # they have nothing in common
            return []

    def rename(self, redactor: Redactor, shas: Collection[str] | None = None) -> dict[str, str]:
        """Write every commit again, as the seed has it, and return their new names by their old ones.

        A commit in which nothing is replaced keeps its name. Where some are not `kept`, what follows them goes on from
        the nearest one before that is.
        """
        repository = pygit2.Repository(str(self.path))
        for line in self._git("rev-list", "--topo-order", "--reverse", "--parents", "--all").splitlines():
            sha, *parents = line.split()
            if shas is not None and sha not in shas:
                self._written[sha] = self._written.get(parents[0]) if parents else None
                continue
            known = (self._written[parent] for parent in parents)
            old = repository.odb.read(sha)[1]
            new = _rewrite(old, redactor, parents, list(dict.fromkeys(each for each in known if each is not None)))
            self._written[sha] = sha if new == old else str(repository.odb.write(ObjectType.COMMIT, new))
        return {old: new for old, new in self._written.items() if new is not None}

    def bundle(self, redactor: Redactor, refs: dict[str, str], also: Collection[str] = ()) -> bytes:
        """Return a bundle of some of the refs, under the names given, and of the commits that records name."""
        targets = {name: self._rename_target(redactor, sha) for name, sha in refs.items()}
        refs_by_name = {name: sha for name, sha in targets.items() if sha is not None}
        with ScratchFolder() as folder:
            bare.create(
                folder / "clean.git",
                {bare.HEAD: "ref: refs/heads/main", **refs_by_name},
                alternates=[str(self.path / "objects")],
            )
            extra = {new for sha in also if (new := self._written.get(sha)) is not None}
            return bundle(GitRepository(folder / "clean.git"), also=extra)

    def _rename_target(self, redactor: Redactor, sha: str) -> str | None:
        """Return the new name of what a ref points to; an annotated tag is written again around its commit."""
        if sha in self._written:
            return self._written[sha]
        repository = pygit2.Repository(str(self.path))
        kind, old = repository.odb.read(sha)
        if kind != ObjectType.TAG:
            return sha  # a tree or a blob, which says nothing of anyone
        target = old.split(b"\n", 1)[0].removeprefix(b"object ").decode()
        new = self._rename_target(redactor, target)
        if new is None:
            return None
        content = _rewrite(old.replace(target.encode(), new.encode(), 1), redactor, (), ())
        return sha if content == old else str(repository.odb.write(ObjectType.TAG, content))

    def _git(self, *arguments: str) -> str:
        return program.run(self.path, arguments).decode("utf-8", "replace")


def referenced_commits(records: SeedRepository) -> set[str]:
    """Return the commits that records name."""
    commits: set[str | None] = {each.commit for each in (*records.checks, *records.commit_comments)}
    commits |= {run.commit for workflow in records.workflows for run in workflow.runs}
    for pull in records.pulls:
        if pull.outcome is not None:
            commits |= {pull.outcome.head_sha, pull.outcome.base_sha, pull.outcome.merge_commit_sha}
        commits |= {review.commit_sha for review in pull.reviews}
        for place in (thread.place for thread in pull.threads):
            commits |= set() if place is None else {place.commit_sha, place.original_commit_sha}
    return {sha for sha in commits if sha is not None}


def settle_commits(history: ImportedHistory, records: SeedRepository, homes: Collection[str]) -> SeedRepository:
    """Return records in which every commit is one that was fetched, and every head is in one of `homes`."""
    return records.model_copy(
        update={
            "pulls": tuple(_settle_pull(history, pull, homes) for pull in records.pulls if _has_head(history, pull)),
            "checks": tuple(each for each in records.checks if history.has(each.commit)),
            "commit_comments": tuple(each for each in records.commit_comments if history.has(each.commit)),
            "workflows": tuple(_settle_runs(history, each) for each in records.workflows),
        }
    )


def _has_head(history: ImportedHistory, pull: SeedPull) -> bool:
    return pull.outcome is not None and history.has(pull.outcome.head_sha)


def _settle_runs(history: ImportedHistory, workflow: SeedWorkflow) -> SeedWorkflow:
    return workflow.model_copy(update={"runs": tuple(run for run in workflow.runs if history.has(run.commit))})


def _settle_pull(history: ImportedHistory, pull: SeedPull, homes: Collection[str]) -> SeedPull:
    outcome = pull.outcome
    assert outcome is not None  # noqa: S101 - every pull request of an import has one
    head = outcome.head_sha

    def known(sha: str) -> str:
        return sha if history.has(sha) else head

    merge = outcome.merge_commit_sha
    is_home = outcome.head_repository in homes
    settled = SeedOutcome(
        head_sha=head,
        base_sha=known(outcome.base_sha),
        head_repository=outcome.head_repository if is_home else None,
        merge_commit_sha=None if merge is None else known(merge),
        auto_merge=outcome.auto_merge,
    )
    reviews = tuple(
        each.model_copy(update={"commit_sha": None if each.commit_sha is None else known(each.commit_sha)})
        for each in pull.reviews
    )

    def place(thread: SeedThread) -> SeedThread:
        found = thread.place or SeedPlace(commit_sha=head, original_commit_sha=head)
        moved = {"commit_sha": known(found.commit_sha), "original_commit_sha": known(found.original_commit_sha)}
        return thread.model_copy(update={"place": found.model_copy(update=moved)})

    return pull.model_copy(
        update={
            "head": pull.head if is_home else pull.head.rpartition(":")[2],
            "outcome": settled,
            "reviews": reviews,
            "threads": tuple(map(place, pull.threads)),
        }
    )


def _rewrite(content: bytes, redactor: Redactor, parents: Collection[str], new_parents: Collection[str]) -> bytes:
    """Return the content of a commit or tag with other parents, and people as the seed calls them."""
    head, gap, message = content.partition(b"\n\n")
    lines = [line for line in _unfold(head) if not line.startswith(b"parent ")]
    position = 1  # after the tree
    lines[position:position] = [f"parent {sha}".encode() for sha in new_parents]
    signed = [_sign(line, redactor) for line in lines]
    new_message = _replace_text(message, redactor)
    if list(parents) == list(new_parents) and b"\n".join(signed) == head and new_message == message:
        return content
    kept = [line for line in signed if not line.startswith(_SIGNED)]  # a signature holds for the old content alone
    return b"\n".join(kept) + gap + new_message


def _unfold(head: bytes) -> list[bytes]:
    """Return the lines of a header; a line that begins with a space goes on with the one before."""
    lines: list[bytes] = []
    for line in head.split(b"\n"):
        if line.startswith(b" ") and lines:
            lines[-1] += b"\n" + line
        else:
            lines.append(line)
    return lines


def _sign(line: bytes, redactor: Redactor) -> bytes:
    match = _SIGNER.fullmatch(line)
    if match is None:
        return line
    name, email = (match[part].decode("utf-8", "surrogateescape") for part in ("name", "email"))
    new_name, new_email = redactor.identity(name, email)
    if (new_name, new_email) == (name, email):
        return line
    who = f"{new_name} <{new_email}>".encode("utf-8", "surrogateescape")
    return match["role"] + b" " + who + match["time"]


def _replace_text(message: bytes, redactor: Redactor) -> bytes:
    return redactor.plain(message.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"
