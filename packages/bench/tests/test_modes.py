"""The modes of a run: what a real shell finds in each, what is written about them, and modes of users."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from bench_command import fork_ghx_bench, printed, rows_of, run_in, write_files
from labelling_project import SCENARIO
from nightly import mostly_nightly

from ghx_base.errors import DocumentError, InputError
from ghx_base.files.scratch import PREFIX
from ghx_bench.checking.json_schemas import json_schema
from ghx_bench.checking.project_check import check_files
from ghx_bench.modes.definitions import BUILT_IN, Definitions, ModeDefinition
from ghx_bench.modes.presets import PRESETS
from ghx_bench.modes.program_path import COMMON, MissingToolError, fill_folder, find_tool
from ghx_bench.modes.resolver import Modes, ToolServerError, open_modes
from ghx_bench.project.config import EvalConfig, definitions_of
from ghx_bench.project.config_file import load_eval_config
from ghx_profiler.agents.tools.toolset import McpServer, ToolSet
from ghx_profiler.contracts import ModeResolver
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.evidence import Mode
from ghx_profiler.testing import ModeResolverContract
from ghx_twin.pytest_plugin import GitHubTwin

CALCULATOR = str(Path(__file__).parents[3] / "tests" / "support" / "calculator_mcp.py")
CALC = {"command": sys.executable, "args": [CALCULATOR]}


def defined(**keys: Any) -> ModeDefinition:
    return ModeDefinition.model_validate(keys)


@asynccontextmanager
async def modes_of(*definitions: ModeDefinition, **environ: str) -> AsyncGenerator[Modes]:
    async with open_modes(definitions, environ={**os.environ, **environ}) as modes:
        yield modes


def found_by_a_real_shell(mode: Mode, tools: Iterable[str]) -> set[str]:
    command = f"for tool in {' '.join(tools)}; do command -v $tool >/dev/null && echo $tool; done; true"
    shell = Path(mode.environment["PATH"], "bash")
    ran = subprocess.run([shell, "-c", command], env=dict(mode.environment), capture_output=True, check=True, text=True)
    return set(ran.stdout.split())


OTHERS = ("gh", "ghx", "ghx-bench", "ghx-twin", "hub", "curl", "wget", "python", "python3", "node", "npx", "perl")


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "own"), [("baseline", {"gh"}), ("ghx", {"ghx"}), ("mcp", set()), ("bare", set())])
async def test_a_real_shell_finds_the_tools_of_its_mode_and_none_of_another(name: str, own: set[str]) -> None:
    mcp = defined(name="mcp", mcp_servers={"github": CALC})  # in place of GitHub's own, which a machine may lack
    async with modes_of(mcp, defined(name="bare")) as modes:
        mode = await modes.resolve(name)

        assert found_by_a_real_shell(mode, OTHERS) == own
        assert found_by_a_real_shell(mode, ["bash", "git", "sh", "cat", "sed"]) == {"bash", "git", "sh", "cat", "sed"}


@pytest.mark.anyio
async def test_the_tools_of_a_mode_work_from_its_folder(tmp_path: Path) -> None:
    async with modes_of() as modes:
        baseline = await modes.resolve("baseline")
        environment = {**baseline.environment, "HOME": str(tmp_path)}
        command = "git init -q repo && cd repo && git status --short | cat && gh --version"
        ran = await anyio.run_process(["bash", "-c", command], env=environment, cwd=tmp_path)

    assert ran.stdout.startswith(b"gh version ")
    assert (tmp_path / "repo" / ".git").is_dir()


def test_no_common_program_is_a_way_to_github_but_git() -> None:
    assert not {"gh", "ghx", "curl", "wget", "ssh", "python3", "node", "perl", "nc"} & set(COMMON)


@pytest.mark.anyio
async def test_the_versions_of_its_tools_are_written_about_a_mode() -> None:
    async with modes_of() as modes:
        facts: list[Any] = [(await modes.resolve(name)).facts for name in ("baseline", "ghx")]

    told = [{tool["name"]: tool["version"] for tool in each["tools"]} for each in facts]
    assert [set(each) for each in told] == [{"gh", "git"}, {"ghx", "git"}]
    assert all(version and version[0].isdigit() for each in told for version in each.values())


@pytest.mark.anyio
async def test_the_name_and_version_of_its_servers_are_written_about_a_mode() -> None:
    async with modes_of(defined(name="mine", mcp_servers={"calc": CALC})) as modes:
        mine = await modes.resolve("mine")

    assert mine.facts["mcp_servers"] == {"calc": {"name": "calculator", "version": "1.2.3"}}
    assert set(ToolSet.of(mine).mcp_servers) == {"calc"}


@pytest.mark.anyio
async def test_a_server_that_two_modes_start_alike_is_asked_once(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    script = f"open({str(starts)!r}, 'a').write('.'); import runpy; runpy.run_path({CALCULATOR!r}, run_name='__main__')"
    server = {"command": sys.executable, "args": ["-c", script]}
    one, two, other = (
        defined(name=name, mcp_servers={"calc": {**server, "environment": environment}})
        for name, environment in (("one", {}), ("two", {}), ("other", {"PLACE": "elsewhere"}))
    )
    async with modes_of(one, two, other) as modes:
        facts = [(await modes.resolve(name)).facts["mcp_servers"] for name in ("one", "two", "other")]

    assert facts == [{"calc": {"name": "calculator", "version": "1.2.3"}}] * 3
    assert starts.read_text() == ".."


@pytest.mark.anyio
async def test_the_folders_of_a_run_are_private_and_gone_with_it() -> None:
    async with modes_of() as modes:
        folder = Path((await modes.resolve("baseline")).environment["PATH"]).parent
        assert folder.stat().st_mode & 0o077 == 0

    assert not folder.exists()


@pytest.mark.anyio
async def test_no_way_leads_from_the_folder_of_one_mode_to_that_of_another() -> None:
    async with modes_of() as modes:
        baseline, ghx = [await modes.resolve(name) for name in ("baseline", "ghx")]
        own, other = [Path(each.environment["PATH"]).parent for each in (baseline, ghx)]
        look = ["bash", "-c", 'find "${PATH%/*}" -name gh -o -name ghx']
        found = (await anyio.run_process(look, env=baseline.environment)).stdout.decode().split()

    assert found == [f"{own}/bin/gh"]
    assert own != other
    assert "baseline" not in str(own)


@pytest.mark.anyio
async def test_what_a_killed_run_left_is_gone_when_the_next_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"{PREFIX}left" / "bin").mkdir(parents=True)
    async with modes_of():
        assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
async def test_the_settings_of_a_mode_are_the_same_in_every_run_so_that_it_can_be_resumed() -> None:
    settings: list[Any] = []
    for _ in range(2):
        async with modes_of(defined(name="mine", tools=["gh"], mcp_servers={"calc": CALC})) as modes:
            settings.append((await modes.resolve("mine")).settings)

    assert settings[0] == settings[1]
    assert settings[0]["tools"] == ["gh"]


@pytest.mark.anyio
async def test_a_mode_of_the_users_adds_to_the_one_it_extends(tmp_path: Path) -> None:
    helper = tmp_path / "helper"
    helper.write_text("#!/bin/sh\necho helping 1.0\n")
    helper.chmod(0o755)
    mine = defined(
        name="mine",
        extends="baseline",
        tools=[str(helper)],
        instructions="Use helper.",
        environment={"HELPER_KEY": "${SECRET_KEY}", "PLAIN": "1"},
        web=True,
    )
    async with modes_of(mine, defined(name="younger", extends="mine", shell=False), SECRET_KEY="s3") as modes:
        mode, younger = await modes.resolve("mine"), await modes.resolve("younger")
        ran = await anyio.run_process(["helper"], env=mode.environment)

        assert ran.stdout == b"helping 1.0\n"
        assert found_by_a_real_shell(mode, ["gh", "ghx", "helper"]) == {"gh", "helper"}
        assert (mode.environment["HELPER_KEY"], mode.environment["PLAIN"]) == ("s3", "1")
        assert mode.instructions == "Use helper."
        assert (ToolSet.of(mode).shell, ToolSet.of(younger).shell) == (True, False)
        assert (ToolSet.of(mode).web, ToolSet.of(younger).web) == (True, True)
        assert not ToolSet.of(await modes.resolve("baseline")).web
        assert younger.instructions == "Use helper."


SKILL = "---\nname: triage\ndescription: Sorts reports.\n---\n\nRead them first.\n"


@pytest.mark.anyio
async def test_skills_of_a_mode_are_known_by_their_names_and_inherited(tmp_path: Path) -> None:
    write_files(tmp_path, {"modes/skills/one/SKILL.md": SKILL, "modes/two/SKILL.md": SKILL.replace("triage", "two-2")})
    write_files(tmp_path, {"modes/mine.yaml": "name: mine\nextends: baseline\nskills: [skills/one]\n"})
    config = load(tmp_path, "modes: [modes/mine.yaml, {name: younger, extends: mine, skills: [modes/two]}]")
    async with modes_of(*definitions_of(config)) as modes:
        mine, younger, baseline = [await modes.resolve(name) for name in ("mine", "younger", "baseline")]

    one, two = str(tmp_path / "modes/skills/one"), str(tmp_path / "modes/two")
    assert ToolSet.of(mine).skills == {"triage": one}
    assert ToolSet.of(younger).skills == {"triage": one, "two-2": two}
    assert younger.facts["skills"] == ["triage", "two-2"]
    assert "skills" not in baseline.facts


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "reason"),
    mostly_nightly(
        [
            (None, "/SKILL.md: No such file or directory; a skill is a folder with such a file"),
            (b"\xff", "/SKILL.md: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte; a skill is"),
            (b"Read them first.", "/SKILL.md: begin it with `name` and `description` between two lines of `---`"),
            (b"---\nname: [\n---\n", "/SKILL.md: while parsing a flow node; a skill is"),
            (b"---\nname: Tri age\n---\n", "/SKILL.md: `name` is 'Tri age'; write up to 64 small letters"),
            (b"---\nname: triage\n---\n", "/SKILL.md: `description` must be a text of up to 1024 characters"),
            (SKILL.encode(), ": its name is 'triage', as that of "),
        ],
        keep=3,
    ),
)
async def test_a_skill_that_agents_would_pass_over_is_one_line(tmp_path: Path, text: bytes | None, reason: str) -> None:
    write_files(tmp_path, {"first/SKILL.md": SKILL, "second/x": ""})
    if text is not None:
        (tmp_path / "second/SKILL.md").write_bytes(text)
    config = load(tmp_path, "modes: [{name: mine, extends: baseline, skills: [./first, second]}]")
    async with modes_of(*definitions_of(config)) as modes:
        with pytest.raises(InputError) as caught:
            await modes.resolve("mine")

    assert caught.value.code == "BAD_SKILL"
    assert str(caught.value).startswith(f"mode 'mine': {tmp_path / 'second'}{reason}")
    (problem,) = check_files([], config=tmp_path / "eval.config.yaml").errors
    assert f"/modes/0/skills: {tmp_path / 'second'}{reason}" in str(problem)


@pytest.mark.anyio
async def test_secrets_of_a_mode_are_in_its_environment_only() -> None:
    async with modes_of(defined(name="mine", environment={"KEY": "${SECRET_KEY}"}), SECRET_KEY="s3cr3t") as modes:
        mine = await modes.resolve("mine")

    assert mine.environment["KEY"] == "s3cr3t"
    assert "s3cr3t" not in repr((mine.settings, mine.facts, mine.instructions))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("MY_KEY", "environment", True),
        ("HUB", "hub-0123456789", True),
        ("BUILD_DATE", "2026-11-15", False),
        ("LEVEL", "very_verbose", False),
        ("HOME", "/srv/hub-0123", False),
    ],
)
async def test_words_and_dates_are_no_secrets_unless_their_name_says_so(name: str, value: str, is_secret: bool) -> None:
    async with modes_of(defined(name="mine", environment={"GIVEN": f"${{{name}}}"}), **{name: value}) as modes:
        mine = await modes.resolve("mine")

    assert (value in mine.secrets) is is_secret


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("definition", "error", "message"),
    [
        (
            {"tools": ["no-such-tool"]},
            MissingToolError,
            "mode 'mine': no-such-tool: not found on this machine; install it",
        ),
        ({"tools": ["./nowhere/tool"]}, MissingToolError, "mode 'mine': ./nowhere/tool: not found on this machine"),
        ({"tools": ["~no-such-user/tool"]}, MissingToolError, "mode 'mine': ~no-such-user/tool: not found on this"),
        (
            {"mcp_servers": {"x": {"command": "no-such-server"}}},
            MissingToolError,
            "mode 'mine': no-such-server: not found on this machine; install it, or correct the command",
        ),
        (
            {"mcp_servers": {"calc": {**CALC, "args": [CALCULATOR, "--broken"]}}},
            ToolServerError,
            "mode 'mine': the MCP server 'calc' (",
        ),
        (
            {"mcp_servers": {"far": {"url": "http://127.0.0.1:9/mcp"}}},
            ToolServerError,
            "mode 'mine': the MCP server 'far' (http://127.0.0.1:9/mcp) does not come up: ",
        ),
        (
            {"environment": {"KEY": "${GHX_BENCH_NOT_SET}"}},
            InputError,
            "mode 'mine' needs the environment variable GHX_BENCH_NOT_SET, which is not set",
        ),
        ({"extends": "basline"}, UnknownNameError, "no mode 'basline'; did you mean 'baseline'? known: "),
        ({"extends": "mine"}, InputError, "mode 'mine' extends itself: mine extends mine"),
    ],
)
async def test_what_a_mode_needs_and_does_not_get_is_one_line(
    definition: dict[str, Any], error: type[Exception], message: str
) -> None:
    async with modes_of(defined(name="mine", **definition)) as modes:
        with pytest.raises(error) as caught:
            await modes.resolve("mine")

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) - {"mcp"}))
def test_a_built_in_mode_cannot_be_redefined(name: str) -> None:
    with pytest.raises(InputError, match=f"mode '{name}' is built in; give yours another name, with `extends: {name}`"):
        Definitions([defined(name=name)])


def test_the_servers_of_all_modes_are_known_by_name() -> None:
    modes = Modes(Definitions([defined(name="mine", mcp_servers={"calc": CALC})]), lambda: Path("unused"), {})

    assert modes.server_names == {"calc", "ghx", "github"}
    assert modes.names == (*BUILT_IN, "mine")


def test_our_own_server_is_started_by_our_own_interpreter_and_takes_no_module_from_the_agents_folder() -> None:
    server = BUILT_IN["ghx-mcp"].mcp_servers["ghx"]

    assert server.words == (sys.executable, "-P", "-m", "ghx_tools.cli.main", "mcp")
    assert server.environment == {}


@pytest.mark.anyio
async def test_a_preset_can_be_named_and_leads_a_server_to_the_sessions_github(tmp_path: Path) -> None:
    fake = tmp_path / "github-mcp-server"
    fake.symlink_to(sys.executable)
    mine = defined(name="mine", mcp_servers={"hub": "github"})
    server = mine.mcp_servers["hub"].in_session({"GITHUB_TOKEN": "t", "GITHUB_SERVER_URL": "http://127.0.0.1:1"})

    assert server.words == ("github-mcp-server", "stdio")
    assert server.environment["GITHUB_HOST"] == "http://127.0.0.1:1"
    assert server.environment["GITHUB_PERSONAL_ACCESS_TOKEN"] == "t"


# -- in configurations


def load(folder: Path, text: str) -> EvalConfig:
    path = folder / "eval.config.yaml"
    path.write_text(text)
    return load_eval_config(path)


def test_modes_can_be_named_described_and_kept_in_files(tmp_path: Path) -> None:
    filed_text = "name: filed\nextends: ghx\ntools: [../bin/helper, ~/helper, /bin/sh]\n"
    write_files(tmp_path, {"modes/filed.yaml": filed_text, "helper": "", "bin/helper": "", "bin/calc": ""})
    config = load(
        tmp_path,
        """\
        modes:
          - baseline
          - name: mine
            extends: baseline
            tools: [./helper, gh]
            mcp_servers: {hub: npm, calc: {command: bin/calc}}
          - modes/filed.yaml
        """.replace("\n        ", "\n").strip(),
    )

    assert config.modes == ("baseline", "mine", "filed")
    mine, filed = definitions_of(config)
    assert (mine.name, filed.name) == ("mine", "filed")
    assert mine.tools == (str(tmp_path / "helper"), "gh")
    assert mine.mcp_servers["calc"].command == str(tmp_path / "bin" / "calc")
    assert mine.mcp_servers["hub"] == PRESETS["npm"]
    assert [os.path.normpath(tool) for tool in filed.tools] == [str(tmp_path / "bin/helper"), "~/helper", "/bin/sh"]
    assert mine.lost == filed.lost == ()


def test_a_flag_can_name_a_mode_that_the_file_describes() -> None:
    config = EvalConfig.model_validate({"modes": ["ghx", {"name": "mine"}], "mode_definitions": [{"name": "spare"}]})

    chosen = config.override(mode=("mine", "spare"))

    assert chosen.modes == ("mine", "spare")
    assert [each.name for each in definitions_of(chosen)] == ["spare", "mine"]


def test_a_configuration_with_modes_of_its_own_survives_being_written_down() -> None:
    config = EvalConfig.model_validate({"modes": [{"name": "mine", "mcp_servers": {"hub": "npm"}}, "baseline"]})

    assert EvalConfig.model_validate(config.model_dump(mode="json", exclude_unset=True)) == config


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{name: mine, tols: [gh]}", "1:22: /modes/0/tols: unknown key 'tols'; did you mean 'tools'?"),
        ("{extends: baseline}", "1:9: /modes/0: missing key 'name'; add it: the name of the mode"),
        ("{name: a b}", "1:16: /modes/0/name: 'a b' does not have the form of 'mine'"),
        (
            "{name: m, mcp_servers: {x: gitub}}",
            "1:36: /modes/0/mcp_servers/x: no preset 'gitub'; did you mean 'github'?",
        ),
        ("{name: m, mcp_servers: {x: {}}}", "1:36: /modes/0/mcp_servers/x: the server has neither 'command' nor 'url'"),
        ("{name: m, tools: gh}", "1:26: /modes/0/tools: expected a list, got the string 'gh'"),
        ("3", "1:9: /modes/0: expected a string, got the number 3"),
    ],
)
def test_each_fault_in_a_described_mode_is_one_line(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, f"modes: [{entry}]")

    (problem,) = caught.value.problems
    assert str(problem).startswith(f"{tmp_path}/eval.config.yaml:{message}")


def test_a_name_given_twice_is_refused_however_it_is_given(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="'mine' is given twice"):
        load(tmp_path, "modes: [{name: mine}, mine]")


def test_a_file_is_called_as_its_mode_is(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: yours\n")
    with pytest.raises(DocumentError, match=r"the file is called 'mine\.yaml' and the mode 'yours'"):
        definitions_of(load(tmp_path, "modes: [mine.yaml]"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"mine\.yaml: there is no such file"):
        definitions_of(load(tmp_path, "modes: [mine.yaml]"))


# -- programs, servers and files of a project's own


OWN_SERVER = """
import json, os, sys
from pathlib import Path
from urllib.request import Request, urlopen
from mcp.server import MCPServer

