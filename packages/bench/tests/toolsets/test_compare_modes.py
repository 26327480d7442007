"""`ghx-bench compare --mode A --mode B`: two versions of a toy server, told exactly, without and with runs."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import toy_mcp_server
import yaml
from report_runs import a_row, write_run

from ghx_bench.cli.main import run
from ghx_bench.toolsets.answers import AnswerRow, fields_of, figures
from ghx_bench.toolsets.changes.exposure_changes import StateChange
from ghx_bench.toolsets.changes.gates import judge_changes
from ghx_bench.toolsets.changes.report import LONGEST_COMMENT, write_comment
from ghx_bench.toolsets.changes.tool_changes import compare_tools, find_renamed, pair_tools
from ghx_bench.toolsets.changes.toolset_changes import (
    AnswerChange,
    AnswerChanges,
    SizeChange,
    StoppedAnswer,
    ToolSetChanges,
)
from ghx_bench.toolsets.changes.words import percent_words
from ghx_bench.toolsets.sizes import ESTIMATE, Size
from ghx_bench.toolsets.tool_lists import ServerSurface, measure_tools, parse_tool
from ghx_profiler.analyzers.hallucinated_commands import ANALYZER, HEADERS, PATHS
from ghx_profiler.reports.report_document import Document, Headline, Paragraph, Section, Table
from ghx_profiler.store.directory import RunDirectory

TOY = Path(toy_mcp_server.__file__)
WHERE = {"owner": "{{owner}}", "repo": "{{name}}"}
CALLS = {
    "issue-view": {"tool": "get_issue", "arguments": {**WHERE, "issue_number": 1}},
    "issue-comment": {"tool": "add_comment", "arguments": {**WHERE, "issue_number": 1, "body": "Yes."}},
    "labels-list": {"tool": "list_labels", "arguments": WHERE},
    "milestones-list": {"tool": "list_milestones", "arguments": WHERE},
}
SCRIPT = (
    "import sys; sys.path.insert(0, {folder!r}); import toy_mcp_server as toy; sys.argv.append({flag!r}); toy.main()"
)
BEFORE, AFTER = "toy", "toy@./second.py"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the toy server as a mode, another build of it beside, and calls by the names of the first."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("first", "second", "faults", "broken", "lacking"):
        (tmp_path / f"{name}.py").write_text(SCRIPT.format(folder=str(TOY.parent), flag=f"--{name}"))
    server = {"toy": {"command": sys.executable, "args": ["./first.py"]}}
    modes = [{"name": "toy", "mcp_servers": server}, {"name": "same", "mcp_servers": server}]
    (tmp_path / "eval.config.yaml").write_text(yaml.safe_dump({"modes": modes}))
    questions = [{"id": id_, "calls": {"toy": call}} for id_, call in CALLS.items()]
    (tmp_path / "calls.yaml").write_text(yaml.safe_dump({"version": 1, "questions": questions}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compare(*words: str, modes: tuple[str, str] = (BEFORE, AFTER)) -> int:
    first, second = modes
    return run(["compare", *words, "--mode", first, "--mode", second, "--questions", "calls.yaml"])


@pytest.mark.process
@pytest.mark.usefixtures("project")
def test_what_differs_between_two_versions_is_told_exactly_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("--json", "--markdown", "change.md", "--html", "page/change.html") == 0
    found = json.loads(capsys.readouterr().out)
    assert f" `ghx-bench run --mode {BEFORE} --mode {AFTER}` " in Path("change.md").read_text(), "as code"

    renamed, changed = sorted(found["tools"], key=lambda each: each["kind"], reverse=True)
    assert (renamed["kind"], renamed["before"], renamed["after"]) == ("renamed", "add_comment", "create_comment")
    same = ("description", "arguments", "annotations", "hasOtherSchema")
    assert not any(renamed[aspect] for aspect in same)
    assert (changed["kind"], changed["before"], changed["after"]) == ("changed", "get_issue", "get_issue")
    assert changed["description"]["after"] == "Read an issue."
    assert [(each["name"], each["change"], each["after"]["type"]) for each in changed["arguments"]] == [
        ("raw", "added", "boolean")
    ]
    assert not any(changed[aspect] for aspect in same[2:])
    answers = {each["id"]: each for each in found["answers"]["questions"] if each["aspects"]}
    assert {id_: each["aspects"] for id_, each in answers.items()} == {
        "labels-list": ["size"],
        "milestones-list": ["size", "fields"],
    }
    labels, milestones = answers["labels-list"], answers["milestones-list"]
    assert labels["after"]["size"]["characters"] == 2 * labels["before"]["size"]["characters"]
    assert (milestones["newFields"], milestones["lostFields"]) == (["[].progress"], [])
    comment = next(each for each in found["answers"]["questions"] if each["id"] == "issue-comment")
    assert comment["after"]["outcome"] == "answered", "the call follows the tool that was renamed"
    for nothing in ("exposure", "exposureByTool", "help"):
        assert found[nothing] == []
    assert found["lint"] == {"new": [], "gone": []}
    assert [each["before"] == each["after"] for each in found["instructions"]] == [True, True]
    assert [each["wrote"] for each in found["readOnly"]] == [[], []]
    assert found["flows"] is None
    assert any("no run was given" in each for each in found["notMeasured"])

    text = Path("change.md").read_text()
    assert "Tools: 1 renamed, 1 changed." in text.replace("\\", "")
    for line in (
        r"| add\_comment -\> create\_comment | renamed |",
        r"description shortened \(79 -\> 14 characters\); argument raw added \(boolean\) |",
        "| +100 % |  |".replace("+", r"\+"),
        r"new field \[\].progress |",
        "Exposure: the same.",
        "Flows: no run was given",
    ):
        assert line in text, line
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Surface", "## Answers on the fixed world", "## Read-only proof", "## Not measured",
    ]  # fmt: skip
    page = Path("page/change.html").read_text()
    assert "create_comment" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.usefixtures("project")
def test_the_same_tools_twice_differ_in_nothing_and_give_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    said = list[str]()
    for name in ("one.md", "two.md"):
        words = ["--fail-on", "changed", "--fail-on", "larger", "--markdown", name, "--json"]
        assert compare(*words, modes=("toy", "same")) == 0
        said.append(capsys.readouterr().out)

    assert said[0] == said[1]
    assert Path("one.md").read_bytes() == Path("two.md").read_bytes()
    assert not json.loads(said[0])["differs"]
    assert json.loads(said[0])["answers"]["after"]["questions"] == 4, "it is asked with the calls of the other version"
    assert "**Nothing differs between toy and same: 4 tools, " in Path("one.md").read_text()
    assert "| gate |" in Path("one.md").read_text()


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.usefixtures("project")
def test_gates_fail_on_what_they_name_and_on_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    larger = ("larger", "larger-total", "larger>500%", "larger-total > 500 %")
    gates = ("changed", "breaking", *larger, "more-exposed", "read-only-writes", "lint")
    asked = [word for gate in gates for word in ("--fail-on", gate)]

    assert compare(*asked, "--json") == 1
    captured = capsys.readouterr()
    found = {each["gate"]: each["reason"] for each in json.loads(captured.out)["gates"]}
    assert [gate for gate in gates if found[gate] is not None] == ["changed", "breaking", "larger", "larger-total"]
    assert "create_comment" in found["breaking"]
    assert re.fullmatch(r"answer to labels-list ~?[\d,]+ -> ~?[\d,]+ tokens \(\+100 %\)", found["larger"])
    assert found["larger-total"].startswith("answers to the same questions ")
    assert captured.err.count("gate failed: ") == 4

    assert compare(*asked, "--json", modes=("toy", "toy@./faults.py")) == 1
    found = {each["gate"]: each["reason"] for each in json.loads(capsys.readouterr().out)["gates"]}
    assert found["read-only-writes"].endswith(": peek")
    assert "view_issues has no description" in found["lint"]


@pytest.mark.nightly
@pytest.mark.process
def test_one_answer_that_grows_is_larger_however_long_the_others_are(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, copies in (("short", {}), ("long", {"get_issue": 2})):
        texts = {"list_labels": 20, **copies}
        repeat = f"call = toy.call; toy.call = lambda name, *a, **k: call(name, *a, **k) * {texts}.get(name, 1)"
        script = SCRIPT.format(folder=str(TOY.parent), flag="--first").replace("toy.main()", f"{repeat}; toy.main()")
        (project / f"{name}.py").write_text(script)
    gates = ("larger", "larger>10%", "larger>99.9%", "larger>100%", "larger-total", "larger-total>10%")
    words = [word for gate in gates for word in ("--fail-on", gate)]

    code, found = compared(capsys, *words, modes=("toy@./short.py", "toy@./long.py"))

    assert code == 1
    before, after = (found["answers"][side]["size"]["tokens"] for side in ("before", "after"))
    assert before < after < 1.1 * before, "together they grow by less than a tenth"
    reasons = {each["gate"]: each["reason"] for each in found["gates"]}
    assert [gate for gate in gates if reasons[gate]] == ["larger", "larger>10%", "larger>99.9%", "larger-total"]
    sizes = {
        each["id"]: [each[side]["size"]["tokens"] for side in ("before", "after")]
        for each in found["answers"]["questions"]
        if each["aspects"]
    }
    ((id_, (old, new)),) = sizes.items()
    assert reasons["larger>10%"].replace("~", "") == f"answer to {id_} {old:,} -> {new:,} tokens (+100 %)"

    code, _ = compared(capsys, "--fail-on", "larger", modes=("toy@./long.py", "toy@./short.py"))
    assert code == 0, "what shrinks is not larger"


@pytest.mark.parametrize(
    ("gate", "told", "answers", "found"),
    [
        ("larger", (100, 150), {}, []),
        ("larger", (100, 151), {}, ["context size at start 100 -> 151 tokens (+51 %)"]),
        ("larger>10%", (1_000, 1_100), {}, []),
        ("larger>10%", (1_000, 1_101), {}, ["context size at start 1,000 -> 1,101 tokens (+10 %)"]),
        ("larger>10%", (9, 9), {"a": (20, 70), "b": (20_000, 20_000)}, []),
        (
            "larger>10%",
            (9, 9),
            {"a": (600, 700), "b": (20_000, 20_000), "c": (0, 60), "d": (60, 180)},
            [
                "answer to c 0 -> 60 tokens (+60)",
                "answer to d 60 -> 180 tokens (+200 %)",
                "answer to a 600 -> 700 tokens (+17 %)",
            ],
        ),
        ("larger-total>10%", (9, 9), {"a": (600, 700), "b": (20_000, 20_000)}, []),
        ("larger-total", (100, 101), {}, ["context size at start 100 -> 101 tokens (+1 %)"]),
        (
            "larger-total",
            (9, 9),
            {"a": (600, 700), "b": (20_000, 20_000)},
            ["answers to the same questions 20,600 -> 20,700 tokens (+0.5 %)"],
        ),
    ],
)
def test_a_part_is_larger_by_more_than_the_limit_and_by_more_than_fifty_tokens(
    gate: str, told: tuple[int, int], answers: dict[str, tuple[int, int]], found: list[str]
) -> None:
    sides = [
        [
            AnswerRow(id=id_, kind="read", outcome="answered", size=Size(tokens=sizes[side]))
            for id_, sizes in answers.items()
        ]
        for side in (0, 1)
    ]
    questions = [AnswerChange(id=old.id, before=old, after=new, aspects=()) for old, new in zip(*sides, strict=True)]
    before, after = map(figures, sides)
    changes = ToolSetChanges.model_construct(
        told=SizeChange(name="told in all", before=Size(tokens=told[0]), after=Size(tokens=told[1])),
        answers=AnswerChanges(questions=tuple(questions), before=before, after=after),
        tokens_are_estimated=False,
    )

    (result,) = judge_changes([gate], changes)

    assert (result.reason or "") == "; ".join(found)


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.usefixtures("project")
def test_a_version_that_answers_nothing_any_more_fails_its_gates_and_others_pass_with_a_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gates = ("failing", "breaking", "more-exposed", "read-only-writes", "larger")
    words = [word for gate in gates for word in ("--fail-on", gate)]

    code, found = compared(capsys, *words, "--markdown", "broken.md", modes=("toy", "toy@./broken.py"))

    assert code == 1
    results = {each["gate"]: each for each in found["gates"]}
    assert [gate for gate in gates if results[gate]["failed"]] == ["failing", "breaking"]
    assert "question issue-view (fails); question issue-comment (fails)" in results["failing"]["reason"]
    assert "tool get_issue (fails)" in results["breaking"]["reason"]
    assert "4 tools stopped answering" in results["more-exposed"]["openQuestion"]
    assert "4 tools stopped answering" in results["read-only-writes"]["openQuestion"]
    assert "4 questions answered before and not now" in results["larger"]["openQuestion"]
    assert {each["reason"] for each in found["stopped"]} == {"out of order"}
    text = Path("broken.md").read_text()
    assert "Answered before and not any more: question" in text
    assert "fails now: " in text
    assert "passed, but: 4 tools stopped answering" in text

    for gate, expected in (("more-exposed", 3), ("read-only-writes", 3), ("lint", 0)):
        code, _ = compared(capsys, "--fail-on", gate, modes=("toy", "toy@./broken.py"))
        assert code == expected, gate
    _, found = compared(capsys, modes=("toy@./broken.py", "toy"))
    assert found["stopped"] == [], "what answers again has not stopped"


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.usefixtures("project")
def test_a_tool_that_asks_for_what_the_embedded_github_lacks_has_not_stopped_answering(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gates = ("failing", "breaking", "more-exposed", "read-only-writes")
    words = [word for gate in gates for word in ("--fail-on", gate)]

    code, found = compared(capsys, *words, modes=("toy", "toy@./lacking.py"))

    assert (code, found["stopped"]) == (0, [])
    for each in found["gates"]:
        assert "asked for what the embedded GitHub lacks with list_labels" in each["openQuestion"], each["gate"]
    assert any(each.startswith("list_labels of toy@./lacking.py, not in full: ") for each in found["notMeasured"])


@pytest.mark.process
def test_a_program_whose_commands_fail_now_breaks_calls(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, code in (("good", 0), ("bad", 1)):
        (project / name).write_text(f"#!/bin/sh\n[ $1 != --version ] || exec echo look 1.0\necho looked\nexit {code}\n")
        (project / name).chmod(0o755)
    modes = [{"name": name, "tools": [f"look=./{name}"]} for name in ("good", "bad")]
    (project / "eval.config.yaml").write_text(yaml.safe_dump({"modes": modes}))
    questions = [{"id": "issue-view", "calls": {"good": "look at 1", "bad": "look at 1"}}]
    (project / "calls.yaml").write_text(yaml.safe_dump({"version": 1, "questions": questions}))
    (project / "reads.yaml").write_text(yaml.safe_dump({"version": 1, "programs": {"look": {"look at": "look at 1"}}}))

    code, found = compared(
        capsys, "--commands", "reads.yaml", "--fail-on", "breaking", "--fail-on", "larger", modes=("good", "bad")
    )

    assert code == 1
    assert [each["failed"] for each in found["gates"]] == [True, False]
    assert found["gates"][0]["reason"].endswith("of question issue-view (fails); tool look at (fails)")


def test_answers_that_only_one_side_was_asked_for_are_not_larger() -> None:
    told = SizeChange(name="told in all", before=Size(tokens=5), after=Size(tokens=5))
    answers = AnswerChanges(
        questions=(),
        before=None,
        after=figures([AnswerRow(id="a", kind="read", outcome="answered", size=Size(tokens=88_166))]),
    )
    changes = ToolSetChanges.model_construct(told=told, answers=answers)

    (result,) = judge_changes(["larger"], changes)

    assert not result.failed
    assert result.open_question == "answers of both were not measured"


def rows_of(mode: str, *, solved: int, **changes: Any) -> list[Any]:
    return [
        a_row(mode, f"scenario-{number:03d}", repetition, success=repetition < solved, **changes)
        for number in range(4)
        for repetition in range(5)
    ]


@pytest.mark.process
def test_runs_are_compared_paired_and_tell_purity_and_what_was_made_up(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leaked = {"toolUse": {"own": {"toy": 2}, "foreign": {"gh": 1}, "neutral": {}}}
    before, after = rows_of(BEFORE, solved=5), rows_of(AFTER, solved=1, **leaked)
    both = write_run(project / "both", [*before, *after, *rows_of("baseline", solved=2)])
    analysis = RunDirectory(both).analysis(after[0].cell)
    bundle = json.loads(analysis.read_text())
    made_up = {"type": "table", "headers": HEADERS, "rows": [["tool", "add_comment", "toy", "create_comment", "2"]]}
    bundle["results"][ANALYZER] = {"analyzer": ANALYZER, "findings": {PATHS: made_up}, "summary": ""}
    analysis.write_text(json.dumps(bundle))
    words = ("--fail-on", "worse", "--fail-on", "impure", "--fail-on", "success<0.9", "--json", "--markdown", "one.md")

    assert compare(str(both), *words) == 1
    one = json.loads(capsys.readouterr().out)
    assert one["flows"]["headline"].startswith("Worse: 4 of 20 solved instead of 20")
    assert [each["failed"] for each in one["gates"]] == [True, True, True]
    assert f"{AFTER} succeeds in 4 of 20" in one["gates"][2]["reason"], "other modes of the run do not count"
    use = one["flows"]["toolUse"]
    assert [*use] == [AFTER]
    assert use[AFTER]["purity"] == pytest.approx(2 / 3)
    assert [(each["mode"], each["name"], each["calls"]) for each in one["flows"]["desirePaths"]] == [
        (AFTER, "add_comment", 2)
    ]
    text = Path("one.md").read_text()
    assert f"{AFTER} is not pure: in 20 of 20 sessions" in text
    assert "Flows: Worse: 4 of 20 solved instead of 20" in text
    assert "## Use of the mode's tools" in text

    first = write_run(project / "first", before, run_id="first")
    second = write_run(project / "second", after, run_id="second")
    assert compare(str(first), str(second), *words) == 1
    two = json.loads(capsys.readouterr().out)
    assert two["flows"]["comparison"] == one["flows"]["comparison"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--mode", "toy"], "--mode: name two different modes"),
        (["--mode", "toy", "--mode", "toy"], "--mode: name two different modes"),
        (["--mode", "toy", "--mode", "same", "--mode", "baseline"], "--mode: name two different modes"),
        (["--mode", "toy", "--mode", "tyo"], "no mode 'tyo'"),
        (["--mode", "toy", "--mode", "toy@./nothing.py"], "there is no "),
        (["--mode", "toy", "--mode", "broken"], "mode 'broken'"),
        (["--mode", "toy", "--mode", "same", "--fail-on", "taste"], "of tool sets there are 'changed', 'larger'"),
        (["--mode", "toy", "--mode", "same", "--fail-on", "worse"], "'worse' is about runs"),
        (["--mode", "toy", "--mode", "same", "--junit", "x.xml"], "--junit: is for two runs"),
        (["--mode", "toy", "--mode", "same", "--html", "."], "--html: . is a folder"),
        (["--mode", "toy", "--mode", "same", "--questions", "none.yaml"], "none.yaml"),
        (["./run", "--mode", "toy", "--mode", "same"], "has no mode 'same', only toy"),
        (["./absent", "--mode", "toy", "--mode", "same"], "absent"),
        (["./run"], "name two runs"),
        ([], "name two runs"),
        (["./run", "./run", "--html", "x.html"], "are for two modes"),
    ],
)
def test_bad_input_is_one_line(words: list[str], says: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(project / "run", rows_of("toy", solved=5))
    config = yaml.safe_load((project / "eval.config.yaml").read_text())
    config["modes"].append({"name": "broken", "mcp_servers": {"toy": {"command": "no-such-program-anywhere"}}})
    (project / "eval.config.yaml").write_text(yaml.safe_dump(config))

    assert run(["compare", *words]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def server(*tools: dict[str, Any]) -> list[ServerSurface]:
    return [measure_tools("toy", None, [parse_tool(each) for each in tools], "", ESTIMATE)]


def a_tool(name: str, description: str, *arguments: str) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": toy_mcp_server.schema(
        **dict.fromkeys(arguments, toy_mcp_server.WHERE))}  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "is_one"),
    [
        (("add_comment", "Comment."), ("post", "Comment."), True),
        (("get_issue", "Read an issue.", "owner", "repo"), ("issue_read", "Fetch one.", "owner", "repo"), True),
        (
            ("get_issue", "Get one issue of a repository.", "owner", "repo", "number"),
            ("issue_get_one", "Get one issue.", "owner", "repo", "number", "method"),
            True,
        ),
        (("get_issue", "Get it.", "number"), ("issue_get_one", "Get it now.", "number"), False),
        (
            ("find_issues", "Search issues of a repository by their words.", "query"),
            ("triage", "Search issues by words.", "query"),
            True,
        ),
        (
            ("get_issue", "Get an issue in a repository.", "owner", "repo", "number"),
            ("lock_issue", "Lock an issue in a repository.", "owner", "repo", "number"),
            False,
        ),
        (("get_issue", "Read an issue.", "owner", "repo"), ("read_issue", "Read an issue.", "url"), False),
    ],
)
def test_a_tool_under_another_name_is_known_by_a_written_rule(
    old: tuple[str, ...], new: tuple[str, ...], is_one: bool
) -> None:
    (before,), (after,) = server(a_tool(*old)), server(a_tool(*new))

    assert find_renamed(before.tools, after.tools) == ({old[0]: new[0]} if is_one else {})


def test_the_name_of_a_tool_in_the_title_of_its_schema_is_no_difference() -> None:
    def tool(name: str, title: str) -> dict[str, Any]:
        return {"name": name, "description": "Say it.", "inputSchema": {"type": "object", "title": title}}

    old = server(tool("add_comment", "add_commentArguments"), tool("who", "whoArguments"))
    new = server(tool("post", "postArguments"), tool("who", "Person"))
    renamed, retitled = compare_tools(pair_tools(old, new))

    assert (renamed.kind, renamed.before, renamed.after) == ("renamed", "add_comment", "post")
    assert not renamed.has_other_schema
    assert (retitled.kind, retitled.name, retitled.has_other_schema) == ("changed", "who", True)


def test_changes_of_arguments_are_told_apart_and_those_that_break_calls_are_known() -> None:
    def tool(required: list[str], **arguments: object) -> dict[str, Any]:
        return {"name": "t", "description": "T.", "inputSchema": {
            "type": "object", "properties": arguments, "required": required}}  # fmt: skip

    text, number = {"type": "string"}, {"type": "integer"}
    before = server(tool(["a"], a=text, b=text, c={"enum": ["x", "y"]}, d={"type": "array", "items": text}, e=text))
    after = server(
        tool(["a", "b", "f"], a={**text, "description": "A."}, b=text, c={"enum": ["x", "y", "z"]},
             d={"type": "array", "items": number}, f=text)
    )  # fmt: skip

    (change,) = compare_tools(pair_tools(before, after))

    told = {each.name: (each.change, each.aspects, each.is_breaking) for each in change.arguments}
    assert told == {
        "a": ("changed", ("description",), False),
        "b": ("changed", ("required",), True),
        "c": ("changed", ("choices",), False),
        "d": ("changed", ("type",), True),
        "e": ("removed", (), True),
        "f": ("added", (), True),
    }
    assert change.is_breaking


@pytest.mark.parametrize(
    ("old", "new", "failed", "is_open"),
    [
        ({"type": "integer"}, {"type": ["integer", "null"]}, False, False),
        ({"type": "integer"}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, False, False),
        ({"type": "integer", "maximum": 100}, {"type": "integer", "maximum": 50}, True, False),
        ({"type": "string"}, {"type": "string", "pattern": "^v"}, False, True),
    ],
)
def test_the_gate_on_breaking_changes_follows_what_arguments_take(
    old: dict[str, Any], new: dict[str, Any], failed: bool, is_open: bool
) -> None:
    def tool(argument: dict[str, Any]) -> dict[str, Any]:
        return {"name": "t", "description": "T.", "inputSchema": {"type": "object", "properties": {"a": argument}}}

    tools = compare_tools(pair_tools(server(tool(old)), server(tool(new))))
    (result,) = judge_changes(["breaking"], ToolSetChanges.model_construct(tools=tools))

    assert (result.failed, result.open_question is not None) == (failed, is_open)


def test_a_tool_that_refuses_arguments_beside_its_own_breaks_calls() -> None:
    def tool(**more: Any) -> dict[str, Any]:
        return {"name": "t", "description": "T.", "inputSchema": {"type": "object", "properties": {}, **more}}

    (change,) = compare_tools(pair_tools(server(tool()), server(tool(additionalProperties=False))))
    (back,) = compare_tools(pair_tools(server(tool(additionalProperties=False)), server(tool())))

    assert (change.is_breaking, back.is_breaking) == (True, False)


def test_a_report_of_any_size_fits_into_a_comment_and_says_what_was_left_out() -> None:
    def table(rows: int, words: int) -> Section:
        lines = tuple((f"tool_{row}", "argument another: type string -> integer; " * words) for row in range(rows))
        return Section(
            id=f"s{rows}",
            title="Surface",
            elements=(
                Table(caption="Tools", headers=("tool", "what"), rows=lines),
                Paragraph("no call of it, " * words),
            ),
        )

    def comment(*sections: Section) -> str:
        headline = Headline(sentences=("Tools: 40 changed.",))
        return write_comment(Document(title="T", subtitle="", headline=headline, sections=sections, footer="Made."))

    small, large = comment(table(31, 1)), comment(table(40, 60))
    assert "Shortened" not in small
    assert "and 1 more; --json has all" in small
    assert "Shortened to what a comment holds" in large
    assert "Tools: 40 changed." in large
    for each in (large, comment(*(table(50, 60) for _ in range(9))), comment(*(table(2, 3) for _ in range(700)))):
        assert 1_000 < len(each) <= LONGEST_COMMENT
        assert each.rstrip().endswith(("Made.", "left out.*"))


def test_fields_of_answers_are_those_of_json_also_of_several_values_in_a_row() -> None:
    assert fields_of(['{"a": [{"b": 1}, {"c": {"d": null}}]}\n{"e": 2}']) == ("a", "a[].b", "a[].c", "a[].c.d", "e")
    assert fields_of(["a: 1"]) is None
    assert fields_of(["12"]) is None


def test_the_gate_on_exposure_fails_for_texts_of_which_more_is_shown_than_before() -> None:
    more = StateChange(carrier="issue-body", author="outsider", before="stripped", after="shown")
    less = StateChange(carrier="pr-body", author="outsider", before="shown", after="marked")

    (failed,) = judge_changes(["more-exposed"], ToolSetChanges.model_construct(exposure=(more, less)))
    (passed,) = judge_changes(["more-exposed"], ToolSetChanges.model_construct(exposure=(less,)))

    assert (failed.failed, failed.reason) == (True, "more reaches the agent of issue-body by outsider")
    assert not passed.failed


def test_a_tool_that_fails_leaves_open_what_it_would_show_and_one_that_was_removed_does_not() -> None:
    fails, gone = (
        StoppedAnswer(kind="tool", name=name, is_gone=name == "gone", reason=None) for name in ("fails", "gone")
    )

    (open_,) = judge_changes(["more-exposed"], ToolSetChanges.model_construct(exposure=(), stopped=(fails, gone)))
    (closed,) = judge_changes(["more-exposed"], ToolSetChanges.model_construct(exposure=(), stopped=(gone,)))

    assert open_.open_question == "1 tool stopped answering (fails), and what it would show is not known"
    assert closed.open_question is None


@pytest.mark.parametrize(("more", "words"), [(1, "+1 character"), (-1, "-1 character"), (2, "+2 characters")])
def test_texts_of_as_many_tokens_differ_in_characters(more: int, words: str) -> None:
    assert percent_words(Size(tokens=5, characters=20), Size(tokens=5, characters=20 + more)) == words


def a_skill(folder: Path, description: str = "How to sort issues.", body: str = "Read, then label.") -> str:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: triage\ndescription: {description}\n---\n{body}\n")
    return f"./{folder.relative_to(Path.cwd())}"


def compared(capsys: pytest.CaptureFixture[str], *words: str, modes: tuple[str, str]) -> tuple[int, dict[str, Any]]:
    code = compare("--json", *words, modes=modes)
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.nightly
@pytest.mark.process
def test_skills_and_settings_of_a_mode_are_differences(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skills = {
        "skilled": [a_skill(project / "one" / "triage")],
        "retold": [a_skill(project / "two" / "triage", description="How to sort them all.")],
        "rewritten": [a_skill(project / "three" / "triage", body="Read, and label.")],
        "scripted": [a_skill(project / "four" / "triage")],
    }
    (project / "four" / "triage" / "sort.sh").write_text("gh issue list\n")
    config = yaml.safe_load((project / "eval.config.yaml").read_text())
    config["modes"] += [{"name": name, "extends": "toy", "skills": each} for name, each in skills.items()]
    config["modes"] += [
        {"name": "set", "extends": "toy", "environment": {"PAGER": "cat"}, "shell": False, "web": True},
        {"name": "reset", "extends": "set", "environment": {"PAGER": "s3cr3t-less"}},
    ]
    (project / "eval.config.yaml").write_text(yaml.safe_dump(config))

    code, found = compared(capsys, "--fail-on", "changed", "--fail-on", "larger-total", modes=("toy", "skilled"))
    assert code == 1
    assert [each["failed"] for each in found["gates"]] == [True, True]
    told, body = found["skills"]
    assert (told["name"], told["before"]) == ("skill triage: name and description", None)
    assert found["told"]["after"]["tokens"] - found["told"]["before"]["tokens"] == told["after"]["tokens"] > 0
    assert body["after"]["characters"] == len("Read, then label.")
    for name, part in {
        "retold": "name and description",
        "rewritten": "text, when it is read",
        "scripted": "other",
    }.items():
        _, found = compared(capsys, modes=("skilled", name))
        assert [each["name"].startswith(f"skill triage: {part}") for each in found["skills"]] == [True], name
        assert found["differs"]
    _, found = compared(capsys, modes=("toy", "set"))
    assert [(each["name"], each["after"]) for each in found["settings"]] == [
        ("shell", "no"), ("web", "yes"), ("variable PAGER", "set"),
    ]  # fmt: skip
    _, found = compared(capsys, modes=("set", "reset"))
    assert [(each["name"], each["after"]) for each in found["settings"]] == [
        ("variable PAGER", "set to something else")
    ]
    assert "s3cr3t" not in json.dumps(found), "values may be secrets"
