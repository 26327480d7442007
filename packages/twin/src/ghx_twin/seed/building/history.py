"""Plants the git history of a repository: commits, branches and tags, or a whole bundle."""

import base64
import binascii

from ghx_twin.commands import kernel
from ghx_twin.commands.repositories import refs
from ghx_twin.git.bundles import unbundle
from ghx_twin.git.objects import RefUpdate, TreeChange
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.seed.building.repository_build import RepositoryBuild
from ghx_twin.seed.document import SeedCommit
from ghx_twin.seed.format import Files, SeedFile
from ghx_twin.seed.mistakes import error_place


def build_history(repo: RepositoryBuild) -> None:
    """Write the commits, branches and tags of a repository."""
    seed = repo.seed
    if seed.bundle is not None:
        with error_place("bundle"):
            _unbundle(repo, seed.bundle)
        return
    if seed.files:
        with error_place("files"):
            _commit(repo, SeedCommit(message="Initial commit", files=seed.files, at=seed.at))
    for commit in seed.history:
        with error_place(f"history: {commit.message!r}"):
            _commit(repo, commit)
    for name, target in seed.tags.items():
        with error_place(f"tags: {name}"), repo.world.acting(None) as act:
            refs.create(act, repo.current(act), ref=f"refs/tags/{name}", sha=find_commit(repo, target))


def find_commit(repo: RepositoryBuild, name: str) -> str:
    """Return the commit that a branch, a tag or a sha names."""
    sha = repo.git.resolve(name, repo.record.default_branch)
    if sha is None:
        raise InvalidRefusal(f"there is no branch or commit {name!r} yet; put the commit that makes it first")
    return sha


def _unbundle(repo: RepositoryBuild, text: str) -> None:
    if repo.seed.files or repo.seed.history or repo.seed.tags:
        raise InvalidRefusal("it holds the whole history; leave files, history and tags out")
    with repo.world.acting(None, at=repo.seed.at) as act:
        unbundle(repo.git, _decode_base64("it", text))
        for ref, sha in repo.git.refs().items():  # git moved them past the database, where a diff looks for who did it
            act.database.note("refs", repo.record.id, ref, None, sha)


def _commit(repo: RepositoryBuild, commit: SeedCommit) -> None:
    author = repo.person(commit.author or repo.steward)
    git, ref = repo.git, f"refs/heads/{commit.branch or repo.record.default_branch}"
    before = git.ref(ref)
    with repo.world.acting(None, at=commit.at) as act:  # no viewer: who wrote a commit need not be able to push today
        parent = _start(repo, commit) if before is None else before
        if before is not None and commit.from_ is not None:
            raise InvalidRefusal(f"the branch {commit.branch!r} is there already; leave `from` out")
        who = kernel.user_signature(author, act.now)
        sha = git.write_commit(
            tree=git.write_tree(parent, _changes(repo, commit.files)),
            parents=() if parent is None else (parent,),
            message=commit.message,
            author=who,
            committer=who,
        )
        refs.push(act, repo.current(act), [RefUpdate(ref, before, sha)])


def _start(repo: RepositoryBuild, commit: SeedCommit) -> str | None:
    """Return the commit a new branch starts at: the named one, else the default branch's; None for an orphan."""
    if commit.from_ is not None:
        return find_commit(repo, commit.from_)
    return repo.git.ref(f"refs/heads/{repo.record.default_branch}")


def _changes(repo: RepositoryBuild, files: Files) -> list[TreeChange]:
    return [
        TreeChange(path=path)
        if content is None
        else TreeChange(
            path=path,
            mode=content.mode if isinstance(content, SeedFile) else "100644",
            sha=repo.git.write_blob(file_bytes(path, content)),
        )
        for path, content in files.items()
    ]


def file_bytes(path: str, content: str | SeedFile) -> bytes:
    """Return the content of a file."""
    if isinstance(content, str):
        return content.encode()
    return decode_content(path, content.content, content.encoding)


def decode_content(what: str, content: str, encoding: str) -> bytes:
    """Return the bytes that a seed writes as text or in base64."""
    return _decode_base64(what, content) if encoding == "base64" else content.encode()


def _decode_base64(what: str, text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRefusal(f"{what} is not base64: {error}") from error
