"""Finds git objects and refs by the names that queries use."""

import re

from ghx_twin.git.errors import GitError
from ghx_twin.git.objects import Commit, Signature
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.subjects import (
    BlameRange,
    BlameSubject,
    BlobSubject,
    CommitSubject,
    EntrySubject,
    GitSubject,
    RefSubject,
    TagSubject,
    TreeSubject,
)
from ghx_twin.queries import lookup
from ghx_twin.queries.repositories import comparison
from ghx_twin.queries.repositories.releases import is_only_asset
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import Pull, Repository, User

_CO_AUTHOR = re.compile(r"(?i:co-authored-by):\s*(?P<name>[^<]*?)\s*<(?P<email>[^>]+)>")
_SUBJECTS: dict[str, type[GitSubject]] = {
    "commit": CommitSubject,
    "tree": TreeSubject,
    "blob": BlobSubject,
    "tag": TagSubject,
}


def commit(context: Context, subject: GitSubject) -> Commit:
    """Return what a commit says."""
    key = ("commit", subject.repository.id, subject.sha)
    commit_record = context.once(key, lambda: context.world.git(subject.repository).commit(subject.sha))
    assert commit_record is not None  # noqa: S101 - a CommitThing is only made of a commit that is there
    return commit_record


def known_commits(context: Context, repository: Repository, commits: list[Commit]) -> list[CommitSubject]:
    """Return commits as subjects, without reading them again."""
    for one in commits:
        context.once(("commit", repository.id, one.sha), lambda one=one: one)
    return [CommitSubject(repository, one.sha) for one in commits]


def git_object(context: Context, repository: Repository, sha: str | None) -> GitSubject | None:
    """Return the object with a full sha."""
    kind = context.world.git(repository).kind(sha) if sha else None
    if not kind or not sha or (kind == "blob" and is_only_asset(context.world, repository, sha)):
        return None
    return _SUBJECTS[kind](repository, sha)


def commit_at(context: Context, repository: Repository, sha: str | None) -> GitSubject | None:
    """Return the commit with a full sha; None if it is something else."""
    found = git_object(context, repository, sha)
    return found if isinstance(found, CommitSubject) else None


def expression(context: Context, repository: Repository, text: str) -> GitSubject | None:
    """Return what `main`, `HEAD~1` or `main:docs/README.md` names."""
    start, colon, path = text.partition(":")
    git = context.world.git(repository)
    if not colon and (sha := git.ref(f"refs/tags/{start}")) and git.kind(sha) == "tag":
        return TagSubject(repository, sha)
    if not colon and (found := git_object(context, repository, start)):
        return found
    sha = git.resolve(start, repository.default_branch)
    if sha is None:
        return None
    if not colon:
        return git_object(context, repository, sha)
    try:
        entry = git.entry(sha, path.strip("/"))
    except GitError:
        return None
    return entry_object(context, EntrySubject(repository, entry, path.strip("/"))) if entry else None


def entry_object(context: Context, entry: EntrySubject) -> GitSubject | None:
    """Return the file or folder of an entry; a folder remembers where it is."""
    if entry.entry.type == "tree":
        return TreeSubject(entry.repository, entry.entry.sha, entry.path)
    return git_object(context, entry.repository, entry.entry.sha)


def entry(context: Context, subject: GitSubject, path: str) -> EntrySubject | None:
    """Return what is at a path of a commit or tree."""
    try:
        tree_entry = context.world.git(subject.repository).entry(subject.sha, path.strip("/"))
    except GitError:
        return None
    return EntrySubject(subject.repository, tree_entry, path.strip("/")) if tree_entry else None


def blame(context: Context, subject: CommitSubject, path: str) -> BlameSubject:
    """Return which commits wrote the lines of a file; refuse a path at which there is none."""
    git = context.world.git(subject.repository)
    entry = git.entry(subject.sha, path)
    if entry is None or entry.type != "blob":
        raise NotFoundRefusal(f"Could not resolve file for path '{path}'.")
    context.spend_bytes(entry.size or 0)
    ranges = git.blame(subject.sha, path)
    commits = {sha: git.commit(sha) for sha in {one.sha for one in ranges}}
    newest_first = sorted(
        commits, key=lambda sha: commit.committer.utc if (commit := commits[sha]) else "", reverse=True
    )
    # Evenly from 1 to 10 over the commits of the file, as far as there are that many.
    ages = {sha: 1 + 9 * place // max(1, len(newest_first) - 1) for place, sha in enumerate(newest_first)}
    return BlameSubject(
        tuple(
            BlameRange(CommitSubject(subject.repository, one.sha), one.start, one.end, ages[one.sha]) for one in ranges
        )
    )


def ref(context: Context, repository: Repository | None, name: str) -> RefSubject | None:
    """Return a ref by its full name."""
    sha = context.world.git(repository).ref(name) if repository else None
    return RefSubject(repository, name, sha) if repository and sha else None


def ref_by_name(context: Context, repository: Repository, name: str) -> RefSubject | None:
    """Return a ref by a name as people write it; refs of pull requests are not shown."""
    candidates = (name,) if name.startswith("refs/") else (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}")
    ref_subject = next((one for full in candidates if (one := ref(context, repository, full))), None)
    return ref_subject if ref_subject and not ref_subject.name.startswith("refs/pull/") else None


def refs(
    context: Context,
    repository: Repository,
    prefix: str,
    *,
    query: str | None = None,
    direction: str | None = None,
    order: dict[str, str] | None = None,
) -> list[RefSubject] | None:
    """Return the refs below a prefix; None for one that is none."""
    if not prefix.startswith("refs/") or prefix.startswith("refs/pull"):
        return None
    below = prefix if prefix.endswith("/") else f"{prefix}/"
    ref_subjects = [
        RefSubject(repository, name, sha) for name, sha in context.world.git(repository).refs(below).items()
    ]
    ref_subjects = [one for one in ref_subjects if not query or query.lower() in one.name.removeprefix(below).lower()]
    if order and order["field"] == "TAG_COMMIT_DATE":
        git = context.world.git(repository)
        ref_subjects.sort(key=lambda one: commit(context, CommitSubject(repository, git.peel(one.sha))).committer.utc)
    descending = (order["direction"] if order else direction) == "DESC"
    return ref_subjects[::-1] if descending else ref_subjects


def user_by_email(context: Context, email: str) -> User | None:
    """Return whose commits carry an address, looked up once for each in a request."""
    return context.once(("email", email), lambda: lookup.user_by_email(context.world, email))


def authors(commit: Commit) -> list[Signature]:
    """Return the author of a commit and the co-authors its message names."""
    matches = (_CO_AUTHOR.fullmatch(line.strip()) for line in commit.message.splitlines())
    extra = [Signature(name=m["name"], email=m["email"], at=commit.author.at) for m in matches if m]
    emails = {commit.author.email.lower()}
    return [
        commit.author,
        *(one for one in extra if not (one.email.lower() in emails or emails.add(one.email.lower()))),
    ]


def pulls_with(context: Context, repository: Repository, sha: str) -> list[Pull]:
    """Return the pull requests that contain a commit, or became it."""
    pulls = context.database.all(Pull, repository_id=repository.id)
    return [
        one
        for one in pulls
        if sha in {one.merge_commit_sha, one.head_sha} or sha in {commit.sha for commit in pull_commits(context, one)}
    ]


def pull_commits(context: Context, pull: Pull) -> list[Commit]:
    """Return the commits that a pull request adds, oldest first."""
    return context.once(("commits", pull.id), lambda: comparison.commits(context.world, pull))
