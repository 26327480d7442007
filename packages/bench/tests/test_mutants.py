"""No scenario of the default set lets a mistaken agent pass: one that does too little, something else, or too much.

Beyond what `check --solve` tries with every scenario: each call is left out, repeated or given wrong arguments.
The solutions of one mode are followed in this process, on forks of one world with the fixtures of all scenarios, so
that each scenario has siblings in addition to its own objects.
"""

import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import httpx2
import pytest
from mutants import ANYWHERE, DEEDS, Agent, Others, alterations, others_in
from nightly import mostly_nightly
from pydantic import JsonValue
from solved_in_process import MODE, Ground, seeded_for

from ghx_bench.fixtures.embedded import AGENT
from ghx_bench.loader import load_eval_scenarios
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.scenario.allowed_changes import COLLATERAL_CHECKPOINT
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_profiler.agents.controls.solution import SUFFIX, Solution, load_solution_file
from ghx_profiler.records.score import Score
from ghx_twin.git.packets import FLUSH, packet
from ghx_twin.queries import lookup
from ghx_twin.world import World

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SCENARIOS = {each.id: each for each in load_eval_scenarios(BUILT_IN_SCENARIOS, ids=DEEDS)}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The world of all scenarios, and what there is in it that one of them is not about."""

    ground: Ground
    others: Others

    def agent(self, scenario: EvalScenario, world: World) -> Agent:
        return Agent(client=self.ground.client(world), bound=self.ground.bound(scenario), others=self.others)


@pytest.fixture(scope="module")
async def trial() -> AsyncGenerator[Trial]:
    async with seeded_for(*SCENARIOS.values()) as ground:
        bound = ground.bound(SCENARIOS["pr-reply-threads-001"])
        yield Trial(ground=ground, others=await others_in(ground.client(ground.world), bound))


def solution_of(scenario: EvalScenario) -> Solution:
    found = load_solution_file(BUILT_IN_SCENARIOS / scenario.category / f"{scenario.id}{SUFFIX}").solution_for(MODE)
    assert found is not None
    return found


def failed(score: Score) -> set[str]:
    return {each.id for each in score.checkpoints if not each.passed}


def damage(score: Score) -> JsonValue:
    (told,) = (each.actual for each in score.checkpoints if each.id == COLLATERAL_CHECKPOINT)
    return told


async def too_little(trial: Trial, scenario: EvalScenario) -> dict[str, Score]:
    """Return what comes of a solution with one of its changes left out, made twice, or mistaken."""
    ground, solution, scores = trial.ground, solution_of(scenario), dict[str, Score]()
    with ground.fork() as world:
        changes = await ground.follow(scenario, solution, world)
    for name, altered in alterations(changes, trial.others):
        with ground.fork() as world:
            await ground.follow(scenario, solution, world, altered)
            scores[name] = await ground.judge(scenario, world)
    return scores


async def too_much(trial: Trial, scenario: EvalScenario, solved: World) -> dict[str, Score]:
    """Return what comes of doing all of it, and then something to it that nobody asked for."""
    scores: dict[str, Score] = {}
    for name, deed in DEEDS[scenario.id].items():
        with trial.ground.fork(solved) as world:
            await deed(trial.agent(scenario, world))
            scores[name] = await trial.ground.judge(scenario, world)
    return scores


async def unnoticed_elsewhere(trial: Trial, scenario: EvalScenario, solved: World) -> list[str]:
    """Do things that have nothing to do with the task, one after the other, and return those that nobody noticed."""
    unnoticed: list[str] = []
    with trial.ground.fork(solved) as world:
        agent = trial.agent(scenario, world)
        known = damage(await trial.ground.judge(scenario, world))
        for name, deed in ANYWHERE.items():
            await deed(agent)
            known, before = damage(await trial.ground.judge(scenario, world)), known
            if known == before:
                unnoticed.append(name)
    return unnoticed


@pytest.mark.parametrize("id_", mostly_nightly(SCENARIOS, keep=list(SCENARIOS)[:2]))
async def test_only_the_whole_solution_and_nothing_else_passes(id_: str, trial: Trial) -> None:
    scenario, ground = SCENARIOS[id_], trial.ground
    with ground.fork() as solved:
        await ground.follow(scenario, solution_of(scenario), solved)
        right = await ground.judge(scenario, solved)
        mutants = {**await too_little(trial, scenario), **await too_much(trial, scenario, solved)}
        elsewhere = await unnoticed_elsewhere(trial, scenario, solved)

    assert failed(right) == set()
    assert [name for name, score in mutants.items() if score.success] == []
    assert elsewhere == []


async def push_asking_for_no_report(trial: Trial, scenario: EvalScenario, world: World) -> None:
    """Move the default branch back by one commit, without the capability `report-status`."""
    agent, server = trial.agent(scenario, world), trial.ground.server
    last = await agent.tip("main")
    first = (await agent.client.get(agent.at(f"git/commits/{last}"))).data["parents"][0]["sha"]
    empty = b"PACK\0\0\0\2\0\0\0\0"
    asked = packet(f"{last} {first} refs/heads/main\0 agent=test".encode()) + FLUSH
    async with httpx2.AsyncClient() as http:
        answer = await http.post(
            f"{server.url}/{agent.bound['repo']}.git/git-receive-pack",
            auth=("x", server.hosting.issue_token(world, lookup.user(world, AGENT))),
            content=asked + empty + hashlib.sha1(empty).digest(),
            headers={"Content-Type": "application/x-git-receive-pack-request"},
        )
    assert answer.status_code == 200
    assert await agent.tip("main") == first


async def test_a_push_that_asks_for_no_report_is_damage(trial: Trial) -> None:
    scenario = SCENARIOS["issue-triage-001"]
    with trial.ground.fork() as world:
        await trial.ground.follow(scenario, solution_of(scenario), world)
        await push_asking_for_no_report(trial, scenario, world)

        score = await trial.ground.judge(scenario, world)

    assert failed(score) == {COLLATERAL_CHECKPOINT}
    assert "main" in str(damage(score))
