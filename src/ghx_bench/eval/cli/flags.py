"""Flags that several commands share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, Token

Switch = Annotated[bool, Parameter(negative="")]
"""A flag without its opposite."""


def _whole(_type: object, tokens: Sequence[Token]) -> int:
    """Read a whole number; 1.5 is none."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"expected a whole number, got {tokens[0].value!r}") from None


def _number(_type: object, tokens: Sequence[Token]) -> float:
    try:
        return float(tokens[0].value)
    except ValueError:
        raise ValueError(f"expected a number, got {tokens[0].value!r}") from None


WholeNumber = Annotated[int, Parameter(converter=_whole)]
Number = Annotated[float, Parameter(converter=_number)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """Which scenarios are listed."""

    tag: list[str] | None = None
    """Only scenarios with this tag; repeat for several."""
    category: list[Literal["pr", "issue", "workflow", "release", "repo"]] | None = None
    """Only scenarios about this part of GitHub; repeat for several."""
    difficulty: list[Literal["basic", "intermediate", "advanced"]] | None = None
    """Only scenarios this hard; repeat for several."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What is listed of which project, and how."""

    config: Path | None = None
    """The project's configuration; `eval.config.yaml` in the current folder unless given."""
    json: Switch = False
    """Print the list as JSON."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the fixtures are, as far as the command line says."""

    config: Path | None = None
    """The configuration; `eval.config.yaml` in the current folder unless given. The flags below override it."""
    repo: str | None = None
    """The repository that holds the fixtures, as owner/name. No other is touched."""
    manifest: Path | None = None
    """The file that says where each fixture is."""
    author_token_env: str | None = None
    """The environment variable with the token of a second identity, which authors what is reviewed."""
    json: Switch = False
    """Print what came of it as JSON."""
