"""Entries of an index: what is known of a capability without loading it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Effect = Literal["reads", "mutates", "destructive"]
"""What a call does to GitHub: nothing, a change, or the removal of something."""

Scope = Literal["named object", "new issue", "anything"]
"""What a mutation may change: the one object that its input names, an issue that it opens, or other things, too."""

_CAPITAL = re.compile(r"[A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The names of the inputs of a capability, in order."""

    required: tuple[str, ...]
    optional: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names, the required ones first."""
        return self.required + self.optional

    def name_of(self, key: str) -> str | None:
        """Return the input that a key means (`pr_number` is `prNumber`, `repo` is `name`); `None` if it means none."""
        if key in self.required or key in self.optional:
            return key
        spellings = {"repo": "name", **{_CAPITAL.sub(r"_\g<0>", name).lower(): name for name in self.names}}
        name = spellings.get(key)
        return name if name in self.names else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a mutation reaches: a chain keeps the order of steps that may change the same thing.

    `unless` names the inputs with which a mutation of one object may change other things as well: `draft` if it is
    given at all, `event=APPROVE` if it has this value.
    """

    scope: Scope
    unless: tuple[str, ...] = ()


ONE_OBJECT: Final = Reach(scope="named object")
"""The issue, pull request or review thread that the input names by number or thread id, and nothing else."""

NEW_ISSUE: Final = Reach(scope="new issue")
"""One new issue, which no earlier step can know."""

ANYTHING: Final = Reach(scope="anything")
"""More than the object that the input names, or an object that it does not name by number or thread id."""


def one_object_unless(*inputs: str) -> Reach:
    """Return the reach of a mutation that changes one object, or more with one of these inputs."""
    return Reach(scope="named object", unless=inputs)


class Entry(NamedTuple):
    """One line of a domain's index; made by `query`, `mutation` and `deletion`.

    `inputs` are names as they are on the wire, what may be left out in brackets: `owner name [first] [after]`. `module`
    is below the package of the domain. `reach` is `None` if the capability only reads.
    """

    id: str
    module: str
    effect: Effect
    inputs: str
    description: str
    reach: Reach | None

    @property
    def domain(self) -> str:
        """Return the part of the id before the first point."""
        return self.id.partition(".")[0]

    @property
    def takes_repository(self) -> bool:
        """Return whether owner and name of a repository are required."""
        return {"owner", "name"} <= set(self.signature.required)

    @property
    def signature(self) -> Signature:
        """Return the names of its inputs."""
        return parse_signature(self.inputs.split())


def query(id_: str, module: str, inputs: str, description: str) -> Entry:
    """Return the entry of a capability that only reads."""
    return Entry(id_, module, "reads", inputs, description, None)


# `reach` has no default on purpose: a chain would silently reorder a mutation whose author did not think about it.
def mutation(id_: str, module: str, inputs: str, description: str, *, reach: Reach) -> Entry:
    """Return the entry of a capability that changes something."""
    return Entry(id_, module, "mutates", inputs, description, reach)


def deletion(id_: str, module: str, inputs: str, description: str) -> Entry:
    """Return the entry of a capability that removes something; what else goes with it is not known."""
    return Entry(id_, module, "destructive", inputs, description, ANYTHING)


def parse_signature(inputs: Sequence[str]) -> Signature:
    """Parse names of inputs; what may be left out is in brackets."""
    return Signature(
        required=tuple(each for each in inputs if each[0] != "["),
        optional=tuple(each[1:-1] for each in inputs if each[0] == "["),
    )
