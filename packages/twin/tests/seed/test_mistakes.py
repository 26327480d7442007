"""What is wrong with a seed is said in one line, with its place."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from seeds import seed_of, world_of

from ghx_base.commandline import run_command_line
from ghx_base.errors import DocumentError
from ghx_twin.cli.main import app
from ghx_twin.seed.building import SeedError, build_world
from ghx_twin.seed.script_warnings import script_warnings
from ghx_twin.world import World

BEGINNING = """
users: [{login: octo, tokens: [{token: t}]}, {login: hubot}]
organizations: [{login: acme, members: {octo: admin}}]
repositories:
  - name: acme/widgets
    collaborators: {hubot: write}
    files: {a.txt: "1\\n2\\n3\\n"}
    history: [{branch: feature, message: Change, files: {a.txt: "1\\ntwo\\n3\\n"}}]
"""


def refused(rest: str) -> str:
    """Return the complaint about a seed, which is one line."""
    with pytest.raises(SeedError) as caught:
        world_of(BEGINNING + rest)
    assert "\n" not in str(caught.value)
    return str(caught.value)


PULL = "    pulls: [{title: Title, head: feature, author: hubot, %s}]"
WIDGETS = "repositories: acme/widgets: "
OWN = "{users: [{login: o}, {login: p}], repositories: [{name: o/x, %s}]}"
ONE = "repositories: [{name: o/x, %s}]"
SHA = "a" * 40


@pytest.mark.parametrize(
    ("rest", "complaint"),
    [
        ("    issues: [{title: Title, author: nobody}]", "'Title': .*login of 'nobody'"),
        ("    issues: [{title: Title, labels: [nope]}]", "'Title': .*Label.*'nope'"),
        ("    issues: [{title: Title, assignees: [nobody]}]", "'Title': .*login of 'nobody'"),
        ("    issues: [{title: Title, milestone: Never}]", "'Title': there is no milestone 'Never'; list it"),
        (
            "    issues: [{title: Title, comments: [{body: a}, {body: ' '}]}]",
            "'Title': comment 2: Body cannot be blank",
        ),
        ("    issues: [{title: Title, comments: [{author: nobody, body: a}]}]", "'Title': comment 1: .*'nobody'"),
        ("    issues: [{title: Title, reactions: {heart: [nobody]}}]", "'Title': reaction heart of nobody: "),
        (
            "    rulesets: [{name: r, conditions: {ref_name: {include: ['refs/heads/[z-a]']}}}]",
            r"rulesets: 'r': Invalid target patterns: 'refs/heads/\[z-a\]'",
        ),
        ("    issues: [{title: ' '}]", "' ': title is missing"),
        ("    issues: [{number: 1, title: One}, {number: 1, title: Two}]", "number 1 is given twice"),
        ("    issues: [{number: 4, title: One}]\n    pulls: [{number: 4, title: Two, head: feature}]", "number 4 is "),
        ("    issues: [{title: One, parent: '#9'}]", "'One': .*number of 9"),
        ("    issues: [{title: One, parent: '#1'}]", "'One': .*Sub issue cannot be the same"),
        ("    issues: [{title: One, blocked_by: ['acme/none#1']}]", "'One': .*'acme/none'"),
        ("    issues: [{title: One}]\n    next_number: 1", "next_number: 1 is taken; the first free one is 2"),
        ("    pulls: [{title: Title, head: nowhere}]", "'Title': there is no branch 'nowhere'; make it in history"),
        ("    pulls: [{title: Title, head: feature, base: nowhere}]", "'Title': there is no branch 'nowhere'"),
        ("    pulls: [{title: Title, head: 'hubot:feature'}]", "'Title': head"),
        ("    pulls: [{title: Title, head: main}]", "'Title': No commits between main and main"),
        (
            PULL % "reviews: [{author: hubot, state: APPROVED}]",
            "'Title': review of hubot: Review Can not approve your own",
        ),
        (PULL % "reviews: [{author: octo, state: CHANGES_REQUESTED}]", "'Title': review of octo: Body can't be blank"),
        (PULL % "reviews: [{author: nobody}]", "'Title': review of nobody: .*login of 'nobody'"),
        (
            PULL % "threads: [{path: a.txt, line: 40, comments: [{body: x}]}]",
            "'Title': thread on a.txt:40: Line could not",
        ),
        (
            PULL % "threads: [{path: b.txt, line: 1, comments: [{body: x}]}]",
            "'Title': thread on b.txt:1: Path could not",
        ),
        (
            PULL % "reviews: [{author: octo, body: x, threads: ["
            "{path: a.txt, line: 2, comments: [{author: hubot, body: x}]}]}]",
            "review of octo: thread on a.txt:2: its first comment is part of the review of octo",
        ),
        (PULL % "reviewers: [hubot]", "'Title': reviewers: .*author"),
        (PULL % "reviewers: [acme/nobody]", "'Title': reviewers: "),
        (
            PULL % "checks: [{name: build, conclusion: great}]",
            "'Title': check 'build': conclusion 'great' is not possible",
        ),
        (PULL % f"outcome: {{head_sha: {SHA}, base_sha: {SHA}}}", "'Title': outcome is for exports"),
        ("    tags: {v1: nowhere}", "tags: v1: there is no branch or commit 'nowhere' yet; put the commit"),
        ("    tags: {'a..b': main}", "tags: a..b: "),
        ("    checks: [{commit: nowhere, name: build}]", "checks: there is no branch or commit 'nowhere'"),
        ("    labels: [{name: bug, color: red}]", "labels: 'bug': color is not possible here"),
        ("    labels: [{name: bug}, {name: BUG}]", "labels: 'BUG': name is there already"),
        ("    milestones: [{title: A}, {title: A}]", "milestones: 'A': title is there already"),
        ("    milestones: [{title: A, number: 3}, {title: B, number: 2}]", "milestones: 'B': number 2 is taken"),
        ("    protection: [{pattern: ''}]", "protection: : pattern is missing"),
        ("    teams: {core: write}", "teams: core: "),
        (
            "    allow_merge_commit: false\n    allow_squash_merge: false\n    allow_rebase_merge: false",
            "Sorry, you need",
        ),
        ("    topics: [Not A Topic]", "Topics must"),
        ("    bundle: AAAA", "bundle: it holds the whole history"),
        ("  - {name: acme/widgets}", "name"),
    ],
)
def test_what_github_would_refuse_is_told_with_its_place(rest: str, complaint: str) -> None:
    said = refused(rest)
    assert said.startswith(WIDGETS)
    assert re.match(complaint, said.removeprefix(WIDGETS)) or re.search(complaint, said), said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("users: [{login: octo}, {login: Octo}]", "users: Octo: login is there already"),
        ("users: [{login: a--b}]", "users: a--b: "),
        ("users: [{login: octo, tokens: [{token: 'a b'}]}]", "users: octo: a token is printable ASCII"),
        (
            "users: [{login: a, tokens: [{token: t}]}, {login: b, tokens: [{token: t}]}]",
            "users: b: token is there already",
        ),
        ("organizations: [{login: acme, members: {nobody: admin}}]", "organizations: acme: members: nobody: "),
        (
            "organizations: [{login: acme, teams: [{name: A}, {name: a}]}]",
            "organizations: acme: teams: a: Name must be unique",
        ),
        ("repositories: [{name: nobody/x}]", "repositories: nobody/x: .*login of 'nobody'"),
        (OWN % "fork_of: o/later}, {name: o/later", "repositories: o/x: .*'o/later'"),
        (OWN % "collaborators: {o: read}", "repositories: o/x: collaborators: o: "),
        (OWN % "visibility: internal", "visibility 'internal' is not possible"),
        (OWN % "default_branch: a..b", "default_branch 'a..b' is not possible"),
        (OWN % "files: {../x: a}", "repositories: o/x: files: .*"),
        (OWN % "files: {a: b, a/c: d}", "repositories: o/x: files: .*"),
        (OWN % "files: {.git/config: b}", "repositories: o/x: files: .*"),
        (OWN % "files: {a: {content: '*', encoding: base64}}", "files: a is not base64"),
        (OWN % "history: [{message: M, files: {gone: null}}]", "history: 'M': .*gone"),
        (OWN % "history: [{message: M, from: nowhere, branch: b}]", "history: 'M': .*'nowhere'"),
        (OWN % "files: {a: b}, history: [{message: M, branch: main, from: main}]", "leave `from` out"),
        (OWN % "files: {a: b}, history: [{message: M, branch: 'a b'}]", "history: 'M': "),
        (OWN % "bundle: AAAA", "bundle: git cannot read the bundle"),
        (OWN % "bundle: '!'", "bundle: it is not base64"),
        (OWN % "visibility: private, issues: [{title: T, author: p}]", "'T': .*'o/x'"),
    ],
)
def test_the_other_parts_are_told_with_their_place_too(text: str, complaint: str) -> None:
    with pytest.raises(SeedError) as caught:
        world_of(text)
    said = str(caught.value)
    assert "\n" not in said
    assert re.search(complaint, said), said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("users: [{login: octo, nmae: x}]", r"^seed.yaml:1:\d+: /users/0/nmae: unknown key 'nmae'.*name"),
        ("users: [{login: 'no way'}]", r"^seed.yaml:1:\d+: /users/0/login: "),
        ("users: [{login: octo, at: 2026-13-01T00:00:00Z}]", r"^seed.yaml:1:\d+: /users/0/at: .*no such day or time"),
        ("users: [{login: octo, at: 0001-01-01T00:00:00Z}]", r"^seed.yaml:1:\d+: /users/0/at: .*between 1970 and 2999"),
        ("users: [{login: octo, at: yesterday}]", r"^seed.yaml:1:\d+: /users/0/at: "),
        (
            ONE % "rulesets: [{name: r, rules: [{type: deletion}, {type: merge_queue}]}]",
            r"/rules/1/type: the rule 'merge_queue' of GitHub's is not in the twin; leave it out",
        ),
        (
            ONE % "rulesets: [{name: r, bypass_actors: [{actor: o}]}]",
            r"missing key 'actor_type'; add it: one of 'Integration', 'OrganizationAdmin', .*'User'$",
        ),
        (
            ONE % "rulesets: [{name: r, rules: [{type: file_path_restriction, parameters: "
            "{restricted_file_paths: ['[z-a]']}}]}]",
            r"/restricted_file_paths: '\[z-a\]' is no pattern of paths: ",
        ),
        ("version: 2", r"^seed.yaml:1:\d+: /version: "),
        ("repositories: [{name: widgets}]", r"^seed.yaml:1:\d+: /repositories/0/name: "),
        (ONE % "issues: [{title: T, number: 0}]", r"/issues/0/number: "),
        (ONE % "issues: [{title: T, number: 99999999999999999999}]", r"/issues/0/number: "),
        (
            ONE % "issues: [{title: T, number: '7'}]",
            r"/issues/0/number: expected an integer, got the string '7'",
        ),
        (ONE % "issues: [{title: T, number: true}]", r"/issues/0/number: expected an integer"),
        (ONE % "issues: [{title: T, locked: 1}]", r"/issues/0/locked: expected true or false"),
        (ONE % "has_wiki: 'no'", r"/repositories/0/has_wiki: expected true or false"),
        (ONE % "protection: [{pattern: main, required_approvals: '1'}]", r"/required_approvals: expected an integer"),
        (ONE % "issues: [{title: T, state: closed, state_reason: reopened}]", "cannot have the state_reason"),
        (ONE % "issues: [{title: T, closed_by: o}]", "closed_at and closed_by are for what is closed"),
        (ONE % "issues: [{title: T, lock_reason: spam}]", "add `locked: true`"),
        (ONE % "pulls: [{title: T, head: f, merged_by: o}]", "merged_by is for what is merged"),
        (ONE % "pulls: [{title: T}]", r"head"),
        (ONE % "pulls: [{title: T, head: f, threads: [{path: a, comments: []}]}]", r"/threads/0/comments: "),
        (ONE % "files: {VERSION: 1}", r"^seed.yaml:1:\d+: /repositories/0/files/VERSION"),
        ("[]", r"^seed.yaml:1:1: "),
        (
            ONE % "workflows: [{name: CI, script: {jobs: {a: {rules: [{when: [{file: f, has: x, lacks: y}]}]}}}}]",
            "a condition has one of exists, has, lacks, matches and value",
        ),
        (
            ONE % "workflows: [{name: CI, script: {jobs: {a: {rules: [{when: [{file: f, matches: '('}]}]}}}}]",
            "it is no regular expression: ",
        ),
        (ONE % "workflows: [{name: CI, script: {jobs: {a: {steps: [{name: x, seconds: -1}]}}}}]", "at least 0"),
    ],
)
def test_what_is_no_seed_is_told_with_line_and_column(text: str, complaint: str) -> None:
    with pytest.raises(DocumentError) as caught:
        seed_of(text)
    assert all(re.match(r"seed\.yaml:\d+:\d+: ", line) for line in str(caught.value).splitlines())
    assert re.search(complaint, str(caught.value)), str(caught.value)


def test_the_command_ends_with_the_complaint_and_no_traceback(tmp_path: Path) -> None:
    seed = tmp_path / "seed.yaml"
    seed.write_text(BEGINNING + "    issues: [{title: Title, author: nobody}]", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "ghx_twin.cli.main", "check", str(seed)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {seed}: repositories: acme/widgets: 'Title': ")


WORKFLOW = '.github/workflows/ci.yml: "on: [push, pull_reqest]\\njobs: {test: {steps: [{run: pytest}]}}"'
SCRIPTED = BEGINNING.replace("files: {", f"files: {{{WORKFLOW}, ", 1)
CI = "    workflows: [{name: CI, path: .github/workflows/%s, script: {jobs: %s}}]"


@pytest.mark.parametrize(
    ("workflow", "warnings"),
    [
        (CI % ("ci.yml", "{test: {steps: [{name: Run pytest}]}, '*': {}}"), []),
        (CI % ("ci.yml", "{tset: {}}"), ["script: .github/workflows/ci.yml has no job 'tset'; did you mean 'test'?"]),
        (
            CI % ("ci.yml", "{test: {steps: [{name: run pytests}], rules: [{step: Deploy}]}}"),
            [
                "script: job 'test' has no step 'run pytests'; did you mean 'Run pytest'?",
                "script: job 'test' has no step 'Deploy'; known: 'Run pytest'",
            ],
        ),
        (
            CI % ("cl.yml", "{}"),
            ["path: no branch has a workflow at '.github/workflows/cl.yml'; did you mean 'ci.yml'?"],
        ),
    ],
)
def test_what_a_script_says_of_no_job_or_step_is_a_warning(workflow: str, warnings: list[str]) -> None:
    seed = seed_of(SCRIPTED + workflow)
    with World.create() as world:
        build_world(world, seed)
        found = [each.removeprefix(f"{WIDGETS}workflows: 'CI': ") for each in script_warnings(world, seed)]

    event = "on: GitHub has no event 'pull_reqest'; did you mean 'pull_request'?"
    assert found == (warnings if "cl.yml" in workflow else [event, *warnings])


def test_the_command_prints_warnings_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = tmp_path / "seed.yaml"
    seed.write_text(SCRIPTED.replace("reqest", "request") + CI % ("ci.yml", "{tset: {}}"), encoding="utf-8")

    assert run_command_line(app, ["check", str(seed)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{seed}: ok (2 users, 1 organization, 1 repository)\n"
    (line,) = printed.err.splitlines()
    assert line.startswith(f"warning: {seed}: {WIDGETS}workflows: 'CI': script: ")
