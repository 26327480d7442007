"""What `ghx-bench new scenario` and `ghx-bench init` write works at once: it can be done, and not by doing nothing."""

from pathlib import Path
from typing import get_args

import pytest
from bench_command import fork_ghx_bench, printed, rows_of, run_in
from solved_in_process import MODE, seeded_for

from ghx_bench.cli.init import PROJECT
from ghx_bench.fixtures.library import load_fixtures
from ghx_bench.loader import load_eval_scenarios
from ghx_bench.project.starter import write_starter
from ghx_bench.scenario.allowed_changes import COLLATERAL_CHECKPOINT
from ghx_bench.scenario.eval_scenario import Category
from ghx_profiler.agents.controls.solution import SUFFIX, load_solution_file
from ghx_profiler.records.score import Score

IDS = [f"{category}-task-001" for category in get_args(Category)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a draft of each category."""
    for id_ in IDS:
        write_starter(id_, tmp_path / "scenarios")
    return tmp_path / "scenarios"


def passed(score: Score) -> dict[str, bool]:
    return {each.id: each.passed for each in score.checkpoints}


def test_drafts_are_done_by_the_reference_agent(folder: Path) -> None:
    """In the modes with a shell; the solutions of the third are followed below, without its server."""
    chosen = [word for id_ in IDS for word in ("--scenario", id_)]
    flags = (
        "--mode",
        "baseline",
        "--mode",
        "ghx",
        "--repetitions",
        "1",
        "--skip-warmup",
        "--max-concurrency",
        "4",
        "--no-report",
        "--json",
    )
    told = printed(fork_ghx_bench(folder.parent, "run", *chosen, *flags))

    rows = rows_of(run_in(folder.parent))
    wrong = {str(row.cell): row.error or row.checkpoint_details for row in rows if not row.success}
    assert wrong == {}
    done = {mode: each["successes"] for mode, each in told["modes"].items()}
    assert done == {"baseline": len(IDS), "ghx": len(IDS)}


@pytest.mark.anyio
async def test_who_does_nothing_fails_every_checkpoint_of_a_draft(folder: Path) -> None:
    scenarios = load_eval_scenarios(folder)
    async with seeded_for(*scenarios) as ground:
        nothing = {each.id: passed(await ground.judge(each, ground.world)) for each in scenarios}

    assert sorted(nothing) == sorted(IDS)
    for id_, checkpoints in nothing.items():
        assert [each for each, holds in checkpoints.items() if holds] == [COLLATERAL_CHECKPOINT], id_
        assert len(checkpoints) > 1, id_


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_draft_that_is_done_by_half_or_with_more_to_it_fails(folder: Path) -> None:
    scenarios = load_eval_scenarios(folder)
    async with seeded_for(*scenarios) as ground:
        for scenario in scenarios:
            solution = load_solution_file(folder / f"{scenario.id}{SUFFIX}").solution_for(MODE)
            assert solution is not None
            with ground.fork() as world:
                changes = await ground.follow(scenario, solution, world)
                assert (await ground.judge(scenario, world)).success, scenario.id
                await ground.client(world).post(f"/repos/{ground.manifest.repo}/issues", {"title": "More"})
                assert not passed(await ground.judge(scenario, world))[COLLATERAL_CHECKPOINT], scenario.id
            for left_out in changes:
                with ground.fork() as world:
                    await ground.follow(
                        scenario, solution, world, lambda each, out=left_out: [] if each == out else [each.arguments]
                    )
                    assert not (await ground.judge(scenario, world)).success, f"{scenario.id} without {left_out.task}"


@pytest.mark.anyio
async def test_who_does_nothing_fails_every_checkpoint_of_a_new_projects_scenario() -> None:
    (scenario,) = load_eval_scenarios(PROJECT / "scenarios")
    async with seeded_for(scenario, library=load_fixtures([PROJECT / "fixtures"])) as ground:
        nothing = passed(await ground.judge(scenario, ground.world))

    assert nothing == {"answered": False, "closed": False, COLLATERAL_CHECKPOINT: True}
