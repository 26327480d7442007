"""Whether a scenario keeps to its own fixtures: `extensions.independent`, for those that may run beside others."""

from collections.abc import Iterator

from ghx_bench._base.problems import in_words
from ghx_bench.documents import Finding
from ghx_bench.eval.scenario import EvalScenario
from ghx_bench.eval.templates import Tokens

INDEPENDENT = "independent"
"""The key in a scenario's `extensions`."""

_PLACE: Tokens = ("extensions", INDEPENDENT)


def is_independent(scenario: EvalScenario) -> bool:
    """Say whether the task names what it is about, so that fixtures of others in the repository are not in its way."""
    return (scenario.extensions or {}).get(INDEPENDENT) is True


def mistakes_in_independence(scenario: EvalScenario) -> Iterator[Finding]:
    """Yield what is wrong with it: something else than true or false."""
    found = (scenario.extensions or {}).get(INDEPENDENT)
    if found is not None and not isinstance(found, bool):
        reason = f"expected true or false, got {in_words(found)}"
        yield Finding(tokens=_PLACE, reason=reason, suggestion="write true, or leave the key out")
