"""The mistakes that are derived from a solution."""

from typing import Any

from ghx_bench.proving.mutants import Mutant, count_steps, mutants_of
from ghx_profiler.agents.controls.solution import Solution


def solution(*steps: Any, answer: str = "Done.") -> Solution:
    return Solution.model_validate({"steps": steps, "answer": answer})


def named(mutants: list[Mutant]) -> dict[str, Mutant]:
    return {each.name: each for each in mutants}


LOOP = {
    "for_each": "threads.items",
    "as": "thread",
    "do": [{"shell": "look at {{thread.id}}"}, {"mcp": {"tool": "reply", "arguments": {"id": "{{thread.id}}"}}}],
}


def test_each_step_is_left_out_also_those_inside_of_loops() -> None:
    found = named(list(mutants_of(solution({"shell": "list", "save": "threads"}, LOOP), {})))

    assert {name for name in found if name.endswith("left out")} == {
        "step 1 left out",
        "step 2 left out",
        "step 2.1 left out",
        "step 2.2 left out",
    }
    assert [each.summary for each in found["step 1 left out"].solution.steps] == ["for each of threads.items"]
    (_, loop) = found["step 2.1 left out"].solution.steps
    assert [each.summary for each in loop.do or ()] == ["mcp reply"]


def test_a_loop_with_one_step_is_left_out_once() -> None:
    found = named(list(mutants_of(solution({"for_each": "labels", "do": [{"shell": "x {{item}}"}]}), {})))

    assert list(found) == ["step 1 left out", "step 1 for its first item only"]


def test_a_loop_that_is_cut_short_takes_the_first_item_of_its_list() -> None:
    found = named(list(mutants_of(solution(LOOP), {})))

    look, reply = found["step 1 for its first item only"].solution.steps
    assert look.shell == "look at {{threads.items.0.id}}"
    assert reply.mcp is not None
    assert reply.mcp.arguments == {"id": "{{threads.items.0.id}}"}


def test_a_loop_inside_of_a_loop_is_cut_short_as_well() -> None:
    inner = {"for_each": "thread.comments", "as": "comment", "do": [{"shell": "hide {{comment}} of {{thread.id}}"}]}
    found = named(list(mutants_of(solution({"for_each": "threads", "as": "thread", "do": [inner]}), {})))

    (cut,) = found["step 1 for its first item only"].solution.steps
    assert cut.for_each == "threads.0.comments"
    assert [each.shell for each in cut.do or ()] == ["hide {{comment}} of {{threads.0.id}}"]
    (outer,) = found["step 1.1 for its first item only"].solution.steps
    assert [each.shell for each in outer.do or ()] == ["hide {{thread.comments.0}} of {{thread.id}}"]


def test_a_sibling_is_taken_for_each_number_that_the_solution_uses() -> None:
    used = solution({"shell": "gh issue view {{issue_number}}"}, answer="It is {{pr_number}}.")

    found = [each for each in mutants_of(used, {"issue_number": 7, "pr_number": 8, "other": 9}) if each.bindings]

    assert [each.bindings for each in found] == [{"issue_number": 7}, {"pr_number": 8}]
    assert all(each.solution == used for each in found)


def test_steps_of_a_loop_count_once() -> None:
    assert count_steps(solution({"shell": "list", "save": "threads"}, LOOP).steps) == 3
