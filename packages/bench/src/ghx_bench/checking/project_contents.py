"""What checked files may name although it is elsewhere: in the folders of configurations, in the package."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import JsonValue

from ghx_base.documents import Document, read_document, validate_document
from ghx_base.errors import DocumentError, InputError
from ghx_base.texts.templates import strings_in
from ghx_bench.checking.fixture_references import KnownFixtures, Repositories
from ghx_bench.checking.world_rules import ObservedWorld, look_into_world
from ghx_bench.fixtures.fixture_document import FixtureDocument
from ghx_bench.fixtures.library import BUILT_IN as BUILT_IN_FIXTURES
from ghx_bench.fixtures.library import read_fixture
from ghx_bench.fixtures.placeholder_values import DEFAULT_REPO
from ghx_bench.fixtures.seeding import sample_resource
from ghx_bench.modes.definitions import Definitions, load_mode_definition
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.config_file import project_config, with_own_folders
from ghx_bench.project.file_kinds import is_fixture_like
from ghx_bench.project.folders import BUILT_IN_SCENARIOS, documents_in, scenario_files
from ghx_bench.project.sets import read_sets, sets_file
from ghx_bench.scenario.manifest import FixtureManifest
from ghx_bench.scenario.variants import variant_ids_in
from ghx_profiler.plan.selection import DEFAULT_SET
from ghx_profiler.scenario import EVERY_FORM, scenario_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedConfig:
    """A configuration: its file, what it says, and the same with its folders taken from where the file is."""

    document: Document
    written: EvalConfig
    placed: EvalConfig

    @classmethod
    def of(cls, document: Document, written: EvalConfig) -> "LocatedConfig":
        """Take the folders from where the file is, and those next to it that a run looks into as well."""
        placed = with_own_folders(written.beside(document.path), document.path.parent)
        return cls(document=document, written=written, placed=placed)


class ProjectContents:
    """What is in the folders of configurations, and in the package; looked up when it is asked for, and once only.

    These files are not checked themselves: an invalid one is skipped, or treated as if it could have any content.
    """

    def __init__(self, configs: Sequence[EvalConfig], *, is_certain: bool) -> None:
        self._configs, self._is_certain = configs, is_certain

    @classmethod
    def around(cls, configs: Sequence[LocatedConfig], beside: Path | None) -> "ProjectContents | None":
        """Return what is around these configurations, or else around the one in a file, or around the current folder.

        None if the file cannot be used: then it is not known what there is.
        """
        if configs:
            placed = [each.placed for each in configs]
            return cls(placed, is_certain=all(each.target == "twin" for each in placed))
        is_there = beside is not None and beside.is_file()
        try:
            config = project_config(beside if is_there else None)
        except DocumentError:
            return None
        return cls([config], is_certain=is_there and config.target == "twin")

    def fixtures(
        self,
        documents: Iterable[Document],
        manifests: Iterable[FixtureManifest],
        worlds: Mapping[str, ObservedWorld],
        scenarios: Iterable[Document],
    ) -> KnownFixtures:
        """Return the fixtures there are: these, those in the folders, and those that come with the package.

        `worlds` are those that were looked into already, by the real paths of their fixtures. Of the others, those are
        planted that the scenarios mention: the package has dozens, at 80 ms each.
        """
        mentioned = {text.partition(".")[0] for each in scenarios for _, text in strings_in(each.value)}
        repo = next((each.fixtures.repo for each in self._configs if each.fixtures.repo), DEFAULT_REPO)
        # The package's last: a fixture of the same name in a project stands in for one of these.
        folders = [*(each for config in self._configs for each in config.fixtures.folders), BUILT_IN_FIXTURES]
        resources: dict[str, list[JsonValue]] = {}
        drafts: dict[str, FixtureDocument] = {}
        repositories: dict[str, Repositories] = {}
        for document in [*documents, *_read_readable(file for each in folders for file in documents_in(each))]:
            if not is_fixture_like(document.value):
                continue
            try:
                fixture = read_fixture(document)
                place = os.path.realpath(document.path)
                world = worlds.get(place)
                if fixture.world and world is None and fixture.name in mentioned:
                    world = look_into_world(document, fixture)
            except DocumentError:
                name = document.value.get("name") if isinstance(document.value, dict) else None
                resources.setdefault(str(name or document.path.stem), []).append(None)
                continue
            if fixture.world is None:
                resources.setdefault(fixture.name, []).append(sample_resource(fixture, repo).to_wire())
            else:
                resources.setdefault(fixture.name, []).append(None if world is None else world.resource)
            drafts.setdefault(fixture.name, fixture)
            if world is not None:
                repositories.setdefault(fixture.name, world.repositories)
        for manifest in (*manifests, *self._manifests()):
            for name, resource in manifest.fixtures.items():
                resources.setdefault(name, []).append(resource.to_wire())
        return KnownFixtures(
            resources=resources, is_certain=self._is_certain, documents=drafts, worlds=repositories, repo=repo
        )

    @cached_property
    def modes(self) -> frozenset[str]:
        """The modes that solutions may be for."""
        return frozenset(name for config in self._configs for name in definitions_in(config).names)

    def _manifests(self) -> Iterator[FixtureManifest]:
        for document in _read_readable(each.fixtures.manifest for each in self._configs):
            try:
                yield validate_document(document, FixtureManifest)
            except DocumentError:
                continue


def definitions_in(config: EvalConfig) -> Definitions:
    """Return the modes that a configuration knows, as far as their files can be read."""
    filed = list(config.mode_definitions)
    for file in config.mode_files:
        try:
            filed.append(load_mode_definition(file))
        except DocumentError:
            continue
    try:
        return Definitions(filed)
    except InputError:
        return Definitions()


def scenario_ids(folders: Iterable[Path]) -> frozenset[str]:
    """Return the ids of the scenarios and variants in folders; of a file that cannot be read, the id in its name."""
    there = [each for each in folders if os.path.exists(each)]  # noqa: PTH110 - Path raises for too long a name
    files = scenario_files(there) if there else []
    ids = {document.path: tuple(variant_ids_in(document.value)) for document in _read_readable(files)}
    return frozenset(id_ for file in files for id_ in ids.get(file) or (file.stem,))


def built_in_ids() -> frozenset[str]:
    """Return the ids of the scenarios that come with the package, whose files are called like them."""
    return frozenset(file.stem for file in scenario_files(BUILT_IN_SCENARIOS))


def is_known(id_: str, known: Collection[str]) -> bool:
    """Return whether an id is among the known ones, with `ID@*`, or is a variant of a built-in scenario among them."""
    if id_ in known or scenario_of(id_) not in known:
        return id_ in known
    # Read only now, and only this one: few ids name a variant of a scenario that comes with the package.
    files = [file for file in scenario_files(BUILT_IN_SCENARIOS) if file.stem == scenario_of(id_)]
    forms = (form for document in _read_readable(files) for form in variant_ids_in(document.value))
    return id_.endswith(EVERY_FORM) or id_ in forms


def with_variants(known: Collection[str], names: Iterable[str]) -> frozenset[str]:
    """Return the known ids, and the requested ids of variants of built-in scenarios."""
    chosen = (each for each in names if not each.endswith(EVERY_FORM) and is_known(each, known))
    return frozenset({*known, *chosen})


def sets_in(folders: Iterable[Path]) -> Mapping[str, Sequence[str]]:
    """Return the sets of folders with scenarios, and of the package; `default` is there without being written."""
    files = [file for folder in (BUILT_IN_SCENARIOS, *folders) if (file := sets_file(folder))]
    sets: dict[str, Sequence[str]] = {DEFAULT_SET: ()}
    for document in _read_readable(files):
        try:
            sets |= read_sets(document).root
        except DocumentError:
            continue
    return sets


def _read_readable(files: Iterable[Path]) -> Iterator[Document]:
    """Read those of the files that can be read, each once."""
    for file in {os.path.realpath(each): each for each in files}.values():
        try:
            yield read_document(file)
        except DocumentError:
            continue
