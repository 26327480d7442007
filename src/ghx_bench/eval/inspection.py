"""Everything wrong with a project's files: scenarios, sets, manifests and configurations, each and together."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from ghx_bench._base.documents import Document, DocumentError, Problem, problem, read_document, validate_document
from ghx_bench._base.errors import InputError
from ghx_bench._base.problems import listed, nearest, pointer_of
from ghx_bench.eval.config import EvalConfig
from ghx_bench.eval.examination import Known, find_doubts
from ghx_bench.eval.folders import PathLike, documents_in
from ghx_bench.eval.kinds import Kind, kind_of, seems_ours
from ghx_bench.eval.loader import problem_of, read_scenario, repeated_id
from ghx_bench.eval.manifest import FixtureManifest
from ghx_bench.eval.scenario import EvalScenario
from ghx_bench.eval.scorers import scorer_names
from ghx_bench.eval.sets import read_sets
from ghx_bench.eval.templates import Tokens
from ghx_bench.profiler.scenario import ScenarioSets

T = TypeVar("T")

_NOT_OURS = ("__pycache__", "node_modules", "results", "reports")
"""Folders in which nobody keeps what is checked here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedFile:
    """A file that was looked into, and what it is; `None` where it could not be told."""

    path: Path
    kind: Kind | None


@dataclass(slots=True, kw_only=True)
class Inspection:
    """What was looked into, what is wrong with it, and what is allowed but probably not meant."""

    files: list[InspectedFile] = field(default_factory=list[InspectedFile])
    problems: list[Problem] = field(default_factory=list[Problem])
    doubts: list[Problem] = field(default_factory=list[Problem])


def inspect_files(paths: Sequence[PathLike]) -> Inspection:
    """Look into the files named, and into those files of the folders named that are ours."""
    inspector = _Inspector()
    for path in map(Path, paths):
        if path.is_dir():
            for file in documents_in(path, skip=_NOT_OURS):
                inspector.read(file, is_named=False)
        else:
            inspector.read(path, is_named=True)
    return inspector.finish()


class _Inspector:
    """Reads all files first, because what one may name depends on the others."""

    def __init__(self) -> None:
        self._result = Inspection()
        self._documents: dict[Kind, list[Document]] = {}
        self._seen: set[Path] = set()
        self._scenarios: dict[str, Path] = {}
        self._sets: set[str] = set()
        self._configs: list[tuple[Document, EvalConfig]] = []

    def read(self, path: Path, *, is_named: bool) -> None:
        if path.resolve() in self._seen:
            return
        self._seen.add(path.resolve())
        try:
            document = read_document(path)
        except DocumentError as error:
            if is_named or seems_ours(path):
                self._note(path, None)
                self._result.problems += error.problems
            return
        kind = kind_of(document.value, path)
        if kind:
            self._documents.setdefault(kind, []).append(document)
        elif is_named:
            self._result.problems.append(_unrecognised(document))
        if kind or is_named:
            self._note(path, kind)

    def finish(self) -> Inspection:
        known = self._check_configurations()
        for document, scenario in self._validated("scenario", partial(read_scenario, known=known)):
            self._add_scenario(document, scenario, known)
        for document, sets in self._validated("sets", read_sets):
            self._sets.update(sets.names())
            self._result.problems += self._check_sets(document, sets)
        self._result.problems += self._check_choices()
        for _ in self._validated("manifest", partial(validate_document, model=FixtureManifest)):
            pass  # nothing else depends on it
        for found in (self._result.problems, self._result.doubts):
            found.sort(key=lambda each: (each.file, each.line or 0, each.column or 0))
        return self._result

    def _check_configurations(self) -> Known:
        """Check the configurations; return what scenarios may name because of them."""
        names = scorer_names()
        for document, config in self._validated("configuration", partial(validate_document, model=EvalConfig)):
            self._configs.append((document, config))
            self._result.doubts += [Problem(file=str(document.path), reason=note) for note in config.notes()]
            try:
                names |= scorer_names(config.scorers)
            except InputError as error:
                self._result.problems.append(problem(document, "/scorers", str(error)))
        return Known(scorers=lambda: names)

    def _add_scenario(self, document: Document, scenario: EvalScenario, known: Known) -> None:
        first = self._scenarios.setdefault(scenario.id, document.path)
        if first != document.path:
            self._result.problems.append(repeated_id(document, scenario.id, first))
        self._result.doubts += [problem_of(document, finding) for finding in find_doubts(scenario, known)]
        if document.path.stem != scenario.id:
            said = f"the file is called {document.path.name!r} and the scenario {scenario.id!r}"
            self._result.doubts.append(problem(document, "/id", said, "call both the same to find one by the other"))

    def _check_sets(self, document: Document, sets: ScenarioSets) -> Iterator[Problem]:
        if not self._scenarios:
            return  # the sets were given alone
        for name, ids in sets.root.items():
            for index, each in enumerate(ids):
                if each not in self._scenarios:
                    yield self._unknown(document, (name, index), "scenario", each, self._scenarios)

    def _check_choices(self) -> Iterator[Problem]:
        """Yield what configurations choose that is not there, as far as it was looked for."""
        for document, config in self._configs:
            chosen = config.scenarios
            if chosen.set is not None and self._sets and chosen.set not in self._sets and not chosen.ids:
                yield self._unknown(document, ("scenarios", "set"), "set", chosen.set, self._sets)
            for index, each in enumerate(chosen.ids):
                if self._scenarios and each not in self._scenarios:
                    yield self._unknown(document, ("scenarios", "ids", index), "scenario", each, self._scenarios)

    def _unknown(self, document: Document, tokens: Tokens, kind: str, name: str, known: Collection[str]) -> Problem:
        meant = nearest(name, sorted(known))
        hint = f"did you mean {meant!r}?" if meant else f"known: {listed(sorted(known))}"
        return problem(document, pointer_of(tokens), f"there is no {kind} {name!r}", hint)

    def _validated(self, kind: Kind, validate: Callable[[Document], T]) -> Iterator[tuple[Document, T]]:
        for document in self._documents.get(kind, []):
            try:
                record = validate(document)
            except DocumentError as error:
                self._result.problems += error.problems
                if kind == "scenario":
                    self._remember_id(document)
            else:
                yield document, record

    def _remember_id(self, document: Document) -> None:
        """Remember a scenario that is wrong, so that nobody is told that it does not exist."""
        id_ = document.value.get("id") if isinstance(document.value, dict) else None
        if isinstance(id_, str):
            self._scenarios.setdefault(id_, document.path)

    def _note(self, path: Path, kind: Kind | None) -> None:
        self._result.files.append(InspectedFile(path=path, kind=kind))


def _unrecognised(document: Document) -> Problem:
    told = (
        "a scenario has 'prompt' and 'assertions', a manifest 'seedId' and 'fixtures', a configuration 'modes', "
        "and sets are lists of scenario ids by name"
    )
    return problem(document, "", "it cannot be told what this file is", told)
