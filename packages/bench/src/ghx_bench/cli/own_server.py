"""`ghx-bench init --mcp`: a project round a server of one's own, which is proved to start before a file is written."""

import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from ghx_base.errors import FlagError, OperationError, ungrouped
from ghx_base.problems import one_line, plural
from ghx_bench.assembly import COMMON_ENVIRONMENT
from ghx_bench.cli.measured_modes import tell_waiting
from ghx_bench.cli.running.forecast import guess_forecast
from ghx_bench.fixtures.library import load_fixtures
from ghx_bench.loader import load_eval_scenarios
from ghx_bench.modes.definitions import BUILT_IN, ModeDefinition
from ghx_bench.modes.pins import INTERPRETER
from ghx_bench.modes.program_words import package_of
from ghx_bench.modes.resolver import PATIENCE_S, open_modes, start_limit_s
from ghx_bench.project.loop_agent import LOOP
from ghx_bench.project.user_agents import require_known_agent
from ghx_bench.stages.twin_stage import TwinLifecycle
from ghx_bench.toolsets.sizes import open_ruler
from ghx_bench.toolsets.tool_lists import ServerSurface, measure_tools, parse_tool
from ghx_profiler.agents.drivers.recipe import built_in_recipe, recipe_names
from ghx_profiler.agents.tools.toolset import McpServer, ToolSet
from ghx_profiler.plan.cell import NO_MODEL, Cell
from ghx_profiler.records.causes import EnvironmentFailure, describe_error
from ghx_profiler.records.model_calls import WireKind

_REPETITIONS, _AT_ONCE, _ARMS = 3, 2, 2
_SCRIPTS = frozenset({".cjs", ".js", ".mjs", ".py", ".rb", ".sh", ".ts"})
_NO_SCRIPT_AFTER = frozenset({"-c", "-e", "-m", "--cwd", "--directory"})
_PACKAGE_RUNNERS = frozenset({"npx", "uvx"})
_USUAL_AGENT = "goose"
# One of each vendor, of the middle: what a first comparison is usually made with.
_USUAL_MODELS: dict[WireKind, str] = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "google/gemini-2.5-pro",
    "openai-chat": "openai/gpt-4.1",
    "openai-responses": "openai/gpt-5",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedServer:
    """What a server said on the embedded GitHub, in the environment of a session."""

    identity: str
    measured: ServerSurface
    tokens_are_estimated: bool

    @property
    def surface(self) -> str:
        """How much an agent is told of it before it does anything, as `ghx-bench surface` measures it."""
        size = self.measured.size
        about = "about " if self.tokens_are_estimated else ""
        return (
            f"{plural(len(self.measured.tools), 'tool')}, {about}{size.tokens:,} tokens ({size.bytes:,} bytes) of "
            "instructions, names, descriptions and schemas"
        )


def describe_server(command: str, folder: Path) -> ModeDefinition:
    """Return the mode of a server that is started as `command`; files in it are written as seen from the folder."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise FlagError("--mcp", f"{command!r} cannot be taken apart: {error}") from None
    if not words:
        raise FlagError("--mcp", "name the command that starts the server, as in --mcp 'my-server stdio'")
    if package_of(words[0]) is not None:
        raise FlagError("--mcp", f"{words[0]}: install it first, and name the program; or describe a mode in a file")
    _require_script(words)
    name = _name_for(words)
    first, *rest = words
    server = McpServer(
        command=_seen_from(folder, first) if os.sep in first else first,
        args=tuple(_seen_from(folder, word) for word in rest),
        environment={"GITHUB_PERSONAL_ACCESS_TOKEN": "${GITHUB_TOKEN}"},
    )
    description = f"Use the tools of the MCP server `{name}` to work with GitHub."
    return ModeDefinition(name=name, mcp_servers={name: server}, instructions=description)


def _require_script(words: Sequence[str]) -> None:
    """Refuse a script that does not exist: the interpreter would search a session's folder and report that path."""
    runner, *rest = words
    if not INTERPRETER.fullmatch(Path(runner).name) or Path(runner).name in _PACKAGE_RUNNERS:
        return
    for word in rest:
        # What follows is code, a module, or seen from another folder.
        if word.partition("=")[0] in _NO_SCRIPT_AFTER:
            return
        if not word.startswith("-") and Path(word).suffix in _SCRIPTS:
            if not os.path.isfile(word):  # noqa: PTH113 - any text
                raise FlagError("--mcp", f"there is no file {word} here ({Path.cwd()}); name the script of the server")
            return


def _name_for(words: Sequence[str]) -> str:
    """Return what a server is called: as its program, or as the script that an interpreter runs."""
    # A word with a space in it is code, as after `-c`, and no name.
    known = (Path(each) for each in words if not each.startswith("-") and " " not in each)
    file = next((each for each in known if not INTERPRETER.fullmatch(each.name)), Path("server"))
    name = file.stem if file.suffix in _SCRIPTS else file.name
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name.partition("@")[0]).strip("-._") or "server"
    return f"my-{plain}" if plain in BUILT_IN else plain


def _seen_from(folder: Path, word: str) -> str:
    if not os.path.isfile(word):  # noqa: PTH113 - any text
        return word
    file, home = Path(word).absolute(), folder.absolute()
    return f"./{file.relative_to(home)}" if file.is_relative_to(home) else str(file)


