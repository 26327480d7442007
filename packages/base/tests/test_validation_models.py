import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    ValidationInfo,
    field_validator,
)

from ghx_base.documents import DocumentError, RefusedError, parse_document, validate_document
from ghx_base.wire import Count


def problems(value: object, model: type[BaseModel]) -> list[str]:
    document = parse_document(json.dumps(value).encode(), path=Path("a.json"))
    with pytest.raises(DocumentError) as caught:
        validate_document(document, model)
    return str(caught.value).splitlines()


class Limits(BaseModel):
    """Snake_case on the wire."""

    model_config = ConfigDict(extra="forbid")

    max_concurrency: Count = 1
    log_level: str = ""


def test_models_in_snake_case_are_told_in_snake_case() -> None:
    assert problems({"maxConcurrency": 2}, Limits) == [
        "a.json:1:2: /maxConcurrency: unknown key 'maxConcurrency'; did you mean 'max_concurrency'?"
    ]
    assert problems({"max_concurrency": -1}, Limits) == ["a.json:1:21: /max_concurrency: must be at least 0, not -1"]


class Sets(RootModel[dict[str, tuple[str, ...]]]):
    """A document that is all keys of its author's own."""


def test_models_of_a_whole_document_are_pointed_into_as_well() -> None:
    assert problems({"default": ["a", 7]}, Sets) == [
        "a.json:1:19: /default/1: expected a string, got the number 7; put quotes around it"
    ]


def _refuse_all(_: object) -> Any:
    raise ValueError("not today")


class Unschemable(BaseModel):
    """A model that has no JSON schema: the value itself must lead the way."""

    model_config = ConfigDict(extra="forbid")

    callback: Callable[[], None] | None = None
    limits: Limits = Limits()
    refused: Annotated[int, BeforeValidator(_refuse_all)] = 0


def test_a_model_without_a_schema_is_explained_nevertheless() -> None:
    assert problems({"limits": {"max_concurrency": "x"}, "refused": 1, "more": 2}, Unschemable) == [
        "a.json:1:32: /limits/max_concurrency: expected an integer, got the string 'x'",
        "a.json:1:49: /refused: not today",
        "a.json:1:52: /more: unknown key 'more'",
    ]


def _expand(value: object) -> object:
    return {"max_concurrency": 1, "bogus": value} if isinstance(value, str) else value


class Expanding(BaseModel):
    """A model that makes an object of a string before it looks at it."""

    limits: Annotated[Limits, BeforeValidator(_expand)]
    few: Annotated[frozenset[str], Field(min_length=2)] = frozenset({"a", "b"})


def test_what_a_validator_made_of_a_value_is_told_at_the_value() -> None:
    assert problems({"limits": "x"}, Expanding) == [
        "a.json:1:2: /limits/bogus: unknown key 'bogus'; known keys: 'max_concurrency', 'log_level'"
    ]


def test_a_list_that_is_too_short_without_its_duplicates_is_refused() -> None:
    assert problems({"limits": {}, "few": ["a", "a"]}, Expanding) == [
        "a.json:1:23: /few: must have at least 2 items, not 1"
    ]


class Sealed(BaseModel):
    token: str = ""

    @field_validator("token")
    @classmethod
    def _is_none(cls, value: str) -> str:
        raise RefusedError("no tokens in files", at_key=True)


def test_a_validator_can_keep_a_value_to_itself() -> None:
    with pytest.raises(DocumentError) as caught:
        validate_document(parse_document(b'{"token": "secret"}', path=Path("a.json")), Sealed)

    assert "secret" not in json.dumps([each.to_dict() for each in caught.value.problems])
    assert str(caught.value) == "a.json:1:2: /token: no tokens in files"


class Known(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str, info: ValidationInfo) -> str:
        if name not in (info.context or ()):
            raise RefusedError(f"unknown name {name!r}")
        return name


def test_validators_see_the_context_of_the_caller() -> None:
    document = parse_document(b'{"name": "x"}', path=Path("a.json"))

    assert validate_document(document, Known, context={"x"}).name == "x"
    with pytest.raises(DocumentError, match="unknown name 'x'"):
        validate_document(document, Known, context={"y"})
