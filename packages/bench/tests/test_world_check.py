"""`ghx-bench check` finds what scenarios and fixtures name that their world does not have, each with its place."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from nightly import mostly_nightly

from ghx_bench.checking.project_check import check_files

EXAMPLE = Path(__file__).parents[3] / "examples" / "worlds"
FORK, RERUN, MERGE = (
    f"scenarios/{each}.yaml" for each in ("pr-from-fork-001", "workflow-rerun-failed-001", "pr-approve-and-merge-001")
)
WORLD, SEED, FIXTURE = "fixtures/acme_widgets.yaml", "fixtures/acme.seed.yaml", "fixtures/fork_with_fix.yaml"


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], list[str]]:
    """Change something in a copy of the example, and return every error that is found then."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def apply(file: str, old: str, new: str) -> list[str]:
        text = Path(file).read_text()
        assert old in text
        Path(file).write_text(text.replace(old, new, 1))
        return [str(each) for each in check_files([Path()]).errors]

    return apply


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    mostly_nightly(
        [
            (
                FORK,
                'branch: "{{head_branch}}"\n    upstream',
                "branch: bench/round-price\n    upstream",
                "/extensions/workspace/branch: bench-agent/fixtures has no branch 'bench/round-price'; "
                "did you mean 'bench/round-prices'?",
            ),
            (
                FORK,
                'repo: "{{fork}}"\n    branch',
                "repo: bench-agent/fixture\n    branch",
                "/extensions/workspace/repo: there is no repository 'bench-agent/fixture'; "
                "did you mean 'bench-agent/fixtures'?",
            ),
            (
                FORK,
                "      notes.txt: |\n        105 cents, 10 percent: 115 or 116? Ask before the next release.\n",
                "      src/price.py: null\n",
                "/extensions/workspace/changes/src~1price.py: bench-agent/fixtures has no file 'src/price.py' on "
                "bench/round-prices that could be removed; did you mean 'src/prices.py'?",
            ),
            (
                FORK,
                'upstream: "{{repo}}"',
                'upstream: "{{upstraem}}"',
                "/extensions/workspace/upstream: nothing is bound to {{upstraem}}; add it to fixture.bindings",
            ),
            (
                FORK,
                "      notes.txt: |",
                "      .git/config: |",
                "/extensions/workspace/changes/.git~1config: '.git/config' is git's own; name files of the repository",
            ),
            (
                FORK,
                "    changes:",
                "    change:",
                "/extensions/workspace/change: unknown key 'change'; did you mean 'changes'?",
            ),
            (
                FORK,
                'upstream: "{{repo}}"',
                'upstream: "{{checkpoints.pr-opened.items.0.title}}"',
                "/extensions/workspace/upstream: the workspace cannot contain {{checkpoints.pr-opened.items.0.title}}",
            ),
            (
                RERUN,
                "  targets: [twin]\n",
                "",
                "/fixture/requires/0: fixture 'pr_with_failed_run' has workflow runs, which only the embedded",
            ),
            (
                MERGE,
                "  targets: [twin]\n",
                "",
                "/fixture/requires/0: fixture 'acme_widgets' is a world of its own, which only the",
            ),
            (
                MERGE,
                "requires: [acme_widgets]",
                "requires: [issue_for_triage, acme_widgets]",
                "/fixture/requires/1: fixture 'acme_widgets' is a world of its own, in which no other fixture can be",
            ),
            (
                MERGE,
                "acme_widgets.metadata.headSha",
                "acme_widgets.metadata.repositories.acme/widgets.branchShas.fast",
                "/fixture/bindings/head_sha: 'acme_widgets.metadata.repositories.acme/widgets.branchShas' has no "
                "'fast'",
            ),
            (WORLD, "agent: ada", "agent: adda", "/world/agent: the seed has no user 'adda'; did you mean 'ada'?"),
            (
                WORLD,
                "observer: octocat",
                "observer: ada",
                "/world: no user but the agent could look at the result; name another user of the seed in 'observer'",
            ),
            (
                WORLD,
                "repo: acme/widgets",
                "repo: acme/widget",
                "/world/repo: the seed has no repository 'acme/widget'; did you mean 'acme/widgets'?",
            ),
            (
                WORLD,
                "number: 7",
                "number: 6",
                "/world/number: acme/widgets has no issue or pull request 6; it has",
            ),
            (
                WORLD,
                "{{commits.faster}}",
                "{{commits.fastr}}",
                "/metadata/headSha: nothing is bound to {{commits.fastr}}; did you mean {{commits.faster}}?",
            ),
            (WORLD, "acme.seed.yaml", "acne.seed.yaml", "fixtures/acne.seed.yaml: there is no such file"),
            (SEED, "    files:", "    fiels:", "/repositories/0/fiels: unknown key 'fiels'; did you mean 'files'?"),
            (
                SEED,
                "labels: [bug]",
                "labels: [bgu]",
                "/world/seed: fixtures/acme.seed.yaml: repositories: acme/widgets: 'It turns too slowly': ",
            ),
            (FIXTURE, "fork: agent", "fork: author", "/branches/1/fork: the author has no fork in this fixture"),
        ],
        keep=6,
    ),
)
def test_a_mistake_is_found(
    edit: Callable[[str, str, str], list[str]], file: str, old: str, new: str, problem: str
) -> None:
    found = edit(file, old, new)

    assert any(problem in each for each in found), found


def test_each_place_has_a_line(edit: Callable[[str, str, str], list[str]]) -> None:
    (found,) = edit(SEED, "    files:", "    fiels:")

    assert found.startswith("fixtures/acme.seed.yaml:14:5: ")


def test_a_checkout_in_a_world_of_its_own_is_looked_up_there(edit: Callable[[str, str, str], list[str]]) -> None:
    workspace = (
        "  workspace: {repo: hubot/widgets, upstream: '{{repo}}', branch: faster, changes: {src/widget.py: null}}\n"
    )

    assert edit(MERGE, "  targets: [twin]\n", f"  targets: [twin]\n{workspace}") == []
    (found,) = edit(MERGE, "src/widget.py: null", "src/slow.py: null")
    assert "hubot/widgets has no file 'src/slow.py' on faster that could be removed" in found
