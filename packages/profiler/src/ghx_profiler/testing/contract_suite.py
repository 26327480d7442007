"""What all contract suites share: async rules as plain test methods, bounded in time."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import NoReturn, TypeVar, cast
from unittest import SkipTest

import anyio

T = TypeVar("T")


class ContractSuite:
    """The base of every suite; subclass one of those, not this.

    The test methods are plain functions, so any test runner takes them: with pytest name the subclass `Test...`, with
    unittest let it also derive from `unittest.TestCase`. A rule that needs a hook which was not written is skipped, and
    the reason names the hook.
    """

    backend: str = "asyncio"
    """The anyio backend that the rules are run on."""

    patience_s: float = 10.0
    """How long anything may take that must happen soon."""

    def run_rule(self, rule: Callable[[], Awaitable[T]]) -> T:
        """Run an async rule; what broke inside a task group is raised as it is."""
        try:
            return anyio.run(rule, backend=self.backend)
        except BaseExceptionGroup as group:
            raise _first_of(group) from None

    @contextmanager
    def soon(self, rule: str) -> Generator[None]:
        """Hold that what is in the block works, and takes no longer than `patience_s`."""
        with anyio.move_on_after(self.patience_s) as scope, holds(rule):
            yield
        is_late = scope.cancelled_caught or anyio.current_time() > scope.deadline
        assert not is_late, f"{rule}; it took longer than patience_s = {self.patience_s:g}"


class Probe(Exception):  # noqa: N818 - not an error of users
    """Raised inside a scope or a task to see whether it comes out again."""


@contextmanager
def holds(rule: str) -> Generator[None]:
    """Hold that what is in the block works: what it raises breaks the rule."""
    try:
        yield
    except Exception as error:
        first = _first_of(error)
        if isinstance(first, (AssertionError, SkipTest, MissingHookError)):
            raise first from None
        raise AssertionError(f"{rule}; it raised {first!r}") from error


class MissingHookError(NotImplementedError):
    """A suite cannot run without this hook."""

    def __init__(self, hook: str) -> None:
        super().__init__(f"write {hook}: the suite does not know what to test without it")


def skip_without(hook: str) -> NoReturn:
    """Skip a rule that needs a hook which was not written."""
    raise SkipTest(f"write {hook} to have this rule checked")


def _first_of(error: BaseException) -> BaseException:
    if not isinstance(error, BaseExceptionGroup):
        return error
    return _first_of(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
