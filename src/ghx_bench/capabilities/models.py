"""What the inputs and outputs of all domains have in common."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from ghx_bench._base.wire import WireModel
from ghx_bench.capabilities.errors import UnexpectedAnswerError


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("expected an integer, got a boolean")  # noqa: TRY004 - pydantic wants ValueError
    return value


def _no_slash(value: str) -> str:
    if "/" in value:
        raise ValueError("owner and name of a repository are two inputs, and neither has a slash in it")
    return value


def _nodes(value: object, field: str) -> object:
    """Take one field of each node of a connection; other values are left for the model to judge."""
    if not isinstance(value, dict) or "nodes" not in value:
        return cast("object", value)
    nodes = cast("list[Mapping[str, object] | None]", value["nodes"] or [])
    return tuple(node[field] for node in nodes if node is not None)


def _login(value: object) -> object:
    return cast("Mapping[str, object]", value).get("login") if isinstance(value, dict) else value


def _name(value: object) -> object:
    return cast("Mapping[str, object]", value).get("name") if isinstance(value, dict) else value


def _title(value: object) -> object:
    return cast("Mapping[str, object]", value).get("title") if isinstance(value, dict) else value


def lower_case(value: object) -> object:
    """Lower the case of a string, for words that people write either way; a validator."""
    return value.lower() if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1)]
"""A string that says something."""

Positive = Annotated[int, Field(ge=1), BeforeValidator(_no_boolean)]
"""A number as issues have them; digits in a string will do."""

Count = Annotated[int, Field(ge=0), BeforeValidator(_no_boolean)]
"""How many."""

Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: _nodes(value, "name"))]
"""Names, such as those of labels; also read from a GraphQL connection whose nodes have a `name`."""

Logins = Annotated[tuple[str, ...], BeforeValidator(lambda value: _nodes(value, "login"))]
"""Logins; also read from a GraphQL connection whose nodes have a `login`."""

Login = Annotated[str | None, BeforeValidator(_login)]
"""Somebody's login, `None` if the account is gone; also read from a GraphQL actor."""


_Half = Annotated[Text, AfterValidator(_no_slash)]

RefName = Annotated[str | None, BeforeValidator(_name)]
"""The name of a branch, `None` if there is none; also read from a GraphQL ref."""

MilestoneTitle = Annotated[str | None, BeforeValidator(_title)]
"""The title of a milestone, `None` if there is none; also read from a GraphQL milestone."""


class InputModel(WireModel):
    """What a capability takes: camelCase or snake_case, nothing else besides."""

    model_config: ClassVar[ConfigDict] = ConfigDict(defer_build=True, str_strip_whitespace=False)

    def variables(self) -> dict[str, Any]:
        """Return the input as GraphQL variables, `null` where it was left out and has no default."""
        return self.model_dump(mode="json", exclude_unset=False)


class RepositoryInput(InputModel):
    """Which repository."""

    owner: Annotated[_Half, Field(description="Owner of the repository: a user or an organization.")]
    name: Annotated[_Half, Field(description="Name of the repository, without its owner.")]


class IssueInput(RepositoryInput):
    """Which issue."""

    issue_number: Annotated[Positive, Field(description="Number of the issue.")]


class SubjectInput(IssueInput):
    """Which issue or pull request: for what both have, GitHub takes the number of either."""

    issue_number: Annotated[Positive, Field(description="Number of the issue or pull request.")]


class PullInput(RepositoryInput):
    """Which pull request."""

    pr_number: Annotated[Positive, Field(description="Number of the pull request.")]


class Paging(InputModel):
    """Which page of a list; mixed into inputs, last."""

    first: Annotated[int, Field(ge=1, le=100, description="How many items at most."), BeforeValidator(_no_boolean)] = 30
    after: Annotated[str | None, Field(description="`endCursor` of the page before.")] = None


class RepositoryPageInput(Paging, RepositoryInput):
    """Which page of something that a repository has."""


class OutputModel(WireModel):
    """What a capability gives, made from GitHub's answer; every key of it is known."""

    model_config: ClassVar[ConfigDict] = ConfigDict(defer_build=True)


class PageInfo(OutputModel):
    """Whether a list goes on, and from where."""

    has_next_page: bool
    end_cursor: str | None


EMPTY_PAGE = MappingProxyType({"items": (), "pageInfo": {"hasNextPage": False, "endCursor": None}})
"""A list without anything in it."""


def found(answer: object, *path: str) -> Any:
    """Return what is at `path` in GitHub's answer; `None` where the path ends early."""
    for step in path:
        answer = cast("Mapping[str, object]", answer).get(step) if isinstance(answer, dict) else None
    return answer


def part(answer: object, *path: str) -> Any:
    """Return what is at `path` in GitHub's answer.

    GitHub explains a missing thing by an error; where it does not, the answer is not what it documents.
    """
    value = found(answer, *path)
    if value is None:
        raise UnexpectedAnswerError(f"GitHub's answer has no {'.'.join(path)}")
    return value


def page(connection: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a GraphQL connection (`nodes`, `pageInfo`) into what a list capability gives (`items`, `pageInfo`)."""
    return {
        "items": [node for node in part(connection, "nodes") if node is not None],
        "pageInfo": part(connection, "pageInfo"),
    }
