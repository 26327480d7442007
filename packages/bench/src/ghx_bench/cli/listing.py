"""`ghx-bench list`: what there is to run, and to run it with."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghx_base.errors import InputError
from ghx_base.problems import did_you_mean, one_line
from ghx_bench.cli.flags import Listing, Narrowing

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.loader import LoadedScenario

FROM_PACKAGE = "built in"
"""Where a thing is from that comes with the package."""

Entry = Mapping[str, Any]
"""One thing, as `--json` prints it; the table is made of the same."""

LISTS = ("scenarios", "sets", "modes", "agents", "fixtures", "runs")

_MOST_IDS = 3
_PARTS = ("issues", "pulls", "branches", "forks", "runs")

_EVERY = Narrowing()
_HERE = Listing()


def list_scenarios(*paths: Path, narrowing: Narrowing = _EVERY, listing: Listing = _HERE) -> int:
    """List scenarios: those of the project, and those that come with the package.

    Parameters
    ----------
    paths
        Files and folders of scenarios, to list these alone.
    """
    from ghx_bench.catalogue import Catalogue
    from ghx_bench.loader import narrow
    from ghx_bench.project.config_file import project_config

    loaded = _load_named(paths) if paths else Catalogue(project_config(listing.config)).every()
    scenarios = [each.scenario for each in loaded]
    selected = narrow(scenarios, tags=narrowing.tag, category=narrowing.category, difficulty=narrowing.difficulty)
    ids = {scenario.id for scenario in selected}
    entries = [_scenario(each) for each in loaded if each.scenario.id in ids]
    header = ("id", "category", "difficulty", "checks", "variants", "name", *(() if paths else ("tags", "from")))
    rows = [
        [
            *(each[key] for key in ("id", "category", "difficulty")),
            str(len(each["checkpoints"])),
            ", ".join(each["variants"]),
            each["name"],
            *([] if paths else [", ".join(each["tags"]), origin]),
        ]
        for each, origin in _with_origins(entries)
    ]
    return _print(entries, in_columns(header, rows) if rows else "no scenarios", listing)


def list_sets(*, listing: Listing = _HERE) -> int:
    """List the named sets of scenarios, for `run --scenario-set`."""
    from ghx_bench.catalogue import Catalogue
    from ghx_bench.project.config_file import project_config
    from ghx_profiler.plan.selection import DEFAULT_SET

    config = project_config(listing.config)
    chosen = None if config.scenarios.ids else config.scenarios.set or DEFAULT_SET
    entries: list[Entry] = [
        {"name": each.name, "scenarios": list(each.ids), "chosen": each.name == chosen, **_scenario_place(each.path)}
        for each in Catalogue(config).named_sets.values()
    ]
    rows = [
        [each["name"], str(len(each["scenarios"])), _yes(each["chosen"]), origin, _shorten(each["scenarios"])]
        for each, origin in _with_origins(entries)
    ]
    return _print(entries, in_columns(("name", "scenarios", "chosen", "from", "which"), rows), listing)


def list_modes(*, listing: Listing = _HERE) -> int:
    """List the modes, for `run --mode`: what their agents find on the path, MCP servers, and whether all is there."""
    from ghx_bench.modes.definitions import Definitions
    from ghx_bench.modes.installation import foreign_tools
    from ghx_bench.modes.program_words import split_pin
    from ghx_bench.project.config import definitions_of
    from ghx_bench.project.config_file import project_config, project_file

    config, file = project_config(listing.config), project_file(listing.config)
    definitions = Definitions(definitions_of(config))
    places = {
        **{each.name: file for each in config.mode_definitions},
        **{path.stem: path for path in config.mode_files},  # the file is called as its mode is
    }
    entries: list[Entry] = []
    for name in dict.fromkeys((*definitions.names, *filter(split_pin, config.modes))):
        own, whole = definitions.lineage(name)[0], definitions.whole(name)
        foreign = list(foreign_tools(whole, os.environ))
        entries.append(
            {
                "name": name,
                "extends": own.extends,
                "tools": list(whole.tools),
                "mcpServers": list(whole.mcp_servers),
                "skills": list(whole.skills),
                "packages": {each.name: each.version for each in whole.packages},
                "installed": all(each.place is not None for each in foreign),
                "shell": whole.shell is not False,
                "web": whole.web is True,
                "instructions": whole.instructions,
                "chosen": name in config.modes,
                **_place(places.get(name)),
            }
        )
    header = ("name", "extends", "tools", "MCP servers", "version", "installed", "shell", "web", "chosen", "from")
    return _print(
        entries, in_columns(header, [[*_mode_row(each), origin] for each, origin in _with_origins(entries)]), listing
    )


def list_agents(*, listing: Listing = _HERE) -> int:
    """List the agents, for `run --agent`: whether they are installed, and what they need."""
    from ghx_base.extras import how_to_install, is_installed
    from ghx_bench.agent_factory import AGENTS
    from ghx_bench.project.config_file import project_config
    from ghx_bench.project.object_references import is_recipe_file, is_reference
    from ghx_bench.project.user_agents import installed_agents
    from ghx_profiler.agents.drivers.recipe import recipe_names

    chosen = [agent.id for agent in project_config(listing.config).chosen_agents]
    agents = {name: (agent.description, hasattr(agent.provider, "control_kind")) for name, agent in AGENTS.items()}
    others = {name: (f"{entry.value}, of an installed package", False) for name, entry in installed_agents().items()}
    entries: list[Entry] = [_own_agent(each) for each in chosen if is_reference(each)]
    entries += [
        {"name": name, "description": description, "control": is_control, "chosen": name in chosen, **_NO_RECIPE}
        for name, (description, is_control) in {**others, **agents}.items()
    ]
    entries.append(_loop(chosen))
    entries += [_recipe_agent(each, chosen) for each in (*filter(is_recipe_file, chosen), *recipe_names())]
    rows = [
        [
            each["name"],
            "control" if each["control"] else each["protocol"] or "",
            each["version"] or "",
            "" if each["installed"] is None else "yes" if each["installed"] else "no",
            _yes(each["chosen"]),
            "; ".join((each["description"], *each["needs"])),
        ]
        for each in entries
    ]
    table = in_columns(("name", "kind", "version", "installed", "chosen", "description"), rows)
    missing = [extra for extra in ("agents", "loop") if not is_installed(extra)]
    remedies = [f"to install the extra {extra}: {how_to_install(extra)}" for extra in missing]
    return _print(entries, "\n".join([table, *remedies]), listing)


_NO_RECIPE: Entry = {"protocol": None, "version": None, "installed": None, "needs": []}


def _recipe_agent(agent: str, chosen: Sequence[str]) -> Entry:
    """Return an agent that a recipe describes, with what it needs and does not have yet."""
    from ghx_base.extras import is_installed
    from ghx_bench.project.recipe_agents import VENDORS, recipe_of
    from ghx_profiler.agents.drivers.installation import AGENTS_FOLDER, find_launch
    from ghx_profiler.agents.npm import NotInstalledError

    recipe, installed = recipe_of(agent), False
    needs = [] if is_installed("agents") else ["needs the extra agents"]
    if not needs:
        try:
            find_launch(recipe, AGENTS_FOLDER)
            installed = True
        except NotInstalledError:
            needs = [f"ghx-bench doctor --install {agent}"] if recipe.install else [f"needs {recipe.command[0]}"]
    if recipe.wire is not None:
        needs.append(f"asks its model over {' or '.join(recipe.wires)} (key in {VENDORS[recipe.wire].key_env})")
    return {
        "name": agent,
        "description": recipe.description,
        "control": False,
        "chosen": agent in chosen,
        "protocol": recipe.protocol,
        "version": recipe.install.version if recipe.install else None,
        "installed": installed,
        "needs": needs,
    }


def _loop(chosen: Sequence[str]) -> Entry:
    """Return the agent that is a loop of our own."""
    from ghx_base.extras import is_installed
    from ghx_bench.project.loop_agent import LOOP, LOOP_DESCRIPTION

    installed = is_installed(LOOP)
    return {
        "name": LOOP,
        "description": LOOP_DESCRIPTION,
        "control": False,
        "chosen": LOOP in chosen,
        "protocol": LOOP,
        "version": None,
        "installed": installed,
        "needs": [] if installed else [f"needs the extra {LOOP}"],
    }


def _own_agent(reference: str) -> Entry:
    """Return an agent of the user's own, a control if it says so; one that cannot be imported is listed as well."""
    from ghx_bench.project.object_references import DEFAULT_AGENT, BadReferenceError, load_object
    from ghx_bench.project.user_agents import is_agent_function

    agent: object = None
    # What the user's own code prints must not get between the lines of --json.
    with suppress(BadReferenceError), redirect_stdout(sys.stderr):
        agent = load_object(reference, default=DEFAULT_AGENT)
    is_function = is_agent_function(agent)
    return {
        "name": reference,
        "description": "a function of your own" if is_function else "an agent of your own",
        "control": getattr(agent, "control_kind", None) is not None,
        "chosen": True,
        **_NO_RECIPE,
        "protocol": "python" if is_function else None,
    }


