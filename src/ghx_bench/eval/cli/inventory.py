"""What `ghx-bench list` prints: scenarios, sets, modes, agents, fixtures, and where each is from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ghx_bench._base.errors import InputError
from ghx_bench._base.problems import did_you_mean
from ghx_bench.eval.checking.scenario_rules import Known
from ghx_bench.eval.cli.columns import BUILT_IN, in_columns
from ghx_bench.eval.cli.flags import Listing, Narrowing
from ghx_bench.eval.fixtures.fixture_document import FixtureDocument
from ghx_bench.eval.fixtures.library import BUILT_IN as BUILT_IN_FIXTURES
from ghx_bench.eval.fixtures.library import load_fixtures
from ghx_bench.eval.modes.definitions import Definitions
from ghx_bench.eval.modes.resolver import definitions_of
from ghx_bench.eval.project import catalogue
from ghx_bench.eval.project.catalogue import Catalogue
from ghx_bench.eval.project.config import project_config, project_file
from ghx_bench.eval.project.loader import LoadedScenario, load_scenario_files, narrow
from ghx_bench.eval.project.python_objects import is_target

Entry = Mapping[str, Any]
"""One thing, as `--json` prints it; the table is made of the same."""

LISTS = ("scenarios", "sets", "modes", "agents", "fixtures")

_MOST_IDS = 3


def show_scenarios(paths: Sequence[Path], narrowing: Narrowing, listing: Listing) -> int:
    """Print scenarios; files that were named are taken as they are, and the project does not matter."""
    loaded = _named(paths) if paths else Catalogue(project_config(listing.config)).every()
    scenarios = [each.scenario for each in loaded]
    kept = narrow(scenarios, tags=narrowing.tag, category=narrowing.category, difficulty=narrowing.difficulty)
    ids = {scenario.id for scenario in kept}
    entries = [_scenario(each) for each in loaded if each.scenario.id in ids]
    header = ("id", "category", "difficulty", "checks", "name", *(() if paths else ("tags", "from")))
    rows = [
        [*_scenario_row(each), *([] if paths else [", ".join(each["tags"]), origin])]
        for each, origin in _with_origins(entries)
    ]
    return _print(entries, in_columns(header, rows) if rows else "no scenarios", listing)


def show_sets(listing: Listing) -> int:
    """Print the named sets, with how many scenarios each has, and which."""
    config = project_config(listing.config)
    chosen = None if config.scenarios.ids else config.scenarios.set or catalogue.DEFAULT_SET
    entries: list[Entry] = [
        {"name": each.name, "scenarios": list(each.ids), "chosen": each.name == chosen, **_scenario_place(each.path)}
        for each in Catalogue(config).named_sets.values()
    ]
    rows = [
        [each["name"], str(len(each["scenarios"])), _yes(each["chosen"]), origin, _some(each["scenarios"])]
        for each, origin in _with_origins(entries)
    ]
    return _print(entries, in_columns(("name", "scenarios", "chosen", "from", "which"), rows), listing)


def show_modes(listing: Listing) -> int:
    """Print the modes, with what their agents find on the path and their MCP servers."""
    config, file = project_config(listing.config), project_file(listing.config)
    definitions = Definitions(definitions_of(config))
    places = {
        **{each.name: file for each in config.mode_definitions},
        **{path.stem: path for path in config.mode_files},  # the file is called as its mode is
    }
    entries: list[Entry] = []
    for name in definitions.names:
        own, whole = definitions.lineage(name)[0], definitions.whole(name)
        entries.append(
            {
                "name": name,
                "extends": own.extends,
                "tools": list(whole.tools),
                "mcpServers": list(whole.mcp_servers),
                "shell": whole.shell is not False,
                "instructions": whole.instructions,
                "chosen": name in config.modes,
                **_place(places.get(name)),
            }
        )
    header = ("name", "extends", "tools", "MCP servers", "shell", "chosen", "from")
    return _print(
        entries, in_columns(header, [[*_mode_row(each), origin] for each, origin in _with_origins(entries)]), listing
    )


def show_agents(listing: Listing) -> int:
    """Print the agents, and what each does; of others' agents, where they are."""
    from ghx_bench.eval.assembly import AGENTS
    from ghx_bench.eval.project.user_agents import installed_agents

    chosen = project_config(listing.config).provider.id
    known = {name: (agent.description, agent.is_control) for name, agent in AGENTS.items()}
    others = {name: (f"{entry.value}, of an installed package", False) for name, entry in installed_agents().items()}
    own = {chosen: ("an agent of your own", False)} if is_target(chosen) else {}
    entries: list[Entry] = [
        {"name": name, "description": description, "control": is_control, "chosen": name == chosen}
        for name, (description, is_control) in {**own, **others, **known}.items()
    ]
    rows = [
        [each["name"], "control" if each["control"] else "", _yes(each["chosen"]), each["description"]]
        for each in entries
    ]
    return _print(entries, in_columns(("name", "kind", "chosen", "description"), rows), listing)


