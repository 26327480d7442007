"""What a scenario lets its agent change: the patterns of `extensions.allowedChanges`."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Literal, NamedTuple, get_args

from pydantic import JsonValue

from ghx_bench._base.documents import Finding
from ghx_bench._base.problems import did_you_mean, in_words, listed, shortened
from ghx_bench.eval.scenario import EvalScenario
from ghx_bench.eval.templates import Tokens, fill_text, names_in, near_misses_in
from ghx_bench.eval.variables import misspelt, unbound
from ghx_bench.twin.state.records import RECORDS

ALLOWED_CHANGES = "allowedChanges"
"""The key in a scenario's `extensions`."""

Change = Literal["created", "changed", "deleted"]

REFS = "refs"
KINDS: Mapping[str, frozenset[str]] = {
    **{record.table: frozenset(field.name.removesuffix("_id") for field in fields(record)) for record in RECORDS},
    REFS: frozenset(),
}
"""What can be changed: the kinds of objects on GitHub with their fields, and branches and tags."""

_PLACE: Tokens = ("extensions", ALLOWED_CHANGES)
_ANYTHING = "*"


def patterns_of(scenario: EvalScenario) -> Sequence[str] | None:
    """Return the patterns as they are written; None where the scenario does not say what may be changed."""
    found = (scenario.extensions or {}).get(ALLOWED_CHANGES)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else None


def allowed_changes(scenario: EvalScenario, value_of: Callable[[str], JsonValue]) -> Sequence[str] | None:
    """Return the patterns with their variables replaced; None where nothing is said, and so everything is allowed."""
    patterns = patterns_of(scenario)
    return None if patterns is None else [fill_text(pattern, value_of) for pattern in patterns]


def mistakes_in_allowance(scenario: EvalScenario, variables: Collection[str]) -> Iterator[Finding]:
    """Yield what is wrong with the patterns: no list of texts, kinds that nobody knows, variables that nobody binds."""
    found = (scenario.extensions or {}).get(ALLOWED_CHANGES)
    if found is None:
        return
    if not isinstance(found, list):
        yield Finding(tokens=_PLACE, reason=f"expected a list, got {in_words(found)}", suggestion=_EXAMPLE)
        return
    for index, pattern in enumerate(found):
        tokens = (*_PLACE, index)
        if isinstance(pattern, str) and pattern.strip():
            yield from _mistakes_in(pattern, tokens, variables, has_fixture=scenario.fixture is not None)
        else:
            yield Finding(tokens=tokens, reason=f"expected a pattern, got {in_words(pattern)}", suggestion=_EXAMPLE)


_EXAMPLE = "write what the agent may change, such as ['comments', 'issues.state']"


def _mistakes_in(pattern: str, tokens: Tokens, variables: Collection[str], *, has_fixture: bool) -> Iterator[Finding]:
    kind, _, field = _Pattern.read(pattern).what.partition(".")
    if _ANYTHING in kind:
        pass
    elif kind not in KINDS:
        hint = did_you_mean(kind, KINDS, otherwise=f"known: {listed(sorted(KINDS))}")
        yield Finding(tokens=tokens, reason=f"{shortened(kind)} is no kind of object on GitHub", suggestion=hint)
    elif field and _ANYTHING not in field and field not in KINDS[kind]:
        hint = did_you_mean(field, KINDS[kind], otherwise=f"known: {listed(sorted(KINDS[kind])) or 'none'}")
        yield Finding(tokens=tokens, reason=f"{kind} have no field {shortened(field)}", suggestion=hint)
    for written, name in near_misses_in(pattern):
        yield misspelt(written, name, tokens, variables)
    for name in names_in(pattern):
        if name not in variables:
            yield unbound(name, tokens, variables, has_fixture=has_fixture)


def fits(pattern: str, change: str, what: str, name: str) -> bool:
    """Say whether a pattern covers a change: `created`, `changed` or `deleted`, of what, and of which object.

    A pattern is a kind of object (`comments`), or a kind and a field (`issues.state`). What kind of change it must be
    may stand before it (`created issues`), and the object's name after it (`issues.state acme/widgets#7`,
    `refs acme/widgets refs/heads/fix-*`). `*` stands for anything.
    """
    wanted = _Pattern.read(pattern)
    return (
        wanted.change in {None, change}
        and (_matches(wanted.what, what) or _matches(wanted.what, what.partition(".")[0]))
        and _matches(wanted.name, name)
    )


class _Pattern(NamedTuple):
    change: str | None
    what: str
    name: str

    @classmethod
    def read(cls, text: str) -> "_Pattern":
        first, _, rest = text.strip().partition(" ")
        change = first if first in get_args(Change) else None
        what, _, name = (rest.lstrip() if change else text.strip()).partition(" ")
        return cls(change, what, name.strip() or _ANYTHING)


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split(_ANYTHING))), text, re.DOTALL) is not None
