"""A seed can be the world of a scenario: each attempt has a fork of it, and its people, repositories and rules."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from eval_stage import MODE, agent_on, handles_of, scored

from ghx_base.errors import DocumentError, InputError
from ghx_bench.checking.project_check import check_files
from ghx_bench.fixtures.library import load_fixtures
from ghx_bench.fixtures.seed_worlds import seed_world
from ghx_bench.loader import load_eval_scenarios
from ghx_bench.modes.definitions import Definitions
from ghx_bench.project.config import EvalConfig
from ghx_bench.provenance import ingredients_of
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_profiler.testing import sample_cell
from ghx_tools.capabilities.environment import client_from_environment
from ghx_tools.capabilities.errors import GitHubError
from ghx_twin.state.records import Issue

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "examples" / "worlds"
ID, OTHER = "pr-approve-and-merge-001", "pr-from-fork-001"
REPO = "acme/widgets"


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE / "fixtures", tmp_path / "fixtures"))


def scenarios(**extensions: Any) -> list[EvalScenario]:
    first, *others = load_eval_scenarios(EXAMPLE / "scenarios", ids=[ID, OTHER])
    return [first.model_copy(update={"extensions": {**(first.extensions or {}), **extensions}}), *others]


async def test_the_world_of_a_scenario_is_its_seed_beside_the_usual_world_of_others(fixtures: Path) -> None:
    ours, others = scenarios()
    lifecycle = TwinLifecycle(None, [ours, others], load_fixtures([fixtures]))
    async with lifecycle.run(Path("run_1")):
        async with lifecycle.cell(sample_cell(scenario_id=ID), ours, MODE) as stage:
            async with agent_on(stage) as client:
                assert (await client.get("/user")).data["login"] == "ada"
                assert (await client.get(f"/repos/{REPO}/forks")).data[0]["full_name"] == "hubot/widgets"
                with pytest.raises(GitHubError, match="review"):  # the branch is protected
                    await client.put(f"/repos/{REPO}/pulls/7/merge", {"merge_method": "squash"})
                await client.post(f"/repos/{REPO}/pulls/7/reviews", {"event": "APPROVE"})
                await client.put(f"/repos/{REPO}/pulls/7/merge", {"merge_method": "squash"})
            assert handles_of(stage).agent == "ada"
            assert stage.facts["repo"] == REPO
            assert (await scored(stage)).success
        async with lifecycle.cell(sample_cell(scenario_id=ID), ours, MODE) as again:
            assert not (await scored(again)).success, "each attempt has a fork of its own"
        async with lifecycle.cell(sample_cell(scenario_id=OTHER), others, MODE) as usual, agent_on(usual) as client:
            assert (await client.get("/user")).data["login"] == "bench-agent"


def test_worlds_of_several_sizes_share_a_seed(fixtures: Path) -> None:
    path = fixtures / "acme_widgets.yaml"
    seed = next(fixtures.glob("*.seed.yaml"))
    issues = "    issues:\n      - {title: 'Link {{n}}', repeat: {times: 2, name: links}}\n"
    seed.write_text(seed.read_text().replace("    issues:\n", issues, 1))
    (fixtures / "small.yaml").write_text(path.read_text().replace("acme_widgets", "small"))
    path.write_text(path.read_text().replace("world:\n", "world:\n  size: {links: 40}\n"))
    library = load_fixtures([fixtures])

    with seed_world(library.entry("small")).world as small, seed_world(library.entry("acme_widgets")).world as large:
        assert large.database.count(Issue) - small.database.count(Issue) == 38

    path.write_text(path.read_text().replace("links:", "link:"))
    with pytest.raises(DocumentError) as refused:
        seed_world(load_fixtures([fixtures]).entry("acme_widgets"))
    assert refused.value.problems[0].pointer == "/world/size/link"
    assert refused.value.problems[0].suggestion == "did you mean 'links'?"
    assert "/world/size/link" in [each.pointer for each in check_files([fixtures]).errors]


@pytest.mark.process
async def test_a_session_can_start_in_a_checkout_of_a_seeds_repository(fixtures: Path) -> None:
    ours, _ = scenarios(workspace={"repo": "hubot/widgets", "upstream": "{{repo}}", "branch": "faster"})
    lifecycle = TwinLifecycle(None, [ours], load_fixtures([fixtures]))
    async with lifecycle.run(Path("run_1")), lifecycle.cell(sample_cell(scenario_id=ID), ours, MODE) as stage:
        assert stage.directory is not None
        assert (stage.directory / "src/widget.py").read_text().endswith("return 2 * degrees % 360\n")
        assert f"url = https://github.com/{REPO}.git\n" in (stage.directory / ".git/config").read_text()


async def test_the_tokens_of_a_seed_open_nothing(fixtures: Path) -> None:
    seed = fixtures / "acme.seed.yaml"
    seed.write_text(seed.read_text().replace("login: octocat,", "login: octocat, tokens: [{token: t-octocat}],"))
    ours, _ = scenarios()
    lifecycle = TwinLifecycle(None, [ours], load_fixtures([fixtures]))
    async with lifecycle.run(Path("run_1")), lifecycle.cell(sample_cell(scenario_id=ID), ours, MODE) as stage:
        environment = {**stage.environment, "GITHUB_TOKEN": "t-octocat", "GH_TOKEN": "t-octocat"}
        async with client_from_environment(environment) as client:
            with pytest.raises(GitHubError, match="Bad credentials"):
                await client.get("/user")


async def test_the_faults_of_a_seed_are_there_in_each_attempt(fixtures: Path) -> None:
    seed = fixtures / "acme.seed.yaml"
    seed.write_text(f"{seed.read_text()}\nfaults: [{{path: /user, times: 1, status: 404}}]\n")
    ours, _ = scenarios()
    lifecycle = TwinLifecycle(None, [ours], load_fixtures([fixtures]))
    async with lifecycle.run(Path("run_1")):
        for _ in range(2):
            cell = lifecycle.cell(sample_cell(scenario_id=ID), ours, MODE)
            async with cell as stage, agent_on(stage) as client:
                with pytest.raises(GitHubError, match="Server Error"):
                    await client.get("/user")
                assert (await client.get("/user")).data["login"] == "ada"


@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("acme.seed.yaml", "labels: [bug]", "labels: [bgu]", "acme.seed.yaml: repositories: acme/widgets: "),
        ("acme.seed.yaml", "    files:", "    fiels:", "acme.seed.yaml:14:5: /repositories/0/fiels: unknown key"),
        (
            "acme_widgets.yaml",
            "agent: ada",
            "agent: adda",
            "acme_widgets.yaml:8:10: /world/agent: the seed has",
        ),
    ],
)
async def test_a_wrong_world_is_refused_before_any_cell(
    fixtures: Path, file: str, old: str, new: str, reason: str
) -> None:
    path = fixtures / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError) as refused:
        async with TwinLifecycle(None, scenarios(), load_fixtures([fixtures])).run(Path("run_1")):
            pass
    assert reason in str(refused.value)


def test_another_seed_is_another_ingredient(fixtures: Path) -> None:
    def ingredients() -> dict[str, str]:
        return ingredients_of(
            EvalConfig(modes=("baseline",)),
            project=fixtures,
            agents={},
            scenarios=scenarios(),
            fixtures=load_fixtures([fixtures]),
            solutions={},
            definitions=Definitions(),
            modes={},
        )

    before = ingredients()
    seed = fixtures / "acme.seed.yaml"
    seed.write_text(seed.read_text().replace("Turn faster", "Turn quickly"))
    after = ingredients()

    assert [name for name in before if before[name] != after[name]] == ["fixture acme_widgets: seed acme.seed.yaml"]
