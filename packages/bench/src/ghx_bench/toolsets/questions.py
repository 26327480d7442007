"""The table of questions and changes that tool sets are measured with, and the world that they are about."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, Field, JsonValue, model_validator

from ghx_base.documents import RefusedError, read_document, validate_document
from ghx_base.documents.section import AtLeastOne, Name, Section, Text
from ghx_base.errors import InputError
from ghx_base.problems import did_you_mean
from ghx_base.texts.templates import fill, names_in, strings_in, unknown_name
from ghx_twin.nodes import node_id
from ghx_twin.queries import lookup
from ghx_twin.state.records import CheckRun, ReviewComment, Thread
from ghx_twin.world import World

_OWNER, _NAME = "saltmarsh", "tidewatch"
BUILT_IN = Path(__file__).with_name("questions.yaml")

PLACEHOLDERS = ("owner", "name", "repo", "sha", "main_sha", "job", "thread", "comment")
"""What calls may name of the world."""

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


def _check_regex(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise RefusedError(f"{value!r} is no regular expression: {error}") from None
    return value


class Items(Section):
    """The things that a list is about: how they are found in an answer, and how many there are in the world."""

    pattern: Annotated[Text, AfterValidator(_check_regex)]
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

    def owner(self, names: Iterable[str]) -> str | None:
        """Return the first of these modes that the question has a call of, or says that it has none."""
        return next((name for name in names if name in self.calls), None)

    def steps(self, mode: str, values: Mapping[str, JsonValue]) -> tuple[str | ToolCall, ...]:
        """Return the calls of a mode, filled with what is in the world; none where the mode has no such call."""
        calls = self.calls.get(mode)
        if calls is None or isinstance(calls, NoCall):
            return ()
        steps = calls if isinstance(calls, tuple) else (calls,)
        return tuple(_filled(each, values) for each in steps)

    def reason(self, mode: str) -> str:
        """Return why a mode has no call for it."""
        calls = self.calls.get(mode)
        return calls.none if isinstance(calls, NoCall) else "the table has no call of this mode"


class QuestionTable(Section):
    """A file of questions; one of a user's own adds calls to the questions that come with the bench, or questions."""

    version: Literal[1]
    world: Name | None = None
    agent: Name | None = None
    questions: tuple[Question, ...] = ()

    @model_validator(mode="after")
    def _has_distinct_ids(self) -> Self:
        ids: set[str] = set()
        for index, each in enumerate(self.questions):
            if each.id in ids:
                raise RefusedError(f"{each.id!r} is given twice", at=("questions", index, "id"))
            ids.add(each.id)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question as one mode is asked it."""

    question: Question
    owner: str | None
    """The mode whose call it is; `None` where the table has none."""
    renamed: Mapping[str, str]
    """What tools are called here, by the names that the call has for them."""
    lacking: str | None = None
    """A tool that the call names and the mode does not offer, so that it is not made."""

    @property
    def reason(self) -> str:
        """Why there is no call."""
        return f"it offers no tool {self.lacking}" if self.lacking else self.question.reason(self.owner or "")

    def steps(self, values: Mapping[str, JsonValue]) -> tuple[str | ToolCall, ...]:
        """Return the calls, filled with what is in the world; none where there is no such call."""
        if self.lacking:
            return ()
        steps = self.question.steps(self.owner or "", values)
        return tuple(each if isinstance(each, str) else self._rename(each) for each in steps)

    def _rename(self, call: ToolCall) -> ToolCall:
        return call.model_copy(update={"tool": self.renamed.get(call.tool, call.tool)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Whose calls of the table a mode is asked with."""

    own: tuple[str, ...]
    """Its own name, and those of what it extends: the first that a question has a call of counts."""
    other: tuple[str, ...] = ()
    """The same of another version of the mode: such a call counts where it names what this one has."""
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """What tools of the other version are called here."""

    def choose(
        self, questions: Sequence[Question], programs: Collection[str], tools: Collection[str]
    ) -> tuple[AskedQuestion, ...]:
        """Return the questions with the calls to be made, by a mode with these programs and MCP tools.

        Nothing is asked where there is no call for any of them.
        """
        renamed = {old: new for old, new in self.renamed.items() if old not in tools}
        chosen: list[AskedQuestion] = []
        for question in questions:
            question_asked = AskedQuestion(question=question, owner=question.owner(self.own), renamed=renamed)
            # A configuration of a server may offer fewer tools than the one that the call was written for.
            tool_names = (each.tool for each in question_asked.steps({}) if isinstance(each, ToolCall))
            question_asked = replace(
                question_asked, lacking=next((each for each in tool_names if each not in tools), None)
            )
            if question_asked.owner is None:
                borrowed = replace(question_asked, owner=question.owner(self.other))
                steps = borrowed.steps({})
                has_all = all(
                    each.partition(" ")[0] in programs if isinstance(each, str) else each.tool in tools
                    for each in steps
                )
                question_asked = borrowed if steps and has_all else question_asked
            chosen.append(question_asked)
        return tuple(chosen) if any(each.owner is not None for each in chosen) else ()


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
            built_in = questions.get(each.id)
            if built_in is None and each.asks is None:
                raise InputError(f"{path}: the question {each.id!r} is new; say in `asks` what is asked for")
            # Were these taken, or left out in silence, one question would not be the same for all modes.
            if built_in is not None and (more := sorted(each.model_fields_set - {"id", "calls"})):
                raise InputError(
                    f"{path}: the question {each.id!r} is there already, and only calls can be added to it; leave out "
                    f"{', '.join(f'`{name}`' for name in more)}, or give the question another id"
                )
            for mode in each.calls:
                _require_known_names(path, each, mode)
            questions[each.id] = each if built_in is None else _joined(built_in, each)
    return table.model_copy(update={"questions": tuple(questions.values())})


