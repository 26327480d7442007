"""Where a scenario can be run: `extensions.targets`, for those that need what only one kind of GitHub has."""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from ghx_bench._base.problems import did_you_mean, in_words, shortened
from ghx_bench.documents import Finding
from ghx_bench.eval.scenario import EvalScenario
from ghx_bench.eval.templates import Tokens

TARGETS = "targets"
"""The key in a scenario's `extensions`."""

Target = Literal["twin", "github"]
KNOWN: tuple[str, ...] = get_args(Target)

_PLACE: Tokens = ("extensions", TARGETS)


def targets_of(scenario: EvalScenario) -> Sequence[str]:
    """Return where a scenario can be run; everywhere unless it says otherwise."""
    found = (scenario.extensions or {}).get(TARGETS)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else KNOWN


def mistakes_in_targets(scenario: EvalScenario) -> Iterator[Finding]:
    """Yield what is wrong with them: no list, or places that nobody knows."""
    found = (scenario.extensions or {}).get(TARGETS)
    if found is None:
        return
    if not isinstance(found, list) or not found:
        reason = f"expected a list of targets, got {in_words(found)}"
        yield Finding(tokens=_PLACE, reason=reason, suggestion="write [twin], [github], or leave the key out")
        return
    for index, each in enumerate(found):
        if each not in KNOWN:
            hint = did_you_mean(each, KNOWN) if isinstance(each, str) else None
            yield Finding(tokens=(*_PLACE, index), reason=f"there is no target {shortened(each)}", suggestion=hint)
