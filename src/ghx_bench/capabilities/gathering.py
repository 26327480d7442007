"""Steps that run at the same time and ask GitHub together: what all of them wait for goes out as one document."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self, cast

import anyio

from ghx_bench.capabilities.answers import Answer, GraphQLAnswer
from ghx_bench.capabilities.client import JSON, GitHubClient
from ghx_bench.capabilities.documents import Document, Kind, NotMergeableError, merged, share_of
from ghx_bench.capabilities.errors import CapabilityError, ErrorCode, GitHubError
from ghx_bench.capabilities.transports.exchange import Request, Response

MOST_TOGETHER = 25
"""How many documents go out as one at most; GitHub gives up on what takes it longer than ten seconds."""

_MOST_AT_ONCE = 8


@dataclass(slots=True, kw_only=True)
class _Question:
    """A document that a step waits for an answer to."""

    step: int
    document: Document
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: GraphQLAnswer | None = None
    error: CapabilityError | None = None


class Gathering:
    """Knows which steps are at work, and asks GitHub when all of them wait.

    `active` counts the steps that may still come up with a question. Questions wait until there is none, and go out
    together: first those that only read, then, in the order of their steps, those that change something. Used as a
    scope, which ends when all steps are done.
    """

    def __init__(self, client: GitHubClient) -> None:
        self.client = client
        self.requests = 0
        self._tasks = anyio.create_task_group()
        self._active = 0
        self._questions: list[_Question] = []
        self._lines = anyio.CapacityLimiter(_MOST_AT_ONCE)

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._tasks.__aexit__(kind, error, traceback)

    def start(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run a step beside the others; the others' questions wait for its own."""
        self._active += 1

        async def run() -> None:
            await step()
            self._rest()

        self._tasks.start_soon(run)

    def client_of(self, step: int) -> GitHubClient:
        """Return the client through which a step asks."""
        return _StepClient(self, step)

    async def ask(self, step: int, document: Document) -> GraphQLAnswer:
        """Wait for the answer to a document, together with other steps."""
        question = _Question(step=step, document=document)
        self._questions.append(question)
        self._rest()
        await question.answered.wait()  # whoever answers counts this step as active again
        if question.error is not None:
            raise question.error
        return cast("GraphQLAnswer", question.answer)

    async def alone(self, send: Callable[[], Awaitable[Answer]]) -> Answer:
        """Wait for a request that cannot be put together with others; some of these are under way at a time."""
        self.requests += 1
        self._rest()
        try:
            async with self._lines:
                return await send()
        finally:
            self._active += 1

    def _rest(self) -> None:
        """Count one step less as active; if it was the last one, ask what has been waiting."""
        self._active -= 1
        if self._active or not self._questions:
            return
        kinds = {question.document.kind for question in self._questions}
        kind: Kind = "query" if "query" in kinds else "mutation"
        chosen = sorted((each for each in self._questions if each.document.kind == kind), key=lambda each: each.step)
        self._questions = [each for each in self._questions if each.document.kind != kind] + chosen[MOST_TOGETHER:]
        self._tasks.start_soon(self._answer, chosen[:MOST_TOGETHER])

    async def _answer(self, questions: Sequence[_Question]) -> None:
        try:
            answers = await self._together([question.document for question in questions])
        except CapabilityError as error:
            answers = [error] * len(questions)
        self._active += len(questions)
        for question, answer in zip(questions, answers, strict=True):
            if isinstance(answer, CapabilityError):
                question.error = answer
            else:
                question.answer = answer
            question.answered.set()

    async def _together(self, documents: Sequence[Document]) -> Sequence[GraphQLAnswer | CapabilityError]:
        if len(documents) == 1:
            return [await self._send(documents[0])]
        try:
            whole = merged(documents)
        except NotMergeableError:
            return await self._each(documents)
        try:
            answer = await self._send(whole)
        except GitHubError as error:
            if whole.kind == "query" and error.error_code == ErrorCode.SERVER and error.status is None:
                return await self._each(documents)  # it took GitHub too long: together they may be too much
            raise
        if _is_to_be_split(whole.kind, answer):
            return await self._each(documents)
        return [share_of(index, answer) for index in range(len(documents))]

    async def _each(self, documents: Sequence[Document]) -> list[GraphQLAnswer | CapabilityError]:
        """Send documents one by one, so that a bad one spoils no other."""
        answers: list[GraphQLAnswer | CapabilityError] = []
        for document in documents:
            try:
                answers.append(await self._send(document))
            except CapabilityError as error:
                answers.append(error)
        return answers

    async def _send(self, document: Document) -> GraphQLAnswer:
        self.requests += 1
        return await self.client.graphql_answer(document.text, document.variables)


def _is_to_be_split(kind: Kind, answer: GraphQLAnswer) -> bool:
    """Tell whether documents that went out together have to be sent one by one after all.

    Something was wrong with one of them, and GitHub gave none an answer. What changes something is only sent again if
    it was not begun: that is so for complaints about the document itself, which have `extensions` and no `path`.
    """
    if kind == "query":
        return answer.data is None or any(not error.get("path") for error in answer.errors)
    return (
        answer.data is None
        and bool(answer.errors)  # without a reason, nobody knows what was done
        and all(
            isinstance(error.get("extensions"), dict) and not error.get("path") and not error.get("type")
            for error in answer.errors
        )
    )


class _StepClient(GitHubClient):
    """What a step takes for the client: GraphQL goes through the gathering, everything else straight on."""

    def __init__(self, gathering: Gathering, step: int) -> None:
        client = gathering.client
        super().__init__(
            client.base_url, None, graphql_url=client.graphql_url, transport=_NoTransport(), clock=client.clock
        )
        self._gathering, self._step = gathering, step

    @property
    def has_token(self) -> bool:
        """Whether the client says who it is."""
        return self._gathering.client.has_token

    async def graphql_answer(self, document: str, variables: Mapping[str, Any] | None = None) -> GraphQLAnswer:
        """Ask together with the other steps."""
        return await self._gathering.ask(self._step, Document(text=document, variables=variables or {}))

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        accept: str = JSON,
    ) -> Answer:
        ask = self._gathering.client._ask  # noqa: SLF001 - of its own kind
        return await self._gathering.alone(partial(ask, method, path, params=params, body=body, accept=accept))


class _NoTransport:
    """Nothing leaves a step but through its gathering."""

    async def send(self, request: Request) -> Response:
        """Never called."""
        raise AssertionError(request.url)

    async def aclose(self) -> None:
        """Close nothing."""
