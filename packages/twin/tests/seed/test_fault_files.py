"""Faults in seeds and in files of their own."""

from pathlib import Path

import pytest
from seeds import seed_of, world_of

from ghx_base.errors import DocumentError, InputError
from ghx_twin.faults import Fault, InjectedChange
from ghx_twin.seed.document import WorldSeed
from ghx_twin.seed.exporting import export_seed
from ghx_twin.seed.loading import load_seed, seed_text
from ghx_twin.seed.worlds import add_faults, open_world
from ghx_twin.world import World

PEOPLE = "users: [{login: octo}, {login: hubot}]\nrepositories: [{name: octo/x, issues: [{title: One}]}]\n"
RULES = """\
faults:
  - {method: POST, path: "/repos/*/comments", skip: 2, times: 2, rate_limit: secondary, wait_s: 1}
  - {status: 502, after: true, probability: 0.5, seed: 7}
  - name: edit
    method: GET
    path: /repos/octo/x/issues/1
    skip: 2
    times: 1
    change: {actor: hubot, method: PATCH, path: /repos/octo/x/issues/1, body: {body: New}}
"""
FAULTS = (
    Fault(method="POST", path="/repos/*/comments", skip=2, times=2, rate_limit="secondary", wait_s=1),
    Fault(status=502, after=True, probability=0.5, seed=7),
    Fault(
        name="edit",
        method="GET",
        path="/repos/octo/x/issues/1",
        skip=2,
        times=1,
        change=InjectedChange(actor="hubot", method="PATCH", path="/repos/octo/x/issues/1", body={"body": "New"}),
    ),
)


def test_a_seed_scripts_faults() -> None:
    with world_of(PEOPLE + RULES) as world:
        assert world.faults.scripted == FAULTS


def test_faults_are_no_part_of_a_world_that_is_exported() -> None:
    with world_of(PEOPLE + RULES) as world:
        assert export_seed(world).faults == ()


def test_a_seed_with_faults_can_be_written_and_read(tmp_path: Path) -> None:
    seed = seed_of(PEOPLE + RULES)
    (tmp_path / "seed.yaml").write_text(seed_text(seed), encoding="utf-8")
    assert load_seed(tmp_path / "seed.yaml") == seed


def test_a_file_scripts_faults_beside_those_of_the_seed(tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text("faults: [{latency_ms: 5}]", encoding="utf-8")
    with world_of(PEOPLE + RULES) as world:
        add_faults(world, path)
        assert world.faults.scripted == (*FAULTS, Fault(latency_ms=5))


def test_a_kept_world_has_the_faults_of_the_seed_that_it_is_planted_from(tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text(PEOPLE + RULES, encoding="utf-8")
    with open_world(tmp_path / "seed.yaml", tmp_path / "world") as world:
        assert world.faults.scripted == FAULTS
    with open_world(None, tmp_path / "world") as world:
        assert world.faults.scripted == ()


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("{}", "/faults/0: a fault's status or latency_ms must be given"),
        ("{status: 500, pathh: /user}", "/faults/0/pathh: unknown key 'pathh'; did you mean 'path'?"),
        ("{status: 500, path: user}", "/faults/0: a fault's path is a pattern that begins with / or [*], not 'user'"),
        ("{status: 500, surface: soap}", "/faults/0/surface: expected one of 'rest', 'graphql', 'git', got 'soap'"),
        ("{status: '500'}", "/faults/0/status: expected a number, got the string '500'"),
        ("{status: 500, times: true}", "/faults/0/times: expected a number, got true"),
        ("{change: {method: PATCH, path: /x}}", "/faults/0/change: missing key 'actor'"),
        ("{change: {actor: octo, method: GET, path: /x}}", "/faults/0/change: a change's method is one of"),
    ],
)
def test_a_mistake_in_a_rule_is_told_with_its_place(tmp_path: Path, rule: str, complaint: str) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(f"faults: [{rule}]", encoding="utf-8")
    with World.create() as world, pytest.raises(DocumentError, match=complaint) as caught:
        add_faults(world, path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            "{actor: nobody, method: PATCH, path: /repos/octo/x}",
            "faults: 1: this world has no user 'nobody' who could make the change; name one of its users",
        ),
        (
            "{actor: octo, method: PATCH, path: /repos/octo/x/nothing}",
            "faults: 1: GitHub's REST API has no PATCH /repos/octo/x/nothing; write a request that changes something",
        ),
    ],
)
def test_a_change_that_no_world_could_see_is_refused(change: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        world_of(f"{PEOPLE}faults: [{{change: {change}}}]")
    assert str(caught.value) == complaint


def test_the_schema_describes_every_key_of_a_rule() -> None:
    rule = WorldSeed.model_json_schema()["$defs"]["Fault"]["properties"]
    assert all(each.get("description") for each in rule.values())
