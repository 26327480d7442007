"""Base classes and field types of the inputs and outputs of all domains, and how to read responses into them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from ghx_base.wire import WireModel
from ghx_tools.capabilities.errors import UnexpectedResponseError


def _refuse_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("expected an integer, got a boolean")  # noqa: TRY004 - pydantic wants ValueError
    return value


def _refuse_path(value: str) -> str:
    if "/" in value:
        raise ValueError("owner and name of a repository are two inputs, and neither has a slash in it")
    if value in {".", ".."}:
        # In the path of a REST request these lead to another resource, and no escape keeps them from it.
        raise ValueError(f"{value!r} is the name of no owner and no repository")
    return value


def _pick_of_nodes(value: object, field: str) -> object:
    """Return one field of each node of a GraphQL connection; other values are left for the model to check."""
    if not isinstance(value, dict) or "nodes" not in value:
        return cast("object", value)
    nodes = cast("list[Mapping[str, object] | None]", value["nodes"] or [])
    return tuple(node[field] for node in nodes if node is not None)


def pick(field: str) -> BeforeValidator:
    """Return a validator that takes one field of a GraphQL object; other values are left for the model to check."""

    def pick_field(value: object) -> object:
        return cast("Mapping[str, object]", value).get(field) if isinstance(value, dict) else value

    return BeforeValidator(pick_field)


def lower_case(value: object) -> object:
    """Return a string in lower case, for words that people write either way; a validator."""
    return value.lower() if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1)]
"""A string that is not empty."""

Positive = Annotated[int, Field(ge=1), BeforeValidator(_refuse_boolean)]
"""A number as issues have them; also read from digits in a string."""

Count = Annotated[int, Field(ge=0), BeforeValidator(_refuse_boolean)]
"""How many."""

Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: _pick_of_nodes(value, "name"))]
"""Names, such as those of labels; also read from a GraphQL connection whose nodes have a `name`."""

Logins = Annotated[tuple[str, ...], BeforeValidator(lambda value: _pick_of_nodes(value, "login"))]
"""Logins; also read from a GraphQL connection whose nodes have a `login`."""

Login = Annotated[str | None, pick("login")]
"""A login, `None` if the account is gone; also read from a GraphQL actor."""

_Half = Annotated[Text, AfterValidator(_refuse_path)]

RefName = Annotated[str | None, pick("name")]
"""The name of a branch, `None` if there is none; also read from a GraphQL ref."""

MilestoneTitle = Annotated[str | None, pick("title")]
"""The title of a milestone, `None` if there is none; also read from a GraphQL milestone."""


class InputModel(WireModel):
    """The input of a capability: names in camelCase or snake_case, no unknown ones."""

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

    first: Annotated[
        int, Field(ge=1, le=100, description="How many items at most."), BeforeValidator(_refuse_boolean)
    ] = 30
    after: Annotated[str | None, Field(description="`endCursor` of the page before.")] = None


class RepositoryPageInput(Paging, RepositoryInput):
    """Which page of a list that a repository has."""


class OutputModel(WireModel):
    """The output of a capability, made from GitHub's response; every key of it is known."""

    model_config: ClassVar[ConfigDict] = ConfigDict(defer_build=True)


class PageInfo(OutputModel):
    """Whether a list goes on, and from where."""

    has_next_page: bool
    end_cursor: str | None


EMPTY_PAGE = MappingProxyType({"items": (), "pageInfo": {"hasNextPage": False, "endCursor": None}})
"""A list without anything in it."""


def get_value(answer: object, *path: str) -> Any:
    """Return the value at `path` in GitHub's response; `None` where the path ends early."""
    for step in path:
        answer = cast("Mapping[str, object]", answer).get(step) if isinstance(answer, dict) else None
    return answer


def require_value(answer: object, *path: str) -> Any:
    """Return the value at `path` in GitHub's response, or raise `UnexpectedResponseError`."""
    value = get_value(answer, *path)
    if value is None:
        # A missing object comes with a GraphQL error, which was raised before: without one, the shape is wrong.
        raise UnexpectedResponseError(f"GitHub's answer has no {'.'.join(path)}")
    return value


def to_page(connection: Mapping[str, Any]) -> dict[str, Any]:
    """Return a GraphQL connection (`nodes`, `pageInfo`) as the output of a list has it (`items`, `pageInfo`)."""
    return {
        "items": [node for node in require_value(connection, "nodes") if node is not None],
        "pageInfo": require_value(connection, "pageInfo"),
    }
