"""A scenario says which scopes the agent's token has, and GitHub holds the agent to them."""

import json
from pathlib import Path
from typing import Any

import pytest
from eval_stage import ISSUE, agent_on, checkpoint, handles_of, lifecycle_for, scenario, scored, staged

from ghx_base.errors import DocumentError
from ghx_bench import load_eval_scenarios
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.variants import expand_variants
from ghx_tools.capabilities.errors import CapabilityError

pytestmark = pytest.mark.anyio

OPEN = checkpoint("issue.view", ISSUE, {"type": "field_equals", "path": "state", "value": "OPEN"})


def with_scopes(scopes: list[str] | None) -> EvalScenario:
    return scenario(OPEN, extensions={"targets": ["twin"], "tokenScopes": scopes})


async def may_comment(task: EvalScenario) -> tuple[bool, list[str] | None]:
    """Return whether the agent can comment, and what the row will say of its scopes; the bench sees all the same."""
    lifecycle = lifecycle_for(task)
    async with lifecycle.run(Path("run")), staged(lifecycle, task) as stage:
        place = f"/repos/{stage.facts['repo']}/issues/{handles_of(stage).bindings['issue_number']}"
        scopes: Any = stage.facts.get("tokenScopes")
        async with agent_on(stage) as client:
            await client.get(place)
            try:
                await client.post(f"{place}/comments", {"body": "Hello"})
            except CapabilityError:
                return not (await scored(stage)).success, scopes
        assert (await scored(stage)).success
        return True, scopes


@pytest.mark.parametrize(
    ("scopes", "may"),
    [(None, True), (["repo"], True), (["public_repo"], True), (["read:org", "workflow"], False), ([], False)],
)
async def test_the_agent_can_do_what_its_scopes_allow(scopes: list[str] | None, may: bool) -> None:
    assert await may_comment(with_scopes(scopes)) == (may, scopes)


async def test_a_variant_may_take_rights_away() -> None:
    variants = {"reader": {"extensions": {"tokenScopes": []}}}
    plain, reader = expand_variants(scenario(OPEN, extensions={"targets": ["twin"], "variants": variants}))

    assert (await may_comment(plain))[0]
    assert not (await may_comment(reader))[0]


@pytest.mark.parametrize(
    ("extensions", "pointer", "words"),
    [
        ({"targets": ["twin"], "tokenScopes": ["public-repo"]}, "/extensions/tokenScopes/0", "'public_repo'"),
        ({"targets": ["twin"], "tokenScopes": [1]}, "/extensions/tokenScopes/0", "no scope 1"),
        ({"targets": ["twin"], "tokenScopes": "repo"}, "/extensions/tokenScopes", "expected a list"),
        ({"tokenScopes": ["repo"]}, "/extensions/tokenScopes", "targets: [twin]"),
    ],
)
def test_what_is_no_list_of_scopes_is_refused(tmp_path: Path, extensions: Any, pointer: str, words: str) -> None:
    path = tmp_path / "staged-001.json"
    path.write_text(json.dumps(scenario(OPEN, extensions=extensions).to_wire()))

    with pytest.raises(DocumentError) as refused:
        load_eval_scenarios(path)

    (problem,) = refused.value.problems
    assert problem.pointer == pointer
    assert words in str(problem)
