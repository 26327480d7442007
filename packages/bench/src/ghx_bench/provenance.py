"""The ingredients of an evaluation besides scenarios and modes: options, tools, servers, skills, fixtures."""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path

from pydantic import JsonValue

from ghx_bench.fixtures.library import FixtureLibrary
from ghx_bench.modes.definitions import Definitions, ModeDefinition
from ghx_bench.modes.program_words import name_of, source_of
from ghx_bench.modes.skills import find_skills
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.recipe_agents import has_recipe, recipe_of
from ghx_bench.scenario.eval_scenario import EvalScenario, required_fixtures
from ghx_profiler.agents.controls.solution import SolutionFile
from ghx_profiler.agents.tools.toolset import McpServer
from ghx_profiler.config import AgentEntry
from ghx_profiler.evidence import Mode
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.packs import run_folder
from ghx_profiler.store.provenance import digest, digest_file, digests_of_script
from ghx_profiler.store.record import read_record

_OF_PYTHON = (sys.prefix, sys.base_prefix)
_OF_SYSTEM = ("/usr", "/bin", "/opt")
_LONGEST_GIT_S = 10.0


def ingredients_of(
    config: EvalConfig,
    *,
    project: Path,
    agents: Mapping[str, AgentEntry],
    scenarios: Sequence[EvalScenario],
    fixtures: FixtureLibrary,
    solutions: Mapping[str, SolutionFile],
    definitions: Definitions,
    modes: Mapping[str, Mode],
) -> dict[str, str]:
    """Return the ingredients by name, each with its value, its version or a digest."""
    ingredients = {"target": config.target, "fixtures.repo": config.fixtures.repo or "", "sandbox": config.sandbox}
    if (replayed := config.model_traffic.replay) is not None:
        ingredients["model traffic of run"] = read_record(RunDirectory(run_folder(replayed)).record).run_id
    for name, entry in agents.items():
        ingredients |= {f"agent {name}: {what}": value for what, value in _digests_of_agent(entry)}
    ingredients |= digests_of_fixtures(required_fixtures(scenarios), fixtures)
    for id_ in dict.fromkeys(scenario.base_id for scenario in scenarios):
        if (solution := solutions.get(id_)) is not None:
            ingredients[f"solution of {id_}"] = digest(solution.model_dump(mode="json"))
    if config.scorers is not None and config.scorers.is_file():
        ingredients[f"scorers {config.scorers}"] = digest_file(config.scorers)
    for name, mode in modes.items():
        parts = chain(digests_of_mode(definitions.whole(name), project), _versions_of(mode))
        ingredients |= {f"mode {name}: {what}": value for what, value in parts}
        skills = find_skills(definitions.whole(name).skills)
        ingredients |= {f"mode {name}: skill {skill}": digest_file(folder) for skill, folder in skills.items()}
    return ingredients


def digests_of_fixtures(names: Iterable[str], fixtures: FixtureLibrary) -> dict[str, str]:
    """Return the digests of fixtures and of their seeds, as ingredients."""
    digests: dict[str, str] = {}
    for name in names:
        # A scenario can name a missing one; it is refused when the world is seeded.
        if name in fixtures.names:
            entry = fixtures.entry(name)
            digests[f"fixture {name}"] = digest(entry.document.model_dump(mode="json"))
            if entry.document.world is not None:
                seed = entry.document.world.seed
                digests[f"fixture {name}: seed {seed}"] = digest_file(entry.path.parent / seed)
    return digests


def _digests_of_agent(entry: AgentEntry) -> Iterator[tuple[str, str]]:
    """Yield the options of an agent, and the recipe that it is run by."""
    for option, value in entry.options.items():
        yield f"option {option}", str(value)
    if has_recipe(entry.id):
        yield "recipe", digest(recipe_of(entry.id).model_dump(mode="json"))


def digests_of_mode(mode: ModeDefinition, project: Path) -> Iterator[tuple[str, str]]:
    """Yield the packages of npm and the files of the user's that the tools and servers of a mode are.

    Of a file that is Python, what it imports as well.
    """
    for package in mode.packages:
        yield f"package {package.name}", package.version
    files = chain(
        ((f"tool {name_of(tool)}", Path(source_of(tool))) for tool in (*mode.tools, *mode.behind_tools)),
        (each for server, definition in mode.mcp_servers.items() for each in _files_of(server, definition, project)),
    )
    for what, file in files:
        if file.is_absolute() and (file / "package.json").is_file():
            yield what, digest_file(file)
        if not _is_own(file, project):
            continue
        parts = digests_of_script(file, project) if _is_python(file) else [(file.name, digest_file(file))]
        for path, value in parts:
            yield (what if path == file.name else f"{what}: {path}"), value


def _files_of(name: str, server: McpServer, project: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files and folders that a server is started from; `-m MODULE` starts one of the project's."""
    for before, word in pairwise(("", *server.words)):
        place = Path(word)
        if before == "-m":
            module = project.joinpath(*word.split("."))
            place = module / "__main__.py" if module.is_dir() else module.with_name(f"{module.name}.py")
        yield f"server {name}: {place.name}", place


def _is_python(file: Path) -> bool:
    with file.open("rb") as opened:
        return file.suffix == ".py" or (opened.read(2) == b"#!" and b"python" in opened.readline())


def _is_own(path: Path, project: Path) -> bool:
    """Return whether a path is a file of the user's; what was installed says its version instead."""
    if not (path.is_absolute() and path.is_file()) or any(map(path.is_relative_to, _OF_PYTHON)):
        return False
    # The project itself may lie below such a folder, as /opt/app and /usr/src/app in images of containers do.
    return path.is_relative_to(project) or not any(map(path.is_relative_to, _OF_SYSTEM))


def _versions_of(mode: Mode) -> Iterator[tuple[str, str]]:
    """Yield the versions that the tools and servers of a mode reported."""
    tools, servers = mode.facts.get("tools"), mode.facts.get("mcp_servers")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get("version"), str):
            # Under a name of its own: a script of the user's that tells its version may change without telling another.
            yield f"tool {tool['name']} version", str(tool["version"])
    for name, identity in (servers if isinstance(servers, dict) else {}).items():
        if isinstance(identity, dict):
            yield f"server {name}", " ".join(str(value) for value in identity.values() if isinstance(value, str))


def circumstances_of(project: Path) -> dict[str, JsonValue]:
    """Return the commit of the project's git repository, and whether files differ from it; null without one."""
    commit = _ask_git(project, "rev-parse", "HEAD")
    changed = _ask_git(project, "status", "--porcelain", "--untracked-files=normal", "--", ".") if commit else None
    return {"commit": commit, "hasUncommittedChanges": None if changed is None else bool(changed)}


def _ask_git(project: Path, *words: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", "-C", str(project), *words],  # noqa: S607 - the user's own git, about the user's own folder
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
            timeout=_LONGEST_GIT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