def list_fixtures(*, listing: Listing = _HERE) -> int:
    """List the fixtures, which scenarios require: those of the project, and those that come with the package."""
    from ghx_bench.fixtures.library import BUILT_IN as BUILT_IN_FIXTURES
    from ghx_bench.fixtures.library import load_fixtures
    from ghx_bench.project.config_file import project_config

    library = load_fixtures(project_config(listing.config).fixtures.folders)
    entries: list[Entry] = [
        {
            "name": name,
            "description": library.get(name).description,
            **{
                kind: len(getattr(library.get(name), kind)) for kind in ("issues", "pulls", "branches", "forks", "runs")
            },
            "world": library.get(name).world is not None,
            **_place(library.entry(name).path, built_in=BUILT_IN_FIXTURES),
        }
        for name in library.names
    ]
    rows = [[each["name"], _count_parts(each), origin, each["description"]] for each, origin in _with_origins(entries)]
    return _print(entries, in_columns(("name", "has", "from", "description"), rows), listing)


def in_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write rows below their header; a column in which no row has anything is left out."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    columns = [column for column in zip(header, *cells, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*columns, strict=True)
    )


def _load_named(paths: Sequence[Path]) -> list[LoadedScenario]:
    from ghx_bench.checking.scenario_rules import Known
    from ghx_bench.loader import load_scenario_files

    for path in paths:
        if not path.exists():
            other = did_you_mean(
                str(path), LISTS, otherwise=f"besides files, `ghx-bench list` knows {', '.join(LISTS)}"
            )
            raise InputError(f"{path}: there is no such file; {other}")
    return load_scenario_files(paths, known=Known(scorers=None))


