"""Which fixtures a scenario names: whether there are such, and whether they have what its bindings lead to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from ghx_base.documents import Complaint
from ghx_base.problems import did_you_mean, nearest, shortened
from ghx_base.texts.templates import steps_of
from ghx_bench.fixtures.fixture_document import FixtureDocument
from ghx_bench.fixtures.library import mixed_world
from ghx_bench.fixtures.placeholder_values import DEFAULT_REPO
from ghx_bench.scenario.binding import values_at
from ghx_bench.scenario.eval_scenario import EvalScenario, FixtureRequirements
from ghx_bench.scenario.workspace_references import KnownRepository

Repositories = Mapping[str, KnownRepository]
"""What a world has, by the full names of its repositories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFixtures:
    """The fixtures there are, with what a manifest has of each: several where a file and a manifest have it.

    A fixture of which nothing more is known than its name has `None`. `is_certain` says whether no other fixture can
    turn up later: one made by hand, or of another project.
    """

    resources: Mapping[str, Sequence[JsonValue]]
    is_certain: bool
    documents: Mapping[str, FixtureDocument] = field(default_factory=dict[str, FixtureDocument])
    worlds: Mapping[str, Repositories] = field(default_factory=dict[str, Repositories])
    """What is in the worlds of those fixtures that are one."""
    repo: str = DEFAULT_REPO
    _ways: dict[str, Sequence[Complaint]] = field(default_factory=dict[str, Sequence[Complaint]], repr=False)

    def dead_ends(self, path: str) -> Sequence[Complaint]:
        """Return why a path leads nowhere, if it does so in all that is known of its fixture; looked up once."""
        if path not in self._ways:
            name = steps_of(path)[0]
            missing = [() if each is None else values_at({"": path}, {name: each})[1] for each in self.resources[name]]
            self._ways[path] = missing[0] if all(missing) else ()
        return self._ways[path]


def fixture_errors(scenario: EvalScenario, known: KnownFixtures) -> Iterator[Complaint]:
    """Yield the fixtures that are not there, each once, and the bindings that lead nowhere in those that are."""
    if scenario.fixture is None:
        return
    requires = scenario.fixture.requires
    for index, name in enumerate(requires):
        if name not in known.resources:
            yield _unknown_fixture(name, ("fixture", "requires", index), known)
    yield from _twin_only_errors(scenario, requires, known)
    if mistake := mixed_world(requires, known.documents):
        yield mistake
    for variable, path in scenario.fixture.bindings.items():
        name = steps_of(path)[0]
        if name in known.resources:
            for each in known.dead_ends(path):
                yield replace(each, tokens=("fixture", "bindings", variable))
        elif name not in requires:
            yield _unknown_fixture(name, ("fixture", "bindings", variable), known)


def _twin_only_errors(scenario: EvalScenario, requires: Sequence[str], known: KnownFixtures) -> Iterator[Complaint]:
    """Yield the fixtures that only the emulator supports, if the scenario does not restrict its targets to it."""
    if "github" not in scenario.known_extensions.targets:
        return
    for index, name in enumerate(requires):
        if name in known.documents and (why := known.documents[name].twin_only):
            reason = f"fixture {shortened(name)} {why}, which only the embedded GitHub can have"
            hint = "say where the scenario can be run: extensions: {targets: [twin]}"
            yield Complaint(tokens=("fixture", "requires", index), reason=reason, suggestion=hint)


def is_explained_by_another_error(fixture: str, needs: FixtureRequirements, known: KnownFixtures | None) -> bool:
    """Return whether a fixture that is bound without being required is the subject of another error anyway."""
    if known is None:
        return False
    suggestions = {nearest(name, sorted(known.resources)) for name in needs.requires if name not in known.resources}
    return fixture in suggestions or fixture not in known.resources


def _unknown_fixture(name: str, tokens: tuple[str | int, ...], known: KnownFixtures) -> Complaint:
    hint = did_you_mean(name, sorted(known.resources))
    return Complaint(tokens=tokens, reason=f"there is no fixture {shortened(name)}", suggestion=hint)
