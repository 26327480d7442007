"""The table of questions and changes that tool sets are measured with, and the world that they are about."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import Field, JsonValue, model_validator

from ghx_bench._base.errors import InputError
from ghx_bench._base.templates import fill
from ghx_bench.documents import RefusedError, read_document, validate_document
from ghx_bench.documents.section import AtLeastOne, Name, Section, Text
from ghx_bench.twin.nodes import node_id
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.state.records import CheckRun, ReviewComment, Thread
from ghx_bench.twin.world import World

_OWNER, _NAME = "saltmarsh", "tidewatch"
BUILT_IN = Path(__file__).with_name("questions.yaml")

QuestionKind = Literal["read", "change", "error"]


class NoCall(Section):
    """Says why a mode has no call for a question."""

    none: Text


class ToolCall(Section):
    """A call of a tool of an MCP server."""

    tool: Text
    arguments: dict[str, JsonValue] = Field(default={})
    server: Text | None = None
    """The server that has the tool, where a mode has several."""


Step = Text | ToolCall
"""A command of the shell, or a call of an MCP tool."""

Calls = Step | NoCall | Annotated[tuple[Step, ...], Field(min_length=1)]


class Items(Section):
    """The things that a list is about: how they are found in an answer, and how many there are in the world."""

    pattern: Text
    total: AtLeastOne


class Question(Section):
    """Something to ask for or to change, and the call that each mode offers for it."""

    id: Name
    asks: Text | None = None
    kind: QuestionKind = "read"
    items: Items | None = None
    races: tuple[Text, ...] = ()
    """Modes whose programs ask several things at once and drop some: how many requests arrive differs each time."""
    calls: dict[Text, Calls] = Field(default={})

    def steps(self, mode: str, values: Mapping[str, JsonValue]) -> tuple[str | ToolCall, ...]:
        """Return the calls of a mode, filled with what is in the world; none where the mode has no such call."""
        found = self.calls.get(mode)
        if found is None or isinstance(found, NoCall):
            return ()
        steps = found if isinstance(found, tuple) else (found,)
        return tuple(_filled(each, values) for each in steps)

    def reason(self, mode: str) -> str:
        """Return why a mode has no call for it."""
        found = self.calls.get(mode)
        return found.none if isinstance(found, NoCall) else "the table has no call of this mode"


class QuestionTable(Section):
    """A file of questions; one of a user's own adds calls to the questions that come with the bench, or questions."""

    version: Literal[1]
    world: Name | None = None
    agent: Name | None = None
    questions: tuple[Question, ...] = ()

    @model_validator(mode="after")
    def _has_distinct_ids(self) -> Self:
        seen: set[str] = set()
        for index, each in enumerate(self.questions):
            if each.id in seen:
                raise RefusedError(f"{each.id!r} is given twice", at=("questions", index, "id"))
            seen.add(each.id)
        return self

    def column(self, names: Iterable[str]) -> str | None:
        """Return the first of these modes that any question has a call of."""
        known = {mode for each in self.questions for mode in each.calls}
        return next((name for name in names if name in known), None)


@cache
def built_in_table() -> QuestionTable:
    """Return the questions that come with the bench."""
    return load_questions(BUILT_IN)


def load_questions(path: Path) -> QuestionTable:
    """Read a file of questions; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path), QuestionTable)


def with_own_questions(table: QuestionTable, files: Sequence[Path]) -> QuestionTable:
    """Return a table with what the files of a user add to it: calls of their modes, and questions."""
    questions = {each.id: each for each in table.questions}
    for path in files:
        own = load_questions(path)
        if own.world is not None or own.agent is not None:
            raise InputError(f"{path}: `world` and `agent` are those of the bench's own table; leave them out")
        for each in own.questions:
            known = questions.get(each.id)
            if known is None and each.asks is None:
                raise InputError(f"{path}: the question {each.id!r} is new; say in `asks` what is asked for")
            questions[each.id] = each if known is None else _joined(known, each)
    return table.model_copy(update={"questions": tuple(questions.values())})


def _joined(known: Question, own: Question) -> Question:
    return known.model_copy(update={"calls": {**known.calls, **own.calls}})


def _filled(step: str | ToolCall, values: Mapping[str, JsonValue]) -> str | ToolCall:
    if isinstance(step, str):
        return str(fill(step, values.__getitem__))
    arguments = cast("dict[str, JsonValue]", fill(step.arguments, values.__getitem__))
    return step.model_copy(update={"arguments": arguments})


def values_of(world: World) -> dict[str, JsonValue]:
    """Return what the placeholders of calls stand for in the fixed world."""
    repository = lookup.repository(world, None, _OWNER, _NAME)
    failed = next(each for each in world.database.all(CheckRun) if each.conclusion == "failure")
    thread = world.database.all(Thread)[0]
    return {
        "owner": _OWNER,
        "name": _NAME,
        "repo": f"{_OWNER}/{_NAME}",
        "sha": world.git(repository).refs("refs/heads/")["refs/heads/round-levels"],
        "job": failed.id,
        "thread": node_id(world.database, thread),
        "comment": world.database.all(ReviewComment, thread_id=thread.id)[0].id,
    }


def arguments_of(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return what there is in the fixed world for arguments that are made from schemas."""
    return {
        "owner": _OWNER,
        "repo": _NAME,
        "full_name": f"{_OWNER}/{_NAME}",
        "issue": 1,
        "pull": 202,
        "path": "src/tidewatch/levels.py",
        "branch": "main",
        "sha": values["sha"],
        "tag": "v1.3.0",
        "run": 301,
        "job": values["job"],
        "workflow": "ci.yml",
        "login": "noor",
        "query": f"overflow repo:{_OWNER}/{_NAME}",
        "label": "bug",
        "milestone": 1,
        "thread": values["thread"],
    }
