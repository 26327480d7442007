"""The git history of a seed's repository."""

import base64
import binascii

from ghx_bench.twin.commands import kernel, refs
from ghx_bench.twin.git.bundles import unbundle
from ghx_bench.twin.git.repository import RefUpdate, TreeChange
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.seed.document import Files, SeedCommit, SeedFile
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.plot import Plot


def plant_history(plot: Plot) -> None:
    """Make the commits, branches and tags of a repository."""
    seed = plot.seed
    if seed.bundle is not None:
        with within("bundle"):
            _unbundle(plot, seed.bundle)
        return
    if seed.files:
        with within("files"):
            _commit(plot, SeedCommit(message="Initial commit", files=seed.files, at=seed.at))
    for commit in seed.history:
        with within(f"history: {commit.message!r}"):
            _commit(plot, commit)
    for name, target in seed.tags.items():
        with within(f"tags: {name}"), plot.world.acting(None) as act:
            refs.create(act, plot.current(act), ref=f"refs/tags/{name}", sha=commit_named(plot, target))


def commit_named(plot: Plot, name: str) -> str:
    """Return the commit that a branch, a tag or a sha names."""
    sha = plot.git.resolve(name, plot.record.default_branch)
    if sha is None:
        raise InvalidRefusal(f"there is no branch or commit {name!r} yet; put the commit that makes it first")
    return sha


def _unbundle(plot: Plot, text: str) -> None:
    if plot.seed.files or plot.seed.history or plot.seed.tags:
        raise InvalidRefusal("it holds the whole history; leave files, history and tags out")
    with plot.world.acting(None, at=plot.seed.at) as act:
        unbundle(plot.git, _decoded("it", text))
        for ref, sha in plot.git.refs().items():
            act.database.note("refs", plot.record.id, ref, None, sha)


def _commit(plot: Plot, commit: SeedCommit) -> None:
    author = plot.person(commit.author or plot.steward)
    git, ref = plot.git, f"refs/heads/{commit.branch or plot.record.default_branch}"
    before = git.ref(ref)
    with plot.world.acting(None, at=commit.at) as act:  # history is given, whoever may push today
        parent = _start(plot, commit) if before is None else before
        if before is not None and commit.from_ is not None:
            raise InvalidRefusal(f"the branch {commit.branch!r} is there already; leave `from` out")
        who = kernel.user_signature(author, act.now)
        sha = git.write_commit(
            tree=git.write_tree(parent, _changes(plot, commit.files)),
            parents=() if parent is None else (parent,),
            message=commit.message,
            author=who,
            committer=who,
        )
        refs.push(act, plot.current(act), [RefUpdate(ref, before, sha)])


def _start(plot: Plot, commit: SeedCommit) -> str | None:
    """Return where a new branch starts: the named place, else the default branch, else nowhere."""
    if commit.from_ is not None:
        return commit_named(plot, commit.from_)
    return plot.git.ref(f"refs/heads/{plot.record.default_branch}")


def _changes(plot: Plot, files: Files) -> list[TreeChange]:
    return [
        TreeChange(path=path)
        if content is None
        else TreeChange(path=path, mode=_mode(content), sha=plot.git.write_blob(_bytes(path, content)))
        for path, content in files.items()
    ]


def _mode(content: str | SeedFile) -> str:
    return content.mode if isinstance(content, SeedFile) else "100644"


def _bytes(path: str, content: str | SeedFile) -> bytes:
    if isinstance(content, str):
        return content.encode()
    return _decoded(path, content.content) if content.encoding == "base64" else content.content.encode()


def _decoded(what: str, text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRefusal(f"{what} is not base64: {error}") from error
