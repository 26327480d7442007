"""Whether an event sets a workflow off: the filters of its file on branches, tags, paths and types."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from ghx_bench.twin.queries.actions.workflow_files import Trigger

_DEFAULT_TYPES = ("opened", "synchronize", "reopened")  # of pull_request, where the file names none
_BRANCHES, _TAGS = "refs/heads/", "refs/tags/"
# Of a commit's message: GitHub then starts nothing for a push or a pull request.
SKIPPED = re.compile(r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]")

Paths = Callable[[], Sequence[str]]


def fits_push(trigger: Trigger, ref: str, changed: Paths) -> bool:
    """Return whether a push to a ref, which changed some files, sets a workflow off."""
    if ref.startswith(_BRANCHES):
        mine, others = (trigger.branches, trigger.branches_ignore), (trigger.tags, trigger.tags_ignore)
    elif ref.startswith(_TAGS):
        mine, others = (trigger.tags, trigger.tags_ignore), (trigger.branches, trigger.branches_ignore)
    else:
        return False
    # Filters for tags alone mean that no push to a branch counts, and the other way round.
    if mine == (None, None):
        return others == (None, None) and (ref.startswith(_TAGS) or _fits_paths(trigger, changed))
    name = ref.split("/", 2)[2]
    return _passes(name, *mine) and (ref.startswith(_TAGS) or _fits_paths(trigger, changed))


def fits_pull(trigger: Trigger, action: str, base: str, changed: Paths) -> bool:
    """Return whether what happened to a pull request (`opened`, ...) into a base sets a workflow off."""
    types = _DEFAULT_TYPES if trigger.types is None else trigger.types
    if action not in types or not _passes(base, trigger.branches, trigger.branches_ignore):
        return False
    return _fits_paths(trigger, changed)


def matches_glob(pattern: str, name: str) -> bool:
    """Return whether a name fits a pattern of workflow files: `*` stops at a slash, `**` does not."""
    return _compile(pattern).fullmatch(name) is not None


def _passes(name: str, wanted: tuple[str, ...] | None, ignored: tuple[str, ...] | None) -> bool:
    if wanted is not None:
        return _is_wanted(name, wanted)
    return ignored is None or not any(matches_glob(pattern, name) for pattern in ignored)


def _fits_paths(trigger: Trigger, changed: Paths) -> bool:
    if trigger.paths is not None:
        wanted = trigger.paths
        return any(_is_wanted(path, wanted) for path in changed())
    ignored = trigger.paths_ignore
    return ignored is None or not all(any(matches_glob(each, path) for each in ignored) for path in changed())


def _is_wanted(name: str, patterns: Iterable[str]) -> bool:
    """Return what the last pattern that fits says; one that begins with `!` takes a name out again."""
    verdict = False
    for pattern in patterns:
        if matches_glob(pattern.removeprefix("!"), name):
            verdict = not pattern.startswith("!")
    return verdict


@lru_cache(maxsize=512)
def _compile(pattern: str) -> re.Pattern[str]:
    parts = re.findall(r"\*\*/|\*\*|\*|\[[^\]]+\]|\\.|[?+]|.", pattern, re.DOTALL)
    translated = "".join(_TRANSLATED.get(part) or _translate(part) for part in parts)
    try:
        return re.compile(translated, re.DOTALL)
    except re.error:  # such as a quantifier with nothing before it
        return re.compile(re.escape(pattern))


_TRANSLATED = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "?", "+": "+"}


def _translate(part: str) -> str:
    if part.startswith("[") and part.endswith("]") and len(part) > 1:
        return part
    return re.escape(part.removeprefix("\\") or part)
