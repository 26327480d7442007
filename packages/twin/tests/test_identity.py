"""Global node ids: from records to text and back."""

from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seeds import rich_world

from ghx_twin.nodes import NodeId, find_record, node_id, parse_node_id, repository_id
from ghx_twin.state import records
from ghx_twin.world import World

UINT32 = st.integers(0, 2**32 - 1)
WITHOUT_NODES = {
    records.App, records.Installation,
    records.Token, records.Membership, records.TeamMember, records.Collaborator, records.TeamRepository,
    records.Redirect, records.Tombstone, records.IssueLabel, records.Assignee, records.Dependency,
    records.RunAttempt, records.Variable, records.Secret, records.ActionsCache, records.DeploymentReview,
    records.Step, records.Annotation, records.ProjectItemValue, records.ProjectRepository, records.ProjectCollaborator,
}  # fmt: skip
OUTSIDE = {
    records.User, records.Token, records.Membership, records.Team, records.TeamMember, records.IssueType, records.App,
    records.Installation, records.Project, records.ProjectField, records.DraftIssue, records.ProjectItem,
    records.ProjectItemValue, records.ProjectView, records.ProjectWorkflow, records.ProjectCollaborator,
    records.ProjectStatusUpdate,
}  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Generator[World]:
    with rich_world() as made:
        yield made


@given(prefix=st.sampled_from(["U", "PR", "PRRT", "BOT"]), repository=st.none() | UINT32, identity=UINT32)
def test_ids_come_back_from_their_text(prefix: str, repository: int | None, identity: int) -> None:
    made = NodeId(prefix, repository, identity)
    assert parse_node_id(str(made)) == made


@given(text=st.text(max_size=70) | st.from_regex(r"[A-Z]{1,4}_[A-Za-z0-9_\-]{0,30}", fullmatch=True))
def test_any_other_text_is_no_id(text: str) -> None:
    parsed = parse_node_id(text)
    assert parsed is None or str(parsed) == text


def test_an_id_looks_like_githubs() -> None:
    assert str(NodeId("R", None, 1296269)) == "R_kgDOABPHjQ"  # octocat/Hello-World, as GitHub documents it


def test_every_record_with_an_id_is_found_by_it(world: World) -> None:
    seen: set[str] = set()
    for model in set(records.RECORDS) - WITHOUT_NODES:
        for record in world.database.all(model):
            if isinstance(record, records.Issue) and record.is_pull:
                continue  # a pull request is found by the id of its `Pull`
            identity = node_id(world.database, record)
            assert find_record(world.database, identity) == record
            seen.add(identity)
    assert len(seen) > 60


def test_an_id_of_the_wrong_kind_finds_nothing(world: World) -> None:
    repository = world.database.all(records.Repository)[0]
    assert find_record(world.database, str(NodeId("U", None, 4_000_000_000))) is None
    assert find_record(world.database, str(NodeId("XX", None, repository.id))) is None
    assert find_record(world.database, str(NodeId("I", repository.id + 1, 1))) is None
    acme = world.database.one(records.User, login="acme")
    assert acme is not None
    assert find_record(world.database, str(NodeId("U", None, acme.id))) is None


def test_every_record_of_a_repository_knows_it(world: World) -> None:
    for model in records.RECORDS:
        for record in world.database.all(model):
            outside = model in OUTSIDE or getattr(record, "organization_id", None) is not None
            assert (repository_id(world.database, record) is None) == outside, record


def test_no_id_of_one_kind_is_one_of_another_or_a_number(world: World) -> None:
    """GitHub's ids have ten digits, so that a client that mixes them up finds nothing."""
    given = {
        records.Workflow,
        records.WorkflowRun,
        records.CheckRun,
        records.App,
        records.Installation,
    }  # a seed may say what ids these have
    models = [model for model in records.RECORDS if model not in given]
    ids = [record.id for model in models for record in world.database.all(model)]

    assert len(set(ids)) == len(ids)
    assert all(10**9 < identity < 2**31 for identity in ids)  # GraphQL shows them as Int
