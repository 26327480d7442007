"""What workflow files say, and which events their filters let through."""

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_twin.queries.actions import scripts
from ghx_twin.queries.actions.triggers import fits_pull, fits_push, matches_glob
from ghx_twin.queries.actions.workflow_files import Trigger, WorkflowFileError, parse_workflow_file
from ghx_twin.seed import workflow_scripts as seeds

KEYS = ("a", "steps", "run", "uses", "name", "if", "needs", "strategy", "matrix", "include", "exclude", "environment")
JOBS = "jobs: {a: {steps: [{run: make}]}}\n"


def events_of(on: str) -> dict[str, Trigger]:
    return dict(parse_workflow_file(f"on: {on}\n{JOBS}".encode()).triggers)


def names_of(job: str) -> list[str]:
    return [each.name for each in parse_workflow_file(f"on: push\njobs:\n  a: {job}\n".encode()).jobs]


def test_events_are_written_in_three_ways() -> None:
    assert events_of("push") == {"push": Trigger()}
    assert events_of("[push, pull_request]") == {"push": Trigger(), "pull_request": Trigger()}
    assert events_of("{push: {branches: main, paths-ignore: [a, b]}, workflow_dispatch: }") == {
        "push": Trigger(branches=("main",), paths_ignore=("a", "b")),
        "workflow_dispatch": Trigger(),
    }


@pytest.mark.parametrize(
    "text", ["", "[]", "on: push", "jobs: {}", JOBS, "on: push\njobs: {}", "on: [\n", "a: \xff", "on: 1\n" * 90000]
)
def test_what_github_cannot_run_is_told(text: str) -> None:
    with pytest.raises(WorkflowFileError):
        parse_workflow_file(text.encode("latin-1"))


def bomb(line: str, use: str) -> str:
    """Return a workflow whose aliases stand for nine others each, ten times over."""
    names = "abcdefghij"
    lines = (line.format(here=here, there=",".join([f"*{there}"] * 9)) for there, here in pairwise(names))
    return "\n".join(["x: &a {a: z}", *lines, f"on: push\njobs: {{test: {use}}}\n"])


@pytest.mark.parametrize(
    "text",
    [
        bomb("x-{here}: &{here} [{there}]", "{if: *j}"),
        bomb("x-{here}: &{here} [{there}]", "{name: *j, strategy: {matrix: {os: [*j]}}}"),
        bomb("x-{here}: &{here} {{<<: [{there}]}}", "{<<: *j}"),
        f"x: &a {'y' * 99999}\non: push\njobs: {{test: {{steps: [{'{run: *a}, ' * 99}]}}}}\n",
        "on: push\njobs: {test: {if: &a [*a]}}\n",
    ],
)
def test_aliases_that_repeat_too_much_make_a_file_that_cannot_be_run(text: str) -> None:
    with pytest.raises(WorkflowFileError, match=r"more than 10000 values|inside what it stands for"):
        parse_workflow_file(text.encode())


@pytest.mark.parametrize(
    "value", ["0x" + "f" * 20000, "9" * 5000, '!!int ""', "!!bool x", "!!timestamp x", "!!python/name:os.x y", "*none"]
)
def test_a_value_that_nothing_can_read_makes_a_file_that_cannot_be_run(value: str) -> None:
    with pytest.raises(WorkflowFileError):
        parse_workflow_file(f"on: push\njobs: {{test: {{if: {value}}}}}\n".encode())


def test_numbers_are_of_base_ten() -> None:
    assert names_of("{strategy: {matrix: {at: [1:30, !!int 2:00, 1:30.5, 90]}}}") == [
        "a (1:30)", "a (2:00)", "a (1:30.5)", "a (90)",
    ]  # fmt: skip


def test_conditions_and_names_are_single_values() -> None:
    (job,) = parse_workflow_file(b"on: push\njobs: {a: {if: [x], name: {b: c}, steps: [{if: {d: e}, run: f}]}}").jobs

    assert (job.name, job.condition, job.steps[0].condition) == ("a", "", "")
    assert names_of("{strategy: {matrix: {os: [{a: b}, [c]]}}}") == ["a (Object)", "a (Array)"]


