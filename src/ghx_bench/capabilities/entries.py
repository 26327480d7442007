"""What is known of a capability without loading it: its id, what it takes, what it does."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

Effect = Literal["reads", "mutates", "destructive"]
"""What a call does to GitHub: nothing, a change, or the removal of something."""

_CAPITAL = re.compile(r"[A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The names of what a capability takes, in order."""

    required: tuple[str, ...]
    optional: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the required ones first."""
        return self.required + self.optional

    def name_of(self, key: str) -> str | None:
        """Return which input a key means, `pr_number` being `prNumber` and `repo` being `name`; `None` if no input."""
        if key in self.required or key in self.optional:
            return key
        spellings = {"repo": "name", **{_CAPITAL.sub(r"_\g<0>", name).lower(): name for name in self.names}}
        name = spellings.get(key)
        return name if name in self.names else None


class Entry(NamedTuple):
    """One line of a domain's index.

    `inputs` are names as they are on the wire, what may be left out in brackets: `owner name [first] [after]`. `module`
    is below the package of the domain.
    """

    id: str
    module: str
    effect: Effect
    inputs: str
    description: str

    @property
    def domain(self) -> str:
        """Return what stands before the first point of the id."""
        return self.id.partition(".")[0]

    @property
    def takes_repository(self) -> bool:
        """Whether a call has to say which repository it is about."""
        return {"owner", "name"} <= set(self.signature.required)

    @property
    def signature(self) -> Signature:
        """Return the names of what this capability takes."""
        return signature_of(self.inputs.split())


def signature_of(inputs: list[str]) -> Signature:
    """Read names, what may be left out being in brackets."""
    return Signature(
        required=tuple(each for each in inputs if each[0] != "["),
        optional=tuple(each[1:-1] for each in inputs if each[0] == "["),
    )
