"""Large worlds in few lines: an entry of a seed that stands for many, which differ in their number."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field, StrictInt, StringConstraints

from ghx_base.documents import RefusedError
from ghx_base.texts.templates import fill_text, names_in
from ghx_twin.seed.format import SeedModel
from ghx_twin.seed.mistakes import SeedError

MOST_TIMES = 10_000
MOST_ENTRIES = 50_000
"""How many entries of one kind a repository may have, comments included: building a thousand takes half a second."""

_LONGEST_STEP_S = 366 * 24 * 60 * 60
_LAST_YEAR = 2999
_COUNTER = "n"
_TIMES = ("at", "updated_at", "closed_at", "due_on")
_SPELLING = "%Y-%m-%dT%H:%M:%SZ"

Times = Annotated[StrictInt, Field(ge=0, le=MOST_TIMES)]
RepeatName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,62}$"), Field(examples=["issues"])]


class SeedRepeat(SeedModel):
    """How often an entry is there."""

    times: Times
    name: RepeatName | None = Field(default=None, description="By which a fixture sets how often, in `world.size`.")
    every_s: StrictInt = Field(
        default=0, ge=0, le=_LONGEST_STEP_S, description="How many seconds the times of each are after those before."
    )


class RepeatedModel(SeedModel):
    """An entry that can stand for many."""

    repeat: Times | SeedRepeat | None = Field(
        default=None, description="How many of these there are; `{{n}}` in their texts is 1 for the first."
    )

    @property
    def times(self) -> int:
        """How many entries it stands for."""
        repeat = self.repeat
        return 1 if repeat is None else repeat.times if isinstance(repeat, SeedRepeat) else repeat

    def refuse_same(self, field: str) -> None:
        """Refuse entries that would all have the same name, where each needs one of its own."""
        if self.times > 1 and _COUNTER not in names_in(getattr(self, field)):
            reason = f"{field} would be the same for all {self.times}"
            raise RefusedError(reason, at=(field,), suggestion=f"put {{{{{_COUNTER}}}}} into it")


ModelT = TypeVar("ModelT", bound=SeedModel)


def write_out(entries: Sequence[ModelT]) -> tuple[ModelT, ...]:
    """Return entries with those that stand for many written out, in order; what is inside of one comes first."""
    count = _count(entries)
    if count > MOST_ENTRIES:
        raise SeedError(f"there would be {count:,} of these, and {MOST_ENTRIES:,} can be planted; repeat fewer")
    return tuple(result for each in entries for result in _write_out(each))


def resize(entries: Sequence[ModelT], size: Mapping[str, int]) -> tuple[ModelT, ...]:
    """Return entries with as many of the named ones as `size` says."""
    return tuple(_resize(each, size) for each in entries)


def repeat_names(entries: Iterable[SeedModel]) -> Iterator[str]:
    """Yield the names under which entries can be resized."""
    for each in entries:
        repeat = each.repeat if isinstance(each, RepeatedModel) else None
        if isinstance(repeat, SeedRepeat) and repeat.name is not None:
            yield repeat.name
        yield from repeat_names(_comments_of(each))


def _comments_of(entry: SeedModel) -> tuple[SeedModel, ...]:
    return getattr(entry, "comments", ())


def _count(entries: Iterable[SeedModel]) -> int:
    return sum(
        (each.times if isinstance(each, RepeatedModel) else 1) * (1 + _count(_comments_of(each))) for each in entries
    )


def _resize(entry: ModelT, size: Mapping[str, int]) -> ModelT:
    update: dict[str, object] = {}
    repeat = entry.repeat if isinstance(entry, RepeatedModel) else None
    if isinstance(repeat, SeedRepeat) and repeat.name is not None and repeat.name in size:
        update["repeat"] = repeat.model_copy(update={"times": size[repeat.name]})
    if comments := _comments_of(entry):
        update["comments"] = resize(comments, size)
    return entry.model_copy(update=update) if update else entry


def _write_out(entry: ModelT) -> Iterable[ModelT]:
    comments = _comments_of(entry)
    if any(isinstance(each, RepeatedModel) and each.repeat is not None for each in comments):
        entry = entry.model_copy(update={"comments": tuple(result for each in comments for result in _write_out(each))})
    if not isinstance(entry, RepeatedModel) or entry.repeat is None:
        return (entry,)
    step_s = entry.repeat.every_s if isinstance(entry.repeat, SeedRepeat) else 0
    return [_number(entry, index, step_s) for index in range(entry.times)]


def _number(entry: ModelT, index: int, step_s: int) -> ModelT:
    """Return one of many entries: with its number in its texts, and its times moved on."""
    update: dict[str, Any] = {}
    for name in entry.model_fields_set:
        value = getattr(entry, name)
        if name == "repeat":
            update[name] = None
        elif name == "number" and value is not None:
            update[name] = value + index
        elif name in _TIMES and value is not None:
            update[name] = _later(value, index * step_s)
        elif isinstance(value, str | tuple):
            update[name] = _number_within(cast("object", value), index, step_s)
    return entry.model_copy(update=update)


def _number_within(value: object, index: int, step_s: int) -> object:
    match value:
        case str():
            return fill_text(value, {_COUNTER: index + 1}.__getitem__)
        case tuple():
            return tuple(_number_within(each, index, step_s) for each in cast("tuple[object, ...]", value))
        case SeedModel():
            return _number(value, index, step_s)
        case _:
            return value


def _later(moment: str, seconds: int) -> str:
    if not seconds:
        return moment
    try:
        then = datetime.strptime(moment, _SPELLING).replace(tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        then = datetime.max
    if then.year > _LAST_YEAR:
        raise SeedError(f"the last of them would be after the year {_LAST_YEAR}; make every_s smaller")
    return then.strftime(_SPELLING)