ODD_VALUES = st.sampled_from(
    ["&a x", "*a", "&b [*a, *a]", "*b", "{<<: *b}", "0x" + "f" * 9999, "1e999", "-.inf", "1:2:3", "0o9", "~", "''"]
) | st.builds(
    "{} {}".format,
    st.sampled_from(
        ["!!int", "!!float", "!!bool", "!!binary", "!!timestamp", "!!set", "!!omap", "!!pairs", "!!x", "!"]
    ),
    st.sampled_from(["''", "x", "1", "{a: b}", "[a, {b: c}]", "2001-01-01"]),
)


@given(st.lists(st.tuples(st.sampled_from(KEYS), ODD_VALUES), max_size=6), ODD_VALUES)
def test_odd_tags_numbers_and_aliases_are_read_or_told(job: list[tuple[str, str]], event: str) -> None:
    said = "".join(f"    {key}: {value}\n" for key, value in job)
    with suppress(WorkflowFileError):
        parse_workflow_file(f"x: &a {{c: d}}\ny: &b [*a]\non: {event}\njobs:\n  a:\n{said or '    {}'}".encode())


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.floats(),
        lambda each: (
            st.lists(each, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), each, max_size=4)
        ),
    ).map(lambda value: json.dumps({"on": "push", "jobs": value}).encode())
)
def test_any_file_is_a_workflow_or_told_to_be_none(content: bytes) -> None:
    with suppress(WorkflowFileError):
        for job in parse_workflow_file(content).jobs:
            job.name.encode()
            for step in job.steps:
                step.name.encode()


@pytest.mark.parametrize("needs", ["{a: {needs: b}}", "{a: {needs: b}, b: {needs: a}}", "{a: {needs: [a]}}"])
def test_jobs_need_others_that_can_end(needs: str) -> None:
    with pytest.raises(WorkflowFileError, match="depends on"):
        parse_workflow_file(f"on: push\njobs: {needs}\n".encode())


def test_a_huge_matrix_makes_as_many_jobs_as_github_allows() -> None:
    axes = ", ".join(f"x{axis}: {list(range(40))}" for axis in range(12))
    assert len(names_of(f"{{strategy: {{matrix: {{{axes}}}}}}}")) == 256


def test_a_matrix_multiplies_steps_only_so_far() -> None:
    matrix = f"strategy: {{matrix: {{x: {list(range(256))}}}}}"
    assert len(names_of(f"{{{matrix}, steps: [{'{run: a}, ' * 39}]}}")) == 256
    with pytest.raises(WorkflowFileError, match="more than 10000 steps"):
        names_of(f"{{{matrix}, steps: [{'{run: a}, ' * 40}]}}")


def test_jobs_have_the_names_of_their_checks() -> None:
    assert names_of("{}") == ["a"]
    assert names_of("{name: Build it}") == ["Build it"]
    assert names_of("{strategy: {matrix: {os: [linux, mac], python: [3.11, 3.12]}}}") == [
        "a (linux, 3.11)",
        "a (linux, 3.12)",
        "a (mac, 3.11)",
        "a (mac, 3.12)",
    ]
    assert names_of("{name: 'On ${{ matrix.os }}', strategy: {matrix: {os: [linux, mac]}}}") == ["On linux", "On mac"]
    assert names_of("{strategy: {matrix: {os: [b, c], exclude: [{os: b}], include: [{os: d}, {os: c, x: 1}]}}}") == [
        "a (c, 1)",
        "a (d)",
    ]
    assert names_of("{strategy: {matrix: '${{ fromJSON(needs.x.outputs.y) }}'}}") == ["a"]


