"""Solutions: how a scenario is done with the tools of each mode, step by step; `<scenario id>.solution.yaml`."""

import os
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, Strict, StringConstraints, field_validator, model_validator

from ghx_base.documents import RefusedError, read_document, validate_document
from ghx_base.documents.section import Flag, ModeName, Name, Section, Text
from ghx_base.texts.templates import VARIABLE
from ghx_profiler.records.causes import Cause, MeasurementError

SUFFIX = ".solution.yaml"
"""What follows the scenario's id in the name of its solution file."""

VariableName = Annotated[str, Strict(), StringConstraints(pattern=rf"^{VARIABLE}$"), Field(examples=["threads"])]

ListPath = Annotated[
    str,
    Strict(),
    StringConstraints(pattern=rf"^{VARIABLE}(?:\.[A-Za-z0-9_-]+)*$", max_length=512),
    Field(examples=["threads.items"]),
]


class SolutionError(MeasurementError):
    """A step of a solution did not do what it should: the fault of the bench, and not of an agent."""

    code: ClassVar[str] = "SOLUTION_FAILED"
    cause: Cause = Cause.BENCH


class McpCall(Section):
    """One call of a tool of an MCP server."""

    tool: Text = Field(description="The tool, as its server names it.", examples=["pr_threads_list"])
    arguments: dict[str, JsonValue] = Field(default={}, description="Its arguments; {{names}} are replaced.")
    server: Name | None = Field(default=None, description="The server, where the mode has more than one.")
    save: VariableName | None = Field(default=None, description="The name under which the answer is kept.")


class Step(Section):
    """One step: a shell command, a call of an MCP tool, or steps for each item of a list."""

    shell: Text | None = Field(
        default=None,
        description="A shell command; {{names}} are replaced, and the shell reads values as they are.",
    )
    mcp: McpCall | None = Field(default=None, description="A call of an MCP tool.")
    for_each: ListPath | None = Field(default=None, description="The list to go through.")
    as_: VariableName = Field(default="item", alias="as", description="What the item is called in the steps.")
    do: tuple["Step", ...] | None = Field(default=None, min_length=1, description="The steps for each item.")
    save: VariableName | None = Field(default=None, description="The name under which the answer is kept.")
    expect_failure: Flag = Field(default=False, description="Whether the call is meant to fail.")

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        kinds = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            kinds_given = " and ".join(map(repr, kinds)) or "none of them"
            raise RefusedError(f"a step has one of 'shell', 'mcp' and 'for_each'; this has {kinds_given}")
        is_loop = self.for_each is not None
        if is_loop != (self.do is not None):
            raise RefusedError("'for_each' and 'do' belong together", suggestion="write both or neither")
        if is_loop and (self.save is not None or self.expect_failure):
            raise RefusedError("'save' and 'expect_failure' belong to the steps under 'do'")
        if self.mcp is not None and self.mcp.save is not None and self.save is not None:
            raise RefusedError("'save' is given twice", suggestion="write it once")
        return self

    @property
    def saved_as(self) -> str | None:
        """The name under which the answer is kept."""
        return self.save or (None if self.mcp is None else self.mcp.save)

    @property
    def summary(self) -> str:
        """The step in a few words, for messages."""
        if self.mcp is not None:
            return f"mcp {self.mcp.tool}"
        words = " ".join((self.shell or f"for each of {self.for_each}").split())
        return words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS]}…"


_KINDS = ("shell", "mcp", "for_each")
_LONGEST_WORDS = 80


def _as_list(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class Solution(Section):
    """How a scenario is done in one mode."""

    steps: tuple[Step, ...] = ()
    obey: tuple[Step, ...] = ()
    """The steps that the injected instruction asks for."""
    answer: str = "Done."

    @property
    def with_order(self) -> "Solution":
        """The same solution followed by the steps of the injected instruction, for a legitimate instruction."""
        return self.model_copy(update={"steps": (*self.steps, *self.obey), "obey": ()})

    def needs_servers(self) -> bool:
        """Return whether any step calls a tool of an MCP server."""
        return any(step.mcp is not None for step in _all_steps((*self.steps, *self.obey)))


class Trap(Section):
    """A wrong solution on purpose: a mistake by its name, and the checkpoint that must notice it."""

    name: Annotated[str, Strict(), StringConstraints(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=64)] = Field(
        description="What the mistake is called: lower-case words joined by hyphens.", examples=["wrong-repository"]
    )
    description: Text = Field(description="What somebody who falls into it does.")
    fails: Annotated[tuple[Text, ...], BeforeValidator(_as_list), Field(min_length=1)] = Field(
        description="The checkpoint that guards; a list where another fails of necessity. All others must pass.",
        examples=["pr-in-fork"],
    )
    modes: dict[ModeName, tuple[Step, ...]] = Field(min_length=1, description="The steps of the mistake, by mode.")
    answer: Text | None = Field(
        default=None, description="What is said in the end; the answer of the solution unless given."
    )


class SolutionFile(Section):
    """The solutions of one scenario, by mode, and the mistakes that its checkpoints must notice."""

    schema_url: str | None = Field(
        default=None, alias="$schema", exclude=True, description="The JSON Schema of this file, for editors."
    )
    version: Literal[1] = Field(description="The version of this format.", examples=[1])
    modes: dict[ModeName, tuple[Step, ...]] = Field(min_length=1, description="The steps, by mode.")
    answer: Text = Field(default="Done.", description="What is said in the end; {{names}} are replaced.")
    traps: tuple[Trap, ...] = Field(default=(), description="Wrong solutions, each of which must fail its checkpoint.")
    obey: dict[ModeName, tuple[Step, ...]] = Field(
        default={}, description="Where the scenario has a threat: the steps that do what its text says, by mode."
    )

    @field_validator("traps")
    @classmethod
    def _names_are_unique(cls, traps: tuple[Trap, ...]) -> tuple[Trap, ...]:
        names = [each.name for each in traps]
        for index, name in enumerate(names):
            if name in names[:index]:
                reason = f"trap {name!r} is also that of traps/{names.index(name)}"
                raise RefusedError(reason, at=(index, "name"), suggestion="give each trap a name of its own")
        return traps

    def solution_for(self, *modes: str) -> Solution | None:
        """Return how the scenario is done in the first of these modes that the file has."""
        steps = next((self.modes[mode] for mode in modes if mode in self.modes), None)
        obey = next((self.obey[mode] for mode in modes if mode in self.obey), ())
        return None if steps is None else Solution(steps=steps, obey=obey, answer=self.answer)


def load_solution_file(path: str | os.PathLike[str]) -> SolutionFile:
    """Read a solution file; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path), SolutionFile)


def _all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _all_steps(step.do or ())
