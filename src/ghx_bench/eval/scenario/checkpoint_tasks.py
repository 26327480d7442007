"""What checkpoints may call: capabilities that look, and change nothing."""

from collections.abc import Iterable

from ghx_bench.capabilities.index import ENTRIES
from ghx_bench.documents import Finding
from ghx_bench.eval.scenario.templates import Tokens

_BEST = (".view", ".list")
"""How the ids of capabilities end that tell most of what there is."""


def changing_task(task: str, tokens: Tokens) -> Finding | None:
    """Say that a capability changes GitHub, if it does: a checkpoint that calls it would do the agent's work."""
    entry = ENTRIES.get(task)
    if entry is None or entry.effect == "reads":
        return None
    near = _reader_near(task)
    hint = "a checkpoint may only look" + (f": did you mean {near!r}?" if near else "")
    return Finding(tokens=tokens, reason=f"{task} changes GitHub", suggestion=hint)


def _reader_near(task: str) -> str | None:
    """Return what looks at the thing that a capability changes: `pr.reviews.list` for `pr.reviews.submit`."""
    readers = [each.id for each in ENTRIES.values() if each.effect == "reads"]
    steps = task.split(".")
    families = (".".join(steps[:end]) + "." for end in range(len(steps) - 1, 0, -1))
    found = (_best(each for each in readers if each.startswith(family)) for family in families)
    return next(filter(None, found), None)


def _best(ids: Iterable[str]) -> str | None:
    every = sorted(ids, key=lambda each: (each.count("."), not each.endswith(_BEST[0]), not each.endswith(_BEST), each))
    return every[0] if every else None
