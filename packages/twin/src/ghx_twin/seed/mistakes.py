"""Errors of a seed, each with its place in the file."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar

from ghx_base.errors import InputError
from ghx_base.problems import one_line
from ghx_twin.git.errors import GitError
from ghx_twin.refusals import FieldError, InvalidRefusal, Refusal


class SeedError(InputError):
    """The seed asks for something that GitHub refuses; the message says where and why."""

    code: ClassVar[str] = "BAD_SEED"


@contextmanager
def error_place(place: str) -> Generator[None]:
    """Raise what is refused in the block as a `SeedError` that begins with `place`; blocks may be nested."""
    try:
        yield
    except SeedError as error:
        raise SeedError(f"{one_line(place)}: {error}") from error
    except (Refusal, GitError) as refusal:
        raise SeedError(one_line(f"{place}: {explain_refusal(refusal)}")) from refusal


def explain_refusal(refusal: Refusal | GitError) -> str:
    """Return the reasons of a refusal in one line."""
    reasons = refusal.errors if isinstance(refusal, InvalidRefusal) else ()
    return "; ".join(_reason(each) for each in reasons) or str(refusal)


def _reason(error: FieldError | str) -> str:
    if isinstance(error, str):
        return error
    if error.message:
        # A message of GitHub's may leave out what it is about, where the field next to it says so.
        about = (error.field or "").rpartition(".")[2]
        return f"{about.capitalize()} {error.message}" if error.message.startswith("could ") else error.message
    name = f"{error.field or error.resource}"
    value = "" if error.value is None else f" {error.value!r}"
    match error.code:
        case "already_exists":
            return f"{name}{value} is there already"
        case "missing" | "missing_field":
            return f"{name}{value} is missing"
        case _:
            return f"{name}{value} is not possible here"
