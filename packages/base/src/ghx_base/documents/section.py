"""The base model and the field types of configuration files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, StringConstraints

from ghx_base.documents import RefusedError
from ghx_base.wire import StrictInt

Flag = Annotated[bool, Strict()]
Real = Annotated[float, Strict(), Field(allow_inf_nan=False)]
AtLeastOne = Annotated[StrictInt, Field(ge=1)]
Text = Annotated[str, Strict(), StringConstraints(min_length=1)]
Name = Annotated[
    str, Strict(), StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"), Field(examples=["name-001"])
]
"""A name that can also name a file."""
ModeName = Annotated[
    str,
    Strict(),
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}(?:@[A-Za-z0-9._~/+-]{1,128})?$"),
    Field(examples=["name-001", "name-001@0.1.34", "name-001@./build/head"]),
]
"""The name of a mode, which may be pinned to a version or a path."""
FilePath = Annotated[
    str,
    Strict(),
    StringConstraints(pattern=r"^\.?[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*(?:/\.?[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*)*$"),
    Field(examples=["src/prices.py"]),
]
"""The path of a file in a repository; none that leads out of it."""


def refuse_duplicates(names: Sequence[str]) -> None:
    """Refuse a duplicate name, also in another case: names become files, and not every disk is case-sensitive."""
    first_names: dict[str, str] = {}
    for index, name in enumerate(names):
        first = first_names.setdefault(name.casefold(), name)
        if len(first_names) == index + 1:
            continue
        if first == name:
            raise RefusedError(f"{name!r} is given twice", at=(index,), suggestion="name it once")
        raise RefusedError(f"{name!r} differs from {first!r} only in case", at=(index,), suggestion="rename one")


class Section(BaseModel):
    """A part of a configuration file; unknown keys are refused, nothing is converted quietly."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", validate_by_name=True)


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    refuse_duplicates(names)
    return names


Distinct = AfterValidator(_distinct)
"""Marks a list in which no name may stand twice."""


@dataclass(frozen=True, slots=True)
class SetBy:
    """In the annotation of a field: the flag that sets it on the command line.

    A switch sets the field `to` a value of its own; in a field that is a dict, a flag may set one `key`.
    """

    flag: str
    to: object = None
    key: str | None = None
