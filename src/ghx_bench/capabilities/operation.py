"""A capability as its module holds it: the models of what it takes and gives, and the function between them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.envelope import Route
from ghx_bench.capabilities.models import InputModel, OutputModel

I = TypeVar("I", bound=InputModel)  # noqa: E741 - the letter of inputs
O = TypeVar("O", bound=OutputModel)  # noqa: E741 - the letter of outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[I, O]):
    """How a capability is carried out; `example` is an input that could be meant."""

    input: type[I]
    output: type[O]
    function: Callable[[GitHubClient, I], Awaitable[O]]
    route: Route
    example: Mapping[str, Any]