def test_a_job_says_what_it_needs_and_where_it_runs() -> None:
    _, job = parse_workflow_file(
        b"on: push\njobs: {b: {}, a: {needs: b, runs-on: [self-hosted, x], environment: {name: prod}, "
        b"if: '${{ false }}', "
        b'steps: [{uses: actions/checkout@v4}, {run: "make\\nmake test", if: always()}, {name: End, run: x}]}}'
    ).jobs

    assert (job.needs, job.labels, job.environment, job.condition) == (("b",), ("self-hosted", "x"), "prod", "false")
    assert [(step.name, step.condition) for step in job.steps] == [
        ("Run actions/checkout@v4", ""),
        ("Run make", "always()"),
        ("End", ""),
    ]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("main", ["main"], ["mains", "a/main"]),
        ("feature/*", ["feature/a"], ["feature/a/b", "feature"]),
        ("feature/**", ["feature/a", "feature/a/b"], ["features/a"]),
        ("**", ["a", "a/b"], []),
        ("*.js", ["a.js"], ["a/b.js"]),
        ("**.js", ["a.js", "a/b.js"], ["a.jsx"]),
        ("**/README.md", ["README.md", "a/b/README.md"], ["aREADME.md"]),
        ("v[12].[0-9]+.*", ["v1.20.x", "v2.0."], ["v3.0.x"]),
        ("*.jsx?", ["a.js", "a.jsx"], ["a.jsxx"]),
        ("+a", ["+a"], ["a"]),
        ("a.b", ["a.b"], ["axb"]),
        ("a+", ["a", "aaa"], ["", "b"]),
        ("**/docs/**", ["docs/a", "x/y/docs/a"], ["xdocs/a", "docs"]),
        ("*a" * 30 + "b", [], ["a" * 200]),
    ],
)
def test_patterns_are_githubs(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [name for name in (*yes, *no) if matches_glob(pattern, name)] == yes


@pytest.mark.parametrize(
    ("trigger", "ref", "changed", "fits"),
    [
        ({}, "refs/heads/a", [], True),
        ({}, "refs/tags/v1", [], True),
        ({"branches": ("main",)}, "refs/heads/main", [], True),
        ({"branches": ("main",)}, "refs/heads/other", [], False),
        ({"branches": ("main",)}, "refs/tags/main", [], False),
        ({"tags": ("v*",)}, "refs/tags/v1", [], True),
        ({"tags": ("v*",)}, "refs/heads/main", [], False),
        ({"branches": ("**", "!wip/**")}, "refs/heads/wip/a", [], False),
        ({"branches": ("**", "!wip/**", "wip/ok")}, "refs/heads/wip/ok", [], True),
        ({"branches_ignore": ("wip/**",)}, "refs/heads/wip/a", [], False),
        ({"branches_ignore": ("wip/**",)}, "refs/heads/a", [], True),
        ({"paths": ("src/**",)}, "refs/heads/a", ["docs/a", "src/a"], True),
        ({"paths": ("src/**", "!src/gen/**")}, "refs/heads/a", ["src/gen/a"], False),
        ({"paths": ("src/**",)}, "refs/tags/v1", [], True),
        ({"paths_ignore": ("docs/**",)}, "refs/heads/a", ["docs/a"], False),
        ({"paths_ignore": ("docs/**",)}, "refs/heads/a", ["docs/a", "b"], True),
        ({}, "refs/notes/a", [], False),
    ],
)
def test_pushes_pass_the_filters(trigger: dict[str, Any], ref: str, changed: list[str], fits: bool) -> None:
    assert fits_push(Trigger(**trigger), ref, lambda: changed) is fits


def test_pull_requests_pass_the_filters_of_their_base() -> None:
    assert fits_pull(Trigger(), "opened", "main", list)
    assert not fits_pull(Trigger(), "closed", "main", list)
    assert fits_pull(Trigger(types=("closed",)), "closed", "main", list)
    assert not fits_pull(Trigger(branches=("main",)), "opened", "other", list)
    assert not fits_pull(Trigger(paths=("src/**",)), "opened", "main", lambda: ["docs/a"])


@pytest.mark.parametrize(
    ("stored", "model"),
    [
        (scripts.Script, seeds.SeedScript),
        (scripts.ScriptJob, seeds.SeedScriptJob),
        (scripts.ScriptStep, seeds.SeedScriptStep),
        (scripts.Rule, seeds.SeedRule),
        (scripts.Outcome, seeds.SeedOutcome),
        (scripts.Condition, seeds.SeedCondition),
        (scripts.YamlValue, seeds.SeedYamlValue),
    ],
)
def test_a_record_holds_what_a_seed_says(stored: type, model: type[seeds.SeedModel]) -> None:
    assert set(get_type_hints(stored)) == set(model.model_fields)