def require_known_modes(table: QuestionTable, names: Collection[str]) -> None:
    """Refuse calls of a mode that there is not, which nobody would make and nobody would miss."""
    for question in table.questions:
        for mode in question.calls:
            if mode not in names and mode.partition("@")[0] not in names:
                hint = did_you_mean(mode, names)
                raise InputError(
                    f"--questions: a call for {question.id!r} is of the mode {mode!r}, which is none; {hint}"
                )


def _require_known_names(path: Path, question: Question, mode: str) -> None:
    steps = question.steps(mode, {})
    texts = [text for step in steps for _, text in strings_in(step if isinstance(step, str) else step.arguments)]
    for name in (name for text in texts for name in names_in(text)):
        if name not in PLACEHOLDERS:
            reason, suggestion = unknown_name(name, PLACEHOLDERS)
            raise InputError(f"{path}: the call of {mode!r} for {question.id!r}: {reason}; {suggestion}")


def _joined(built_in: Question, own: Question) -> Question:
    return built_in.model_copy(update={"calls": {**built_in.calls, **own.calls}})


def _filled(step: str | ToolCall, values: Mapping[str, JsonValue]) -> str | ToolCall:
    if isinstance(step, str):
        return str(fill(step, values.__getitem__))
    arguments = cast("dict[str, JsonValue]", fill(step.arguments, values.__getitem__))
    return step.model_copy(update={"arguments": arguments})


def values_of(world: World) -> dict[str, JsonValue]:
    """Return what the placeholders of calls stand for in the fixed world."""
    repository = lookup.repository(world, None, _OWNER, _NAME)
    heads = world.git(repository).refs("refs/heads/")
    failed = next(each for each in world.database.all(CheckRun) if each.conclusion == "failure")
    thread = world.database.all(Thread)[0]
    return {
        "owner": _OWNER,
        "name": _NAME,
        "repo": f"{_OWNER}/{_NAME}",
        "sha": heads["refs/heads/round-levels"],
        "main_sha": heads["refs/heads/main"],
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