def _scenario(loaded: LoadedScenario) -> Entry:
    from ghx_bench.scenario.variants import expand_variants

    scenario = loaded.scenario
    return {
        "id": scenario.id,
        "name": scenario.name,
        "category": scenario.category,
        "difficulty": scenario.difficulty,
        "tags": list(scenario.tags),
        "timeoutMs": scenario.timeout_ms,
        "checkpoints": [checkpoint.id for checkpoint in scenario.assertions.checkpoints],
        "requires": list(scenario.fixture.requires) if scenario.fixture else [],
        "variants": [form.variant for form in expand_variants(scenario)[1:]],
        **_scenario_place(loaded.path),
    }


def _mode_row(each: Entry) -> list[str]:
    from ghx_bench.modes.program_words import name_of

    return [
        each["name"],
        each["extends"] or "",
        ", ".join(map(name_of, each["tools"])),
        ", ".join(each["mcpServers"]),
        ", ".join(each["packages"].values()),
        "yes" if each["installed"] else "no",
        "yes" if each["shell"] else "no",
        "yes" if each["web"] else "no",
        _yes(each["chosen"]),
    ]


def _count_parts(each: Entry) -> str:
    if each["world"]:
        return "a world"
    names = {"branches": "branch", **{kind: kind[:-1] for kind in _PARTS if kind != "branches"}}
    return ", ".join(f"{each[kind]} {names[kind] if each[kind] == 1 else kind}" for kind in _PARTS if each[kind])


def _place(path: Path | None, *, built_in: Path | None = None) -> Entry:
    """Return where a thing is from; what no file has comes with the package, and so does what is in its folder."""
    ours = path is None or (built_in is not None and path.is_relative_to(built_in))
    return {"builtIn": ours, "file": None if path is None else str(path)}


def _scenario_place(path: Path) -> Entry:
    from ghx_bench.project.folders import BUILT_IN_SCENARIOS

    return _place(path, built_in=BUILT_IN_SCENARIOS)


def _with_origins(entries: Sequence[Entry]) -> list[tuple[Entry, str]]:
    """Return each thing with where it is from, in words; of what is all built in, that goes without saying."""
    goes_without = all(each["builtIn"] for each in entries)
    words = ("" if goes_without else FROM_PACKAGE if each["builtIn"] else str(each["file"]) for each in entries)
    return list(zip(entries, words, strict=True))


def _yes(value: bool) -> str:
    return "yes" if value else ""


def _shorten(ids: Sequence[str]) -> str:
    more = len(ids) - _MOST_IDS
    return ", ".join(ids if more <= 1 else [*ids[:_MOST_IDS], f"{more} more"])


def _print(entries: Iterable[Entry], table: str, listing: Listing) -> int:
    print(json.dumps(list(entries), indent=2, ensure_ascii=False) if listing.json else table)
    return 0
