"""Value types and the base model that every record of a seed uses."""

from datetime import UTC, datetime
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StringConstraints

from ghx_base.documents import RefusedError
from ghx_base.problems import describe_value
from ghx_twin.faults import Fault

_LOGIN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}(?:\[bot\])?"
_FIRST_YEAR, _LAST_YEAR = 1970, 2999


def _is_moment(text: str) -> str:
    try:
        moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError("there is no such day or time") from None
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"the year must be between {_FIRST_YEAR} and {_LAST_YEAR}")
    return text


Login = Annotated[str, StringConstraints(pattern=rf"^{_LOGIN}$")]
RepositoryName = Annotated[str, StringConstraints(pattern=rf"^{_LOGIN}/[A-Za-z0-9._-]{{1,100}}$")]
IssueName = Annotated[str, StringConstraints(pattern=rf"^(?:{_LOGIN}/[A-Za-z0-9._-]{{1,100}})?#[1-9][0-9]{{0,8}}$")]
Moment = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"), AfterValidator(_is_moment)]
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Seconds = Annotated[StrictInt, Field(ge=0, le=24 * 60 * 60)]
Number = Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
Role = Literal["read", "triage", "write", "maintain", "admin"]
Emoji = Literal["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"]
Permission = Literal["read", "write", "admin"]
MergeMethod = Literal["merge", "squash", "rebase"]

_NUMBERS = ("skip", "times", "probability", "seed", "latency_ms", "status", "wait_s", "stale_writes", "stale_s")


def _refuse_words_for_numbers(value: object) -> object:
    # Pydantic reads a plain dataclass leniently: "2" and true would pass for numbers, as nowhere else in a seed.
    for key, given in cast("dict[object, object]", value).items() if isinstance(value, dict) else ():
        if key in _NUMBERS and isinstance(given, str | bool):
            raise RefusedError(f"expected a number, got {describe_value(given)}", at=(cast("str", key),))
    return cast("object", value)


SeedFault = Annotated[Fault, BeforeValidator(_refuse_words_for_numbers)]


class SeedModel(BaseModel):
    """What every part of a seed has in common: unknown keys are mistakes."""

    # Built when it is first used: most parts are only ever read within a whole seed, which takes half the time then.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class SeedFile(SeedModel):
    """A file that plain text does not describe."""

    content: str
    encoding: Literal["utf-8", "base64"] = Field(
        default="utf-8", description="How content is written; base64 for bytes."
    )
    mode: Literal["100644", "100755", "120000"] = Field(
        default="100644", description="git's mode: a file, an executable one, or a symbolic link to content."
    )


Files = dict[str, str | SeedFile | None]