server = MCPServer("labeller", version=Path(sys.argv[1]).read_text().strip())

@server.tool()
def label(repo: str, number: int) -> str:
    body = json.dumps({"labels": [Path(os.environ["LABEL_FILE"]).read_text().strip()]}).encode()
    address = f"{os.environ['GITHUB_API_URL']}/repos/{repo}/issues/{number}/labels"
    urlopen(Request(address, body, {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}"})).close()
    return "done"

server.run("stdio")
"""
PROJECT = {
    "eval.config.yaml": """
modes: [modes/labeller.yaml]
scenarios: {ids: [mine-001]}
execution: {repetitions: 1, warmup: false}
""",
    "modes/labeller.yaml": f"""
name: labeller
environment: {{NOTES: ../notes}}
mcp_servers:
  labels:
    command: {sys.executable}
    args: [../servers/labeller.py, ./version.txt]
    environment: {{LABEL_FILE: ../servers/label.txt}}
""",
    "modes/version.txt": "4.5.6",
    "notes/today.md": "",
    "servers/labeller.py": OWN_SERVER,
    "servers/label.txt": "performance",
    "scenarios/mine-001.yaml": SCENARIO.replace(
        "CONDITION", "{type: field_equals, path: labels.1, value: performance}"
    ),
    "scenarios/mine-001.solution.yaml": """
version: 1
modes:
  labeller:
    - mcp: {tool: label, arguments: {repo: "{{repo}}", number: "{{number}}"}}
    - shell: test -f "$NOTES/today.md"
""",
}


def test_a_run_uses_a_server_that_is_named_by_a_path_from_the_file_of_its_mode(tmp_path: Path) -> None:
    project = write_files(tmp_path / "project", PROJECT)

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    told = printed(
        fork_ghx_bench(elsewhere, "run", "--config", str(project / "eval.config.yaml"), "--no-report", "--json")
    )

    assert told["modes"]["labeller"]["successes"] == 1
    (row,) = rows_of(run_in(elsewhere))
    assert row.extensions["mode"]["mcp_servers"] == {"labels": {"name": "labeller", "version": "4.5.6"}}  # type: ignore[index, call-overload]


LOST = [
    "tools: [bin/helper]",
    "tools: [./bin/helper]",
    "skills: [bin/helper]",
    "environment: {NOTES: ./bin/helper}",
    "mcp_servers: {hub: {command: ./bin/helper}}",
    "mcp_servers: {hub: {command: sh, args: [./bin/helper]}}",
    "mcp_servers: {hub: {command: sh, environment: {X: ./bin/helper}}}",
]


@pytest.mark.anyio
@pytest.mark.parametrize("key", LOST)
async def test_a_path_that_leads_nowhere_is_one_line_with_file_mode_and_path(tmp_path: Path, key: str) -> None:
    write_files(tmp_path, {"modes/mine.yaml": f"name: mine\n{key}\n"})
    filed = load(tmp_path, "modes: [modes/mine.yaml]")
    inline = load(tmp_path, f"modes: [{{name: mine, {key}}}, {{name: younger, extends: mine}}, baseline]")
    said = (
        "mode 'mine' names ./bin/helper, which is not there; "
        "a path that begins with ./ or ../ is taken from the folder of this file"
    )

    for config, name, file in [(filed, "mine", "modes/mine.yaml"), (inline, "younger", "eval.config.yaml")]:
        async with modes_of(*definitions_of(config)) as modes:
            with pytest.raises(DocumentError) as caught:
                await modes.resolve(name)
            assert str(caught.value) == f"{tmp_path / file}: {said}"
            assert modes.server_names >= {"ghx"}  # what is not run may be built later
    problems = check_files([], config=tmp_path / "eval.config.yaml").errors
    assert [str(each) for each in problems] == [f"{tmp_path}/eval.config.yaml: {said}"]


def test_words_that_are_no_paths_from_here_stay_as_they_are(tmp_path: Path) -> None:
    write_files(tmp_path, {"stdio": "", "lib/x": ""})
    config = load(tmp_path, "modes: [{name: m, mcp_servers: {x: {command: sh, args: [stdio, -I./lib, lib/x, .]}}}]")

    (mode,) = definitions_of(config)

    assert mode.lost == ()
    assert mode.mcp_servers["x"].words == ("sh", "stdio", "-I./lib", "lib/x", ".")


@pytest.mark.anyio
async def test_a_tool_that_cannot_be_started_stops_the_run_before_it_begins(tmp_path: Path) -> None:
    write_files(tmp_path, {"helper": "#!/usr/bin/env node\n"})
    (tmp_path / "helper").chmod(0o755)
    async with modes_of(*definitions_of(load(tmp_path, "modes: [{name: mine, tools: [./helper]}]"))) as modes:
        with pytest.raises(
            MissingToolError, match=r"mode 'mine': .*/helper: cannot be started: no 'node' is on the path"
        ):
            await modes.resolve("mine")


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["tools: [./helper.py]", "mcp_servers: {hub: {command: ./helper.py}}"])
async def test_a_file_that_is_no_program_is_told_from_one_that_is_missing(tmp_path: Path, key: str) -> None:
    write_files(tmp_path, {"helper.py": "print()"})
    async with modes_of(*definitions_of(load(tmp_path, f"modes: [{{name: mine, {key}}}]"))) as modes:
        with pytest.raises(MissingToolError) as caught:
            await modes.resolve("mine")

    path = tmp_path / "helper.py"
    assert (
        str(caught.value) == f"mode 'mine': {path}: cannot be run as a program; make it an executable file (chmod +x)"
    )


class TestModes(ModeResolverContract):
    def make_resolver(self) -> ModeResolver:
        return Held()

    def known_modes(self) -> Iterable[str]:
        return ["baseline", "ghx", "calc"]


class Held:
    """One set of modes for the whole suite, since each of its rules makes a resolver of its own."""

    modes: Modes | None = None

    async def resolve(self, name: str) -> Mode:
        if Held.modes is None:
            raise RuntimeError("the fixture below opens them")
        return await Held.modes.resolve(name)


@pytest.fixture(scope="module", autouse=True)
def _held(tmp_path_factory: pytest.TempPathFactory) -> Iterable[None]:
    own = [defined(name="calc", mcp_servers={"calc": CALC})]
    Held.modes = Modes(Definitions(own), lambda: tmp_path_factory.mktemp("mode"), os.environ)
    yield
    Held.modes = None


@pytest.mark.anyio
@pytest.mark.parametrize("place", ["named by GITHUB_API_URL", "behind the proxy of the session"])
@pytest.mark.parametrize("kind", ["ours", "the system's"])
async def test_a_node_program_with_githubs_address_built_in_is_led_to_the_sessions_github(
    github_twin: GitHubTwin, kind: str, place: str
) -> None:
    code = """
    const ask = (url, options) => fetch(url, options).then((answer) => answer.json());
    const headers = {authorization: `Bearer ${process.env.GITHUB_TOKEN}`};
    const address = "https://api.github.com/user";
    Promise.all([ask(address, {headers}), ask(new URL(address), {headers}), ask(new Request(address, {headers}))])
      .then((users) => console.log(users.map((user) => user.login).join()));
    """
    here = find_tool("node", os.environ)
    assert here is not None, "the development dependencies bring it"
    node = here if kind == "ours" else shutil.which("node", path="/usr/bin:/usr/local/bin") or here  # often an old one
    named = {"GITHUB_TOKEN": github_twin.token, "GITHUB_API_URL": github_twin.url}
    preset = PRESETS["npm"].in_session(named if place.startswith("named") else github_twin.environment)
    ran = await anyio.run_process([str(node), "-e", code], env=preset.environment)

    assert ran.stdout.decode().strip() == ",".join([github_twin.user] * 3)


def test_a_server_of_npm_is_started_in_sessions_that_do_not_reach_npm(tmp_path: Path) -> None:
    npx = tmp_path / "npx"
    npx.write_text("#!/bin/sh\n")
    npx.chmod(0o755)
    modes = Modes(Definitions(), lambda: tmp_path, {"PATH": str(tmp_path), "HOME": "/srv/me"})

    server = modes._startable("mine", McpServer(command="npx", args=("-y", "some-server")))

    settings = {name: value for name, value in server.environment.items() if name.startswith("npm_config_")}
    assert settings == {
        "npm_config_cache": "/srv/me/.npm",
        "npm_config_prefer_offline": "true",
        "npm_config_update_notifier": "false",
    }


# -- in `ghx-bench check` and for editors


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("modes: [baseline, {name: mine, extends: baseline}, mine2.yaml]", []),
        ("modes: [basline]", ["/modes/0: no mode 'basline'; did you mean 'baseline'? known: "]),
        ("modes: [{name: a, extends: b}]", ["/modes/0: no mode 'b'; known: "]),
        ("modes: [{name: ghx}]", ["/modes: mode 'ghx' is built in; give yours another name"]),
        ("modes: [broken.yaml]", ["broken.yaml:1:16: /extens: unknown key 'extens'; did you mean 'extends'?"]),
    ],
)
def test_check_finds_what_is_wrong_with_modes(tmp_path: Path, text: str, messages: list[str]) -> None:
    (tmp_path / "mine2.yaml").write_text("name: mine2\n")
    (tmp_path / "broken.yaml").write_text("{name: broken, extens: ghx}\n")
    config = tmp_path / "eval.config.yaml"
    config.write_text(text)

    problems = check_files([], config=config).errors

    assert len(problems) == len(messages)
    assert all(message in str(problem) for message, problem in zip(messages, problems, strict=True))


@pytest.mark.parametrize(
    ("value", "is_fine"),
    [
        ({"modes": ["baseline", "modes/mine.yaml", {"name": "x", "mcp_servers": {"hub": "npm"}}]}, True),
        ({"modes": [{"name": "x", "mcp_servers": {"hub": "nmp"}}]}, False),
        ({"modes": [{"tools": ["gh"]}]}, False),
        ({"modes": [3]}, False),
    ],
)
def test_editors_know_the_ways_to_write_a_mode(value: Any, is_fine: bool) -> None:
    assert jsonschema.Draft202012Validator(json_schema("config")).is_valid(value) is is_fine
    for mode in value["modes"]:
        if isinstance(mode, dict):
            assert jsonschema.Draft202012Validator(json_schema("mode")).is_valid(mode) is is_fine


def test_the_copy_of_gh_does_not_tell_where_it_is_installed(tmp_path: Path) -> None:
    fill_folder(tmp_path / "bin", ["gh"], {"PATH": os.defpath})

    ours, copy = find_tool("gh", {"PATH": os.defpath}), tmp_path / "bin" / "gh"
    assert ours is not None
    assert not copy.is_symlink()
    assert not copy.samefile(ours)
    assert copy.read_bytes() == ours.read_bytes()