def prove_server(mode: ModeDefinition, project: Path) -> ProvedServer:
    """Start a server as a session does, and ask for its tools; `project` has a scenario to do that in."""
    with ungrouped():
        return anyio.run(_prove, mode, project)


async def _prove(mode: ModeDefinition, project: Path) -> ProvedServer:
    from ghx_profiler.agents.tools.toolserver import connect

    scenario, *_ = load_eval_scenarios(project / "scenarios")
    lifecycle = TwinLifecycle(None, [scenario], load_fixtures([project / "fixtures"]))
    limit_s = start_limit_s(mode.mcp_servers[mode.name], PATIENCE_S)
    cell = Cell(agent="init", model=NO_MODEL, mode=mode.name, scenario_id=scenario.id, iteration=0)
    try:
        async with (
            open_modes([mode], environ=os.environ, longest_start_s=PATIENCE_S) as modes,
            tell_waiting(modes.waiting),
        ):
            resolved = await modes.resolve(mode.name)
            server = ToolSet.of(resolved).mcp_servers[mode.name]
            async with lifecycle.run(Path("init")), lifecycle.cell(cell, scenario, resolved) as stage:
                environment = {**COMMON_ENVIRONMENT, **resolved.environment, **stage.environment}
                with anyio.fail_after(limit_s), modes.waiting.wait_for(f"the tools of {mode.name}"):
                    async with connect(mode.name, server, environment=environment, directory=stage.directory) as opened:
                        identity, instructions = opened.identity, opened.instructions
                        tools = tuple(map(parse_tool, await opened.list_raw_tools()))
    except TimeoutError:
        raise OperationError(f"{mode.name}: no answer to tools/list within {limit_s:g} s") from None
    except EnvironmentFailure as error:
        raise OperationError(one_line(describe_error(error))) from None
    label = " ".join(filter(None, (identity.name, identity.version)))
    ruler = open_ruler()
    measured = measure_tools(mode.name, identity.version, tools, instructions, ruler)
    return ProvedServer(identity=label or mode.name, measured=measured, tokens_are_estimated=ruler.is_estimate)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """The first comparison with the server: which agent and model, and what it would cost."""

    agent: str | None
    """As it is written into the configuration; `None` where none was named."""
    model: str | None
    """One that the agent can ask; `None` for an agent without a model, or of one's own."""

    @property
    def to_install(self) -> str | None:
        """The agent, if it has to be installed in the new project first."""
        chosen = self.agent or _USUAL_AGENT
        return chosen if chosen in recipe_names() and built_in_recipe(chosen).install is not None else None

    @property
    def flags(self) -> str:
        """What has to be said beside the configuration."""
        if self.agent is None:
            return f" --agent {_USUAL_AGENT} --model {self.model} --max-usd 1"
        return "" if self.model is None else " --max-usd 1"

    @property
    def cost(self) -> str:
        """What it takes, as far as that is known."""
        cells = _ARMS * _REPETITIONS
        effort = None if self.model is None else guess_forecast([self.model], arms=_ARMS, max_concurrency=_AT_ONCE)
        if effort is None:
            return f"{cells} cells; what they cost is the agent's affair"
        _, time, usd = effort.columns(_REPETITIONS)
        return f"{cells} cells, {time} and {usd}, by {effort.basis}"


def plan_next_run(agent: str | None) -> NextRun:
    """Return the first run of an agent, or of the usual one; raise for one that is not known."""
    if agent is not None:
        require_known_agent(agent, ())
    chosen = agent or _USUAL_AGENT
    if chosen == LOOP:
        return NextRun(agent=agent, model=_USUAL_MODELS["openai-chat"])
    wire = built_in_recipe(chosen).wire if chosen in recipe_names() else None
    return NextRun(agent=agent, model=None if wire is None else _USUAL_MODELS[wire])


def write_config(mode: ModeDefinition, following: NextRun) -> str:
    """Return the configuration of the project, with comments."""
    server = mode.mcp_servers[mode.name]
    agents = [f"agents: [{{id: {json.dumps(following.agent)}}}]"] if following.agent else []
    agents += [f"models: [{following.model}]"] if following.agent and following.model else []
    return _CONFIG.format(
        name=json.dumps(mode.name),
        command=json.dumps(server.command),
        args=json.dumps(server.args),
        environment=json.dumps(server.environment),
        instructions=json.dumps(mode.instructions),
        repetitions=_REPETITIONS,
        at_once=_AT_ONCE,
        agents="\n".join(agents) or "# agents: [{id: goose}]              or name one with --agent, and its --model",
    )


_CONFIG = """\
# What `ghx-bench run` does here: your server beside plain `gh`. Flags override it: ghx-bench run --repetitions 10
modes:
  - baseline # the gh command
  - name: {name}
    mcp_servers:
      {name}:
        command: {command}
        args: {args}
        # Beside the variables of a session, such as GITHUB_TOKEN and GITHUB_API_URL.
        environment: {environment}
    instructions: {instructions}

scenario_dirs: [scenarios]
# scenarios: {{set: default}}          eight scenarios of the package, instead of all of this folder

fixtures:
  folders: [fixtures]

execution:
  repetitions: {repetitions}
  max_concurrency: {at_once}

{agents}

output:
  results_dir: results
"""
