"""Whether an event sets a workflow off: the filters of its file on branches, tags, paths and types."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ghx_twin.queries.actions.workflow_files import Trigger

_DEFAULT_TYPES = ("opened", "synchronize", "reopened")  # of pull_request, where the file names none
_BRANCHES, _TAGS = "refs/heads/", "refs/tags/"
# Of a commit's message: GitHub then starts nothing for a push or a pull request.
SKIPPED = re.compile(r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|\nskip-checks: ?true\s*\Z")

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
    # All ways at once and not by a regular expression: agents write the patterns, and a few stars make `re` hang.
    parts = _parts(pattern)
    places = _reach(parts, (0,))
    for character in name:
        fitting = [place for place in places if place < len(parts) and parts[place].fits(character)]
        stay = [place for place in fitting if parts[place].repeats]
        places = _reach(parts, (*(place + 1 for place in fitting), *stay))
    return len(parts) in places


def _passes(name: str, patterns: tuple[str, ...] | None, ignored: tuple[str, ...] | None) -> bool:
    if patterns is not None:
        return _matches_any(name, patterns)
    return ignored is None or not any(matches_glob(pattern, name) for pattern in ignored)


def _fits_paths(trigger: Trigger, changed: Paths) -> bool:
    if trigger.paths is not None:
        paths = trigger.paths
        return any(_matches_any(path, paths) for path in changed())
    ignored = trigger.paths_ignore
    return ignored is None or not all(any(matches_glob(each, path) for each in ignored) for path in changed())


def _matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return what the last pattern that fits says; one that begins with `!` takes a name out again."""
    verdict = False
    for pattern in patterns:
        if matches_glob(pattern.removeprefix("!"), name):
            verdict = not pattern.startswith("!")
    return verdict


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern, which a character either goes past, stays at, or does not fit."""

    fits: Callable[[str], bool]
    is_optional: bool = False
    repeats: bool = False
    skips: int = 1  # parts that are left out together with it


@lru_cache(maxsize=512)
def _parts(pattern: str) -> tuple[_Part, ...]:
    parts: list[_Part] = []
    for text in re.findall(r"\*\*/|\*\*|\*|\[[^\]]+\]|\\.|.", pattern, re.DOTALL):
        match text:
            case "**/":
                # Entered once, so that what it may skip is not skipped from inside: `**/a` does not fit `xa`.
                parts += [_Part(_never, is_optional=True, skips=3), _Part(_always, is_optional=True, repeats=True)]
                parts.append(_Part("/".__eq__))
            case "**":
                parts.append(_Part(_always, is_optional=True, repeats=True))
            case "*":
                parts.append(_Part("/".__ne__, is_optional=True, repeats=True))
            case "?" | "+" if parts and not parts[-1].repeats:
                parts[-1] = replace(parts[-1], is_optional=text == "?", repeats=text == "+")
            case _:
                parts.append(_Part(_one_of(text)))
    return tuple(parts)


def _reach(parts: Sequence[_Part], places: Iterable[int]) -> set[int]:
    """Return the places in a pattern that are reached without another character."""
    reached: set[int] = set()
    remaining = list(places)
    while remaining:
        place = remaining.pop()
        if place not in reached:
            reached.add(place)
            if place < len(parts) and parts[place].is_optional:
                remaining.append(place + 1)
                remaining.append(place + parts[place].skips)
    return reached


def _one_of(text: str) -> Callable[[str], bool]:
    if text.startswith("[") and len(text) > 1:
        try:
            pattern = re.compile(text, re.DOTALL)
        except re.error:
            return text.__eq__
        return lambda character: pattern.fullmatch(character) is not None
    return (text[1:] if text.startswith("\\") and len(text) > 1 else text).__eq__


def _always(_character: str) -> bool:
    return True


def _never(_character: str) -> bool:
    return False