def show_fixtures(listing: Listing) -> int:
    """Print the fixtures, and what each has."""
    library = load_fixtures(project_config(listing.config).fixtures.folders)
    entries: list[Entry] = [
        {
            "name": name,
            "description": library.get(name).description,
            **_contents(library.get(name)),
            **_place(library.shelved(name).path, built_in=BUILT_IN_FIXTURES),
        }
        for name in library.names
    ]
    rows = [[each["name"], _counted(each), origin, each["description"]] for each, origin in _with_origins(entries)]
    return _print(entries, in_columns(("name", "has", "from", "description"), rows), listing)


def _named(paths: Sequence[Path]) -> list[LoadedScenario]:
    for path in paths:
        if not path.exists():
            other = did_you_mean(
                str(path), LISTS, otherwise=f"besides files, `ghx-bench list` knows {', '.join(LISTS)}"
            )
            raise InputError(f"{path}: there is no such file; {other}")
    return load_scenario_files(paths, known=Known(scorers=None))


def _scenario(loaded: LoadedScenario) -> Entry:
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
        **_scenario_place(loaded.path),
    }


def _scenario_row(each: Entry) -> list[str]:
    return [each["id"], each["category"], each["difficulty"], str(len(each["checkpoints"])), each["name"]]


def _mode_row(each: Entry) -> list[str]:
    return [
        each["name"],
        each["extends"] or "",
        ", ".join(Path(tool).name for tool in each["tools"]),
        ", ".join(each["mcpServers"]),
        "yes" if each["shell"] else "no",
        _yes(each["chosen"]),
    ]


def _contents(fixture: FixtureDocument) -> Entry:
    return {"issues": len(fixture.issues), "pulls": len(fixture.pulls), "branches": len(fixture.branches)}


def _counted(each: Entry) -> str:
    names = (("issues", "issue", "issues"), ("pulls", "pull", "pulls"), ("branches", "branch", "branches"))
    return ", ".join(f"{each[key]} {one if each[key] == 1 else many}" for key, one, many in names if each[key])


def _place(path: Path | None, *, built_in: Path | None = None) -> Entry:
    """Say where a thing is from; what no file has comes with the package, and so does what is in its folder."""
    ours = path is None or (built_in is not None and path.is_relative_to(built_in))
    return {"builtIn": ours, "file": None if path is None else str(path)}


def _scenario_place(path: Path) -> Entry:
    return _place(path, built_in=catalogue.BUILT_IN)


def _with_origins(entries: Sequence[Entry]) -> list[tuple[Entry, str]]:
    """Return each thing with where it is from, in words; of what is all built in, that goes without saying."""
    goes_without = all(each["builtIn"] for each in entries)
    words = ("" if goes_without else BUILT_IN if each["builtIn"] else str(each["file"]) for each in entries)
    return list(zip(entries, words, strict=True))


def _yes(value: bool) -> str:
    return "yes" if value else ""


def _some(ids: Sequence[str]) -> str:
    more = len(ids) - _MOST_IDS
    return ", ".join(ids if more <= 1 else [*ids[:_MOST_IDS], f"{more} more"])


def _print(entries: Iterable[Entry], table: str, listing: Listing) -> int:
    print(json.dumps(list(entries), indent=2, ensure_ascii=False) if listing.json else table)  # noqa: T201 - this command's output
    return 0
