"""The base model and the field types of configuration files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, cast

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


@dataclass(frozen=True, slots=True)
class Setting:
    """A place in a configuration, and the flag that sets it, if one does."""

    path: tuple[str, ...]
    set_by: SetBy | None = None

    @property
    def place(self) -> tuple[str, ...]:
        """The path, with the key that the flag sets where it sets one."""
        return self.path if self.set_by is None or self.set_by.key is None else (*self.path, self.set_by.key)


def settings_in(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[Setting]:
    """Yield every field of a configuration, its sections' own after the others."""
    sections: list[tuple[type[BaseModel], str]] = []
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            sections.append((field.annotation, name))
        else:
            yield Setting((*path, name), next((each for each in field.metadata if isinstance(each, SetBy)), None))
    for section, name in sections:
        yield from settings_in(section, (*path, name))


@cache
def settings_by_name(model: type[BaseModel]) -> Mapping[str, Setting]:
    """Return what `override` can set: by the name of its flag, else by that of its field, the outermost first."""
    settings = list(settings_in(model))
    # Reversed: of two fields with one name or flag, the outermost comes last, and stays.
    by_flag = {_python_name(each.set_by.flag): each for each in reversed(settings) if each.set_by is not None}
    by_field = {each.path[-1]: Setting(each.path) for each in reversed(settings)}
    return {**by_field, **by_flag}


def _python_name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def put_setting(values: dict[str, Any], setting: Setting, value: object) -> None:
    """Put a value where a setting stands, into sections that are made where they are missing."""
    if setting.set_by is not None and setting.set_by.to is not None:
        if not value:
            return
        value = setting.set_by.to
    *sections, key = setting.place
    for section in sections:
        values = values.setdefault(section, {})
    values[key] = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
