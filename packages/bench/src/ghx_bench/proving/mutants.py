"""What a mistaken agent would do in place of a solution: the same with a step left out, or about something else."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from ghx_base.texts.templates import names_in, placeholder, replace_placeholders, strings_in
from ghx_profiler.agents.controls.solution import Solution, Step

MutantKind = Literal["left out", "cut short", "sibling"]
"""A step is left out, a loop ends after its first item, or a number is that of another issue or pull request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A solution with one mistake in it."""

    kind: MutantKind
    name: str
    solution: Solution
    bindings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What variables stand for instead of what the scenario binds."""


def mutants_of(solution: Solution, siblings: Mapping[str, int]) -> Iterator[Mutant]:
    """Yield the mutants of a solution; `siblings` has for each number that is bound the one to take instead."""
    for number, rest in _without_one(solution.steps):
        yield Mutant(kind="left out", name=f"step {number} left out", solution=_with_steps(solution, rest))
    for number, steps in _with_first_items(solution.steps):
        yield Mutant(
            kind="cut short", name=f"step {number} for its first item only", solution=_with_steps(solution, steps)
        )
    used = _variables_in(solution)
    for name, number in siblings.items():
        if name in used:
            yield Mutant(kind="sibling", name=f"#{number} taken for {name}", solution=solution, bindings={name: number})


def count_steps(steps: Sequence[Step]) -> int:
    """Return how many calls a solution has written down; those in a loop count once."""
    return sum(count_steps(step.do) if step.do else 1 for step in steps)


def _with_steps(solution: Solution, steps: Sequence[Step]) -> Solution:
    return solution.model_copy(update={"steps": tuple(steps)})


def _variables_in(solution: Solution) -> frozenset[str]:
    texts: list[JsonValue] = [solution.answer, *(each.model_dump(mode="json") for each in solution.steps)]
    paths = (path for _, text in strings_in(texts) for path in names_in(text))
    return frozenset(path.partition(".")[0] for path in paths)


def _without_one(steps: Sequence[Step], prefix: str = "") -> Iterator[tuple[str, list[Step]]]:
    """Yield the number of each step, those inside of loops included, and the steps without it."""
    for index, step in enumerate(steps):
        before, after = steps[:index], steps[index + 1 :]
        yield f"{prefix}{index + 1}", [*before, *after]
        for number, rest in _without_one(step.do or (), f"{prefix}{index + 1}."):
            if rest:  # a loop without its only step is a loop left out
                yield number, [*before, step.model_copy(update={"do": tuple(rest)}), *after]


def _with_first_items(steps: Sequence[Step], prefix: str = "") -> Iterator[tuple[str, list[Step]]]:
    """Yield the number of each loop, and the steps with those for its first item in its place."""
    for index, step in enumerate(steps):
        if step.for_each is None or step.do is None:
            continue
        before, after = steps[:index], steps[index + 1 :]
        first = [_rename(each, step.as_, f"{step.for_each}.0") for each in step.do]
        yield f"{prefix}{index + 1}", [*before, *first, *after]
        for number, inside in _with_first_items(step.do, f"{prefix}{index + 1}."):
            yield number, [*before, step.model_copy(update={"do": tuple(inside)}), *after]


def _rename(step: Step, name: str, path: str) -> Step:
    """Return a step that uses a path where it used a variable."""

    def rename(text: str) -> str:
        return re.sub(rf"^{re.escape(name)}(?=\.|$)", lambda _: path, text)

    def rewrite(value: JsonValue) -> JsonValue:
        match value:
            case str():
                return replace_placeholders(value, lambda each: placeholder(rename(each)))
            case list():
                return [rewrite(each) for each in value]
            case dict():
                return {key: rewrite(each) for key, each in value.items()}
            case _:
                return value

    if step.for_each is not None and step.do is not None:
        inside = tuple(_rename(each, name, path) for each in step.do)
        return step.model_copy(update={"for_each": rename(step.for_each), "do": inside})
    return Step.model_validate(rewrite(step.model_dump(mode="json", by_alias=True, exclude_defaults=True)))
