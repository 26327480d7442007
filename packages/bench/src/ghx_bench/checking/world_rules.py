"""Check names that scenarios and fixtures use in a world: worlds are seeded, and workspaces are looked up in them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from pydantic import JsonValue

from ghx_base.documents import Complaint, Document, DocumentError, problem, problems_of
from ghx_base.errors import InputError
from ghx_base.problems import tokens_of
from ghx_bench.checking.fixture_references import KnownFixtures, Repositories
from ghx_bench.fixtures.fixture_document import FixtureDocument
from ghx_bench.fixtures.fixture_rules import files_on
from ghx_bench.fixtures.marks import DEFAULT_SEEDING, branch_on_github
from ghx_bench.fixtures.placeholder_values import LOGINS, VISITOR, fork_name
from ghx_bench.scenario.binding import RUN_ID, BindingError, bind
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.manifest import FixtureManifest
from ghx_bench.scenario.placeholders import THREAT_PLACE, WORKSPACE_PLACE
from ghx_bench.scenario.threat_references import author_errors
from ghx_bench.scenario.workspace_references import KnownRepository, workspace_errors

_DEFAULT_BRANCH = "main"


class ObservedWorld(NamedTuple):
    """The content of a world that was seeded and closed: its manifest, and the names for workspaces."""

    resource: JsonValue
    repositories: Repositories


def look_into_world(document: Document, fixture: FixtureDocument) -> ObservedWorld:
    """Seed the world of a fixture and return its content; raise `DocumentError` with all errors."""
    # Imported here: most projects have no such fixture, and the emulator takes longer to load than to check.
    from ghx_bench.fixtures import seed_worlds  # noqa: PLC0415 - see above

    assert fixture.world is not None  # noqa: S101 - asked of worlds only
    try:
        world = seed_worlds.open_world(fixture.world, document.path)
    except DocumentError:
        raise
    except InputError as error:
        raise DocumentError([problem(document, "/world/seed", str(error))]) from error
    with world:
        if problems := problems_of(document, seed_worlds.world_errors(fixture, world)):
            raise DocumentError(problems)
        visible = seed_worlds.known_repositories(world, viewer=fixture.world.agent, with_people=True)
        repositories = {name: _remember(each) for name, each in visible.items()}
        return ObservedWorld(seed_worlds.describe_world(fixture, world).to_wire(), repositories)


def _remember(repository: KnownRepository) -> KnownRepository:
    """Return the same without the world behind it, which is about to be closed."""
    files = {name: repository.files(name) for name in repository.branches}
    return replace(repository, branches=tuple(files), files=files.__getitem__)


def world_mistakes(scenario: EvalScenario, known: KnownFixtures) -> Iterator[Complaint]:
    """Yield what the workspace and the threat of a scenario name that its world will not have, as far as is known."""
    extensions = scenario.known_extensions
    if extensions.workspace is None and extensions.threat is None:
        return
    requires = scenario.fixture.requires if scenario.fixture is not None else ()
    samples = {name: known.resources[name][0] for name in requires if name in known.resources}
    if len(samples) < len(requires) or any(each is None for each in samples.values()):
        return  # other errors say so
    world = next((known.worlds[name] for name in requires if name in known.worlds), None)
    repo = next((str(each["repo"]) for each in samples.values() if isinstance(each, dict)), known.repo)
    manifest = FixtureManifest.model_validate(
        {"seedId": DEFAULT_SEEDING, "createdAt": "never", "repo": repo, "fixtures": samples}
    )
    try:
        bound = bind(scenario, manifest, {RUN_ID: ""}).scenario
    except BindingError as error:
        for each in error.problems:
            if (tokens := tokens_of(each.pointer))[:2] in {WORKSPACE_PLACE, THREAT_PLACE}:
                yield Complaint(tokens=tokens, reason=each.reason, suggestion=each.suggestion)
        return
    documents = {name: known.documents[name] for name in requires if name in known.documents}
    # Elsewhere than on the emulator, the repository may have any branch and any file.
    if world is None and not (known.is_certain and len(documents) == len(requires)):
        return
    world = world or _usual_world(known.repo, documents)
    if (workspace := bound.known_extensions.workspace) is not None:
        yield from workspace_errors(workspace, world)
    if (threat := bound.known_extensions.threat) is not None and bound.fixture and bound.fixture.repo in world:
        agent = next((each.world.agent for each in documents.values() if each.world is not None), LOGINS["agent"])
        yield from author_errors(threat, world[bound.fixture.repo].may_write, agent=agent)


def _usual_world(repo: str, fixtures: Mapping[str, FixtureDocument]) -> dict[str, KnownRepository]:
    """Return what there will be in the embedded world with these fixtures."""
    from ghx_bench.fixtures.embedded import EMBEDDED_FILES  # noqa: PLC0415 - as in `look_into_world`

    forks = {fork_name(repo, LOGINS[actor]) for fixture in fixtures.values() for actor in fixture.forks}
    branches_of = {name: {_DEFAULT_BRANCH: frozenset(EMBEDDED_FILES)} for name in (repo, *forks)}
    for fixture in fixtures.values():
        for branch in fixture.branches:
            place = repo if branch.fork is None else fork_name(repo, LOGINS[branch.fork])
            name = branch_on_github(branch.name, DEFAULT_SEEDING)
            branches_of[place][name] = files_on(fixture, branch, EMBEDDED_FILES)
    everybody = {**dict.fromkeys(LOGINS.values(), True), VISITOR: False}
    return {
        name: KnownRepository(
            default_branch=_DEFAULT_BRANCH, branches=branches, files=branches.__getitem__, may_write=everybody
        )
        for name, branches in branches_of.items()
    }
