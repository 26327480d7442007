"""Scenarios read from files and checked; every problem is reported at once."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import get_args

import anyio.to_thread

from ghx_base.documents import (
    Complaint,
    Document,
    DocumentError,
    Problem,
    read_document,
)
from ghx_base.errors import InputError
from ghx_base.garbage import without_cycle_collection
from ghx_base.problems import listed, pointer_of
from ghx_bench.checking.scenario_rules import Known, read_scenario, repeated_id
from ghx_bench.project.folders import PathLike, scenario_files
from ghx_bench.scenario.eval_scenario import Category, Difficulty, EvalScenario
from ghx_bench.scenario.variants import Overlay, expand_variants, overlays_of, place_in_file
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.scenario import EVERY_FORM, ScenarioLoader, scenario_of, variant_of

Names = str | Iterable[str] | None
"""One name, or several; `None` asks for nothing in particular, an empty list for nothing at all."""


class UnknownScenariosError(UnknownNameError):
    """Unknown scenario ids; the message has all of them."""

    def __init__(self, names: Sequence[str], *, known: Collection[str]) -> None:
        super().__init__("scenario", names[0], known=known)
        self.names, self.known = tuple(names), frozenset(known)
        if len(names) > 1:
            self.args = (f"no scenarios {listed(names)}; known: {listed(sorted(known)) or 'none'}",)


class UnknownVariantError(InputError):
    """An unknown variant of a scenario."""

    code = "UNKNOWN_VARIANT"

    def __init__(self, scenario: str, variant: str, *, known: Sequence[str]) -> None:
        has = f"it has {listed(known)}" if known else "it has none"
        super().__init__(f"scenario {scenario!r} has no variant {variant!r}; {has}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedScenario:
    """A scenario or variant, and its file."""

    path: Path
    scenario: EvalScenario
    overlay: Overlay | None = None
    """What makes it a variant."""

    def forms(self) -> Iterator["LoadedScenario"]:
        """Yield its variants, the base variant first."""
        for form, overlay in zip(expand_variants(self.scenario), (None, *overlays_of(self.scenario)), strict=True):
            yield LoadedScenario(path=self.path, scenario=form, overlay=overlay)

    def pointer(self, *tokens: str | int) -> str:
        """Return the location in the file of this place of the scenario."""
        return pointer_of(tokens if self.overlay is None else place_in_file(self.overlay, tokens))

    def place(self, complaints: Iterable[Complaint]) -> Iterator[Complaint]:
        """Yield what was found in the scenario, with the place in the file; of a variant, what is in its own entry."""
        for each in complaints:
            place = each.tokens if self.overlay is None else place_in_file(self.overlay, each.tokens)
            if self.overlay is None or place != each.tokens:
                yield replace(each, tokens=place)


def load_eval_scenarios(
    paths: PathLike | Iterable[PathLike],
    *,
    ids: Names = None,
    tags: Names = None,
    category: Names = None,
    difficulty: Names = None,
    known: Known | None = None,
) -> tuple[EvalScenario, ...]:
    """Read scenarios from files and folders (for which files of a folder those are, see `folders`).

    They come in the order of `ids`, else of the files; `tags` keeps those that have one of these, `category` and
    `difficulty` those of one of these. An id or tag that no scenario has raises `UnknownNameError`. `None` leaves a
    choice open, an empty list chooses nothing.

    `ID@name` is a variant, `ID@*` a scenario with all its variants. Without `ids`, scenarios come as they are written;
    `expand_variants` makes their variants.

    Everything wrong with any file is raised together, as one `DocumentError`. Where `ids` are given, files that hold
    other scenarios are not looked into any further, and cannot be in the way.
    """
    loaded = load_scenario_files(paths, ids=ids, known=known)
    scenarios = [each.scenario for each in loaded]
    return narrow(scenarios, tags=tags, category=category, difficulty=difficulty)


def scenario_loader(
    paths: PathLike | Iterable[PathLike], *, known: Known | None = None
) -> ScenarioLoader[EvalScenario]:
    """Return the loader that `run_profile_suite` calls with the ids of a run."""
    places = [paths] if isinstance(paths, str | os.PathLike) else list(paths)

    async def load(ids: Sequence[str]) -> Sequence[EvalScenario]:
        return await anyio.to_thread.run_sync(partial(load_eval_scenarios, places, ids=ids, known=known))

    return load


def load_scenario_files(
    paths: PathLike | Iterable[PathLike], *, ids: Names = None, known: Known | None = None
) -> list[LoadedScenario]:
    """Read scenarios like `load_eval_scenarios`, and return each with its file."""
    names = _as_list(ids)
    loaded = read_scenario_files(paths, ids=None if names is None else map(scenario_of, names), known=known)
    return list(loaded.values()) if names is None else choose_forms(loaded, names)


def read_scenario_files(
    paths: PathLike | Iterable[PathLike], *, ids: Iterable[str] | None = None, known: Known | None = None
) -> Mapping[str, LoadedScenario]:
    """Read scenarios as they are written, by id; `ids` name no variants."""
    reading = _Reading(wanted=None if ids is None else frozenset(ids), known=known or Known())
    with without_cycle_collection():
        for file in scenario_files(paths):
            reading.read(file)
    return reading.finish()


def choose_forms(scenarios: Mapping[str, LoadedScenario], ids: Iterable[str]) -> list[LoadedScenario]:
    """Return the variants with these ids, once each and in that order; all their scenarios must exist."""
    chosen: dict[str, LoadedScenario] = {}
    forms: dict[str, dict[str, LoadedScenario]] = {}
    for id_ in ids:
        base = scenario_of(id_)
        if base not in forms:
            forms[base] = {each.scenario.id: each for each in scenarios[base].forms()}
        if id_ == base + EVERY_FORM:
            chosen |= forms[base]
        elif id_ not in forms[base]:
            variants = [each.scenario.variant for each in forms[base].values() if each.scenario.variant is not None]
            raise UnknownVariantError(base, str(variant_of(id_)), known=variants)
        else:
            chosen[id_] = forms[base][id_]
    return list(chosen.values())


@dataclass(slots=True, kw_only=True)
class _Reading:
    """Reads file after file, and remembers what is wrong until the end."""

    wanted: frozenset[str] | None
    known: Known
    found: dict[str, LoadedScenario] = field(default_factory=dict[str, LoadedScenario])
    problems: list[Problem] = field(default_factory=list[Problem])
    elsewhere: list[Problem] = field(default_factory=list[Problem])
    """What is wrong with files that are probably not among the wanted."""
    others: set[str] = field(default_factory=set[str])

    def read(self, file: Path) -> None:
        try:
            document = read_document(file)
        except DocumentError as error:
            # What is in the file is unknown; files are usually called as their scenarios are.
            is_wanted = self.wanted is None or file.stem in self.wanted
            (self.problems if is_wanted else self.elsewhere).extend(error.problems)
            return
        if self._is_wanted(document):
            try:
                self._add(document, read_scenario(document, self.known))
            except DocumentError as error:
                self.problems.extend(error.problems)

    def finish(self) -> Mapping[str, LoadedScenario]:
        missing = [each for each in self.wanted or () if each not in self.found]
        if missing and self.elsewhere:
            self.problems += self.elsewhere  # one of these may be what is missing
        if self.problems:
            raise DocumentError(self.problems)
        if missing:
            raise UnknownScenariosError(sorted(missing), known={*self.found, *self.others})
        return self.found

    def _is_wanted(self, document: Document) -> bool:
        id_ = document.value.get("id") if isinstance(document.value, dict) else None
        if self.wanted is None or not isinstance(id_, str) or id_ in self.wanted:
            return True
        self.others.add(id_)
        return False

    def _add(self, document: Document, scenario: EvalScenario) -> None:
        loaded = LoadedScenario(path=document.path, scenario=scenario)
        first = self.found.setdefault(scenario.id, loaded)
        if first is not loaded:
            self.problems.append(repeated_id(document, scenario.id, first.path))


def narrow(
    scenarios: Sequence[EvalScenario], *, tags: Names = None, category: Names = None, difficulty: Names = None
) -> tuple[EvalScenario, ...]:
    """Keep the scenarios that have one of the tags, and are of one of the categories and difficulties."""
    wanted_tags = _require_known("tag", _as_list(tags), {tag for each in scenarios for tag in each.tags})
    categories = _require_known("category", _as_list(category), get_args(Category))
    difficulties = _require_known("difficulty", _as_list(difficulty), get_args(Difficulty))
    return tuple(
        each
        for each in scenarios
        if (wanted_tags is None or not wanted_tags.isdisjoint(each.tags))
        and (categories is None or each.category in categories)
        and (difficulties is None or each.difficulty in difficulties)
    )


def _as_list(names: Names) -> list[str] | None:
    """Return the requested names; `None` without a request."""
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _require_known(kind: str, names: Collection[str] | None, known: Collection[str]) -> frozenset[str] | None:
    for name in names or ():
        if name not in known:
            raise UnknownNameError(kind, name, known=known)
    return None if names is None else frozenset(names)
