"""Solution files: what they hold, and every fault in them as one line with its place."""

from pathlib import Path

import pytest

from ghx_base.errors import DocumentError
from ghx_profiler.agents.controls.solution import SolutionFile, load_solution_file

WHOLE = """\
version: 1
modes:
  baseline:
    - shell: gh api repos/{{repo}}/threads
      save: threads
    - for_each: threads.items
      as: thread
      do:
        - shell: gh api reply/{{thread.id}} -f body={{reply}}
    - shell: gh pr merge {{pr_number}}
      expect_failure: true
  tools:
    - mcp: {tool: threads_list, arguments: {number: "{{pr_number}}"}, save: threads}
  idle: []
answer: Replied to {{threads.items.length}} threads.
"""


def load(folder: Path, text: str) -> SolutionFile:
    path = folder / "task-001.solution.yaml"
    path.write_text(text)
    return load_solution_file(path)


def test_a_file_has_a_solution_for_each_of_its_modes(tmp_path: Path) -> None:
    file = load(tmp_path, WHOLE)

    baseline, tools, idle = (file.solution_for(mode) for mode in ("baseline", "tools", "idle"))
    assert baseline is not None
    assert [step.summary for step in baseline.steps] == [
        "gh api repos/{{repo}}/threads",
        "for each of threads.items",
        "gh pr merge {{pr_number}}",
    ]
    assert [step.expect_failure for step in baseline.steps] == [False, False, True]
    assert tools is not None
    assert (tools.steps[0].saved_as, tools.steps[0].summary) == ("threads", "mcp threads_list")
    assert idle is not None
    assert idle.steps == ()
    assert file.solution_for("ghx") is None


def test_a_solution_tells_whether_it_needs_servers(tmp_path: Path) -> None:
    file = load(tmp_path, WHOLE.replace("shell: gh api reply/{{thread.id}} -f body={{reply}}", "mcp: {tool: reply}"))

    needs = {mode: solution.needs_servers() for mode in file.modes if (solution := file.solution_for(mode))}
    assert needs == {"baseline": True, "tools": True, "idle": False}


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("- shel: ls", "4:7: /modes/m/0/shel: unknown key 'shel'; did you mean 'shell'?"),
        ("- save: x", "4:7: /modes/m/0: a step has one of 'shell', 'mcp' and 'for_each'; this has none of them"),
        (
            "- {shell: ls, mcp: {tool: t}}",
            "4:7: /modes/m/0: a step has one of 'shell', 'mcp' and 'for_each'; this has 'shell' and 'mcp'",
        ),
        ("- {for_each: things}", "4:7: /modes/m/0: 'for_each' and 'do' belong together; write both or neither"),
        ("- {shell: ls, do: [{shell: ls}]}", "4:7: /modes/m/0: 'for_each' and 'do' belong together"),
        (
            "- {for_each: x, do: [{shell: ls}], save: y}",
            "4:7: /modes/m/0: 'save' and 'expect_failure' belong to the steps under 'do'",
        ),
        ("- {mcp: {tool: t, save: a}, save: b}", "4:7: /modes/m/0: 'save' is given twice"),
        ("- {mcp: {tol: t}}", "4:14: /modes/m/0/mcp/tol: unknown key 'tol'; did you mean 'tool'?"),
        ("- {shell: ''}", "4:15: /modes/m/0/shell: must not be empty"),
        ("- {shell: ls, save: a-b}", "4:25: /modes/m/0/save: 'a-b' does not have the form of 'threads'"),
        ("- {for_each: a b, do: [{shell: ls}]}", "4:18: /modes/m/0/for_each: 'a b' does not have the form of"),
        ("- {for_each: a, do: [{shell: 3}]}", "4:34: /modes/m/0/do/0/shell: expected a string, got the number 3"),
        ("- {shell: ls, expect_failure: 'yes'}", "4:35: /modes/m/0/expect_failure: expected true or false"),
    ],
)
def test_each_fault_is_one_clear_line(tmp_path: Path, steps: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, f"version: 1\nmodes:\n  m:\n    {steps}\n")

    (problem,) = caught.value.problems
    assert str(problem).startswith(f"{tmp_path}/task-001.solution.yaml:{message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modes: {m: []}", "missing key 'version'"),
        ("version: 2\nmodes: {m: []}", "/version: "),
        ("version: 1", "missing key 'modes'"),
        ("version: 1\nmodes: {}", "/modes: must not be empty"),
        ("version: 1\nmodes: {m: []}\nanswr: x", "unknown key 'answr'; did you mean 'answer'?"),
    ],
)
def test_a_file_that_is_no_solution_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, text)

    (problem,) = caught.value.problems
    assert message in str(problem)


TRAPPED = """\
version: 1
modes:
  baseline: [{shell: gh label list}]
traps:
  - name: first-page
    description: Counts the first page
    fails: counted
    modes: {baseline: []}
    answer: There are 30.
  - name: NAME
    description: Deletes them
    fails: [counted, no-collateral-damage]
    modes: {baseline: [{shell: gh label delete bug}]}
"""


def test_a_file_has_the_mistakes_that_must_be_noticed(tmp_path: Path) -> None:
    first, second = load(tmp_path, TRAPPED.replace("NAME", "deletes")).traps

    assert (first.name, first.fails, first.answer) == ("first-page", ("counted",), "There are 30.")
    assert (second.fails, second.answer) == (("counted", "no-collateral-damage"), None)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("first-page", "trap 'first-page' is also that of traps/0; give each trap a name of its own"),
        ("First page", "does not have the form of 'wrong-repository'"),
    ],
)
def test_a_trap_has_a_plain_name_of_its_own(name: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, TRAPPED.replace("NAME", name))

    assert "10:11: /traps/1/name: " in str(caught.value)
    assert reason in str(caught.value)
