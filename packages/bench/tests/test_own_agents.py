"""Agents of others: in a file, in an installed package, made with options, and evaluated like any agent."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from bench_command import fork_ghx_bench, printed, rows_of, run_in, write_files
from traffic_project import REAL_KEY, calls_in, record_run

from ghx_base.errors import InputError
from ghx_bench.cli.main import run
from ghx_bench.project import user_agents as own_agents
from ghx_bench.project.config_file import load_eval_config
from ghx_bench.project.user_agents import AgentFunction, agent_at, installed_agent

PAGE = (Path(__file__).parents[3] / "docs" / "agents.md").read_text()
IDLE = """
from contextlib import asynccontextmanager
from ghx_profiler.agents.controls.nop import NopSession

class Agent:
    name = "idle"

    def __init__(self, mood="calm", port=None):
        self.mood, self.port = mood, port

    @asynccontextmanager
    async def session(self, request):
        yield NopSession()

class Nameless(Agent):
    name = ""

class Posing(Agent):
    name = "nop"

class Oracle(Agent):
    control_kind = "oracle"

class Idle(Agent):
    control_kind = "nothing"

class Angry(Agent):
    def __init__(self):
        raise ValueError("no\\nkey")

class Leaving(Agent):
    def __init__(self):
        raise SystemExit(3)

def made(**options):
    return Agent(**options)

def nothing():
    return None

ready = Agent("ready")
number = 7

async def answer(given, mood="calm"):
    return mood

def wait(task):
    return "done"

async def without():
    return "done"

async def several(task):
    yield "done"

def unclear(given):
    return "done"
"""


def block_of(language: str, beginning: str) -> str:
    """Return the one block of the page that begins so."""
    (found,) = re.findall(rf"^```{language}\n({re.escape(beginning)}.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def python_of(beginning: str) -> str:
    return block_of("python", beginning)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(write_files(tmp_path, {"mine.py": IDLE}))
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in (getattr(module, "__file__", None) or ""):
            del sys.modules[name]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("target", ["mine.py", "./mine.py:Agent", "mine:Agent", "mine.py:made"])
def test_an_agent_is_made_with_its_options(target: str) -> None:
    made = agent_at(target, {"mood": "glad"})

    assert (made.name, getattr(made, "mood", None)) == ("idle", "glad")


@pytest.mark.usefixtures("folder")
def test_an_agent_may_be_made_already() -> None:
    assert getattr(agent_at("mine.py:ready", {}), "mood", None) == "ready"
    with pytest.raises(InputError, match=r"^mine\.py:ready: is made already and takes no options; .*: 'mood'"):
        agent_at("mine.py:ready", {"mood": "glad"})


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("other.py:Agent", "other.py:Agent: no such file"),
        ("no_such_module:Agent", "no_such_module:Agent: cannot be imported (ModuleNotFoundError: "),
        ("mine.py:Agnt", "mine.py:Agnt: there is nothing called 'Agnt' in it; did you mean 'Agent'?"),
        ("mine.py:number", "mine.py:number: is an int, neither an agent nor a class of one"),
        (
            "mine.py:nothing",
            "mine.py:nothing: a NoneType is no agent: it has no method `session`; a function that is an agent itself "
            "is `async`, or calls its first parameter `task`",
        ),
        (
            "mine.py:unclear",
            "mine.py:unclear: cannot be made without options (TypeError: unclear() missing 1 required positional "
            "argument: 'given'); a function that is an agent itself is `async`, or calls its first parameter `task`",
        ),
        (
            "mine.py:without",
            "mine.py:without: cannot be called with its task and no options (too many positional arguments); an agent "
            "takes its task first, then its options",
        ),
        ("mine.py:several", "mine.py:several: is a generator, which has many answers; return the one text"),
        ("mine.py:Nameless", "mine.py:Nameless: a Nameless is no agent: give it a `name`"),
        (
            "mine.py:Angry",
            "mine.py:Angry: cannot be made without options (ValueError: no key, mine.py line 29)",
        ),
        ("mine.py:Leaving", "mine.py:Leaving: cannot be made without options (SystemExit: 3, mine.py line "),
    ],
)
def test_what_is_no_agent_is_told_in_one_line_with_its_place(target: str, says: str) -> None:
    with pytest.raises(InputError) as raised:
        agent_at(target, {})

    assert str(raised.value).startswith(says)
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("folder")
def test_an_agent_cannot_pass_for_a_control(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--agent", "mine.py:Posing", "--mode", "baseline", "--dry-run"]) == 2

    said = capsys.readouterr().err.splitlines()[-1]
    assert said == ("error: mine.py:Posing: its name is 'nop', which is that of a control agent; give it another")


@pytest.mark.usefixtures("folder")
def test_a_plan_is_refused_for_a_control_kind_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "--agent", "mine.py:Oracle", "--mode", "baseline", "--dry-run"]) == 2

    assert "agent 'idle': its control_kind is 'oracle'; leave it out, or use one of " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["idle / hasty", "idle @ home"])
def test_a_name_that_would_read_like_two_in_a_report_is_refused(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "eval.config.yaml").write_text(f"modes: [baseline]\nagents: [{{id: ./mine.py:Agent, name: {name}}}]\n")

    assert run(["run", "--dry-run"]) == 2

    assert f"its name is {name!r}, and reports write {name[4:7]!r} between names" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["mine.py:Idle", "mine.py:Agent", "gone.py:Agent"])
def test_an_agent_of_ones_own_is_listed_as_a_control_if_it_says_so(
    target: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "eval.config.yaml").write_text(f"modes: [baseline]\nprovider: {{id: {target}}}\n")

    assert run(["list", "agents", "--json"]) == 0

    agents = {each["name"]: each["control"] for each in json.loads(capsys.readouterr().out)}
    assert agents[target] is (target == "mine.py:Idle")


@pytest.mark.usefixtures("folder")
def test_options_that_an_agent_does_not_take_are_named() -> None:
    with pytest.raises(InputError, match=r"^mine\.py: cannot be made with options 'moood' \(TypeError: .*moood"):
        agent_at("mine.py", {"moood": "glad"})


@pytest.mark.usefixtures("folder")
def test_a_function_gets_the_options_that_are_not_about_its_model() -> None:
    made = agent_at("mine.py:answer", {"mood": "glad", "base_url": "http://127.0.0.1:8000/v1"})

    assert isinstance(made, AgentFunction)
    assert made.arguments == {"mood": "glad"}
    assert isinstance(agent_at("mine.py:wait", {}), AgentFunction)
    with pytest.raises(InputError, match=r"task and options 'moood' \(got an unexpected keyword argument 'moood'\)"):
        agent_at("mine.py:answer", {"moood": "glad"})


@pytest.mark.parametrize(
    ("options", "model", "says"),
    [
        ("{key_env: NO_SUCH_KEY}", "openai/gpt-5", "model provider 'openai': the variable NO_SUCH_KEY is not set"),
        ("{wire: soap}", "gpt-5", "agent ./mine.py:wait: options.wire: "),
        ("{wire: gemini}", "none", "agent ./mine.py:wait: needs a model; name it with --model"),
    ],
)
def test_the_way_of_a_function_to_its_model_is_checked_before_anything_runs(
    options: str, model: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = f"[{{id: ./mine.py:wait, name: ./mine.py:wait, options: {options}}}]"
    (folder / "eval.config.yaml").write_text(f"modes: [baseline]\nmodels: [{model}]\nagents: {agents}\n")

    assert run(["run", "--dry-run"]) == 2

    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("mine.py:Agnt", "mine.py:Agnt: there is nothing called 'Agnt' in it; did you mean 'Agent'?"),
        ("mine.py:number", "mine.py:number: an int is no agent: it has no method `session`"),
        ("mine.py:without", "mine.py:without: cannot be called with its task and no options"),
        ("gone.yaml", "gone.yaml: no such file"),
        ("referense", "no agent 'referense'; did you mean 'reference'?"),
        ("mine.py:Angry", None),  # it is not made: that may need a key, or a program
        ("mine.py:wait", None),
    ],
)
def test_check_finds_agents_that_are_not_there(
    agent: str, says: str | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "eval.config.yaml").write_text(f"modes: [baseline]\nagents: ['{agent}']\n")

    assert run(["check", "eval.config.yaml"]) == (0 if says is None else 2)

    told = capsys.readouterr()
    assert says is None or f"eval.config.yaml:2:10: /agents/0/id: {says}" in told.out + told.err


def test_a_function_is_listed_as_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "eval.config.yaml").write_text("modes: [baseline]\nprovider: {id: ./mine.py:wait}\n")

    assert run(["list", "agents"]) == 0

    assert re.search(r"^mine\.py:wait +python +yes +a function of your own$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.usefixtures("folder")
def test_an_agent_of_an_installed_package_is_known_by_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sys.path.insert(0, str(Path.cwd()))
    values = {"idle": "mine:Agent", "broken": "no_such_module:Agent"}
    entries = {
        name: EntryPoint(name=name, value=value, group=own_agents.ENTRY_POINTS) for name, value in values.items()
    }

    assert getattr(installed_agent(entries["idle"], {"mood": "glad"}), "mood", None) == "glad"
    with pytest.raises(
        InputError, match=r"^agent 'broken' \(no_such_module:Agent\): cannot be imported \(ModuleNotFou"
    ):
        installed_agent(entries["broken"], {})

    monkeypatch.setattr("ghx_bench.agent_factory.installed_agents", lambda: entries)
    monkeypatch.setattr(own_agents, "installed_agents", lambda: entries)
    assert run(["run", "--agent", "idle", "--mode", "baseline", "--dry-run"]) == 0
    assert "with the agent idle:" in capsys.readouterr().out
    assert run(["run", "--agent", "idel", "--mode", "baseline", "--dry-run"]) == 2
    assert "no agent 'idel'; did you mean 'idle'?" in capsys.readouterr().err
    assert run(["list", "agents", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert listed["idle"] == {
        "name": "idle",
        "description": "mine:Agent, of an installed package",
        "control": False,
        "chosen": False,
        "protocol": None,
        "version": None,
        "installed": None,
        "needs": [],
    }


def test_the_agent_of_a_configuration_is_beside_it_and_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = "modes: [baseline]\nprovider: {id: ./mine.py:Agent, options: {mood: glad}}\n"
    write_files(folder, {"eval.config.yaml": config})

    assert load_eval_config(folder / "eval.config.yaml").provider.id == f"{folder / 'mine.py'}:Agent"
    assert run(["list", "agents"]) == 0
    assert re.search(r"^mine\.py:Agent +yes +an agent of your own$", capsys.readouterr().out, re.MULTILINE)


def test_options_of_one_agent_are_not_given_to_another(folder: Path) -> None:
    config = "modes: [baseline]\nprovider: {id: ./mine.py:Agent, port: 80, options: {mood: glad}}\n"
    write_files(folder, {"eval.config.yaml": config})
    config = load_eval_config("eval.config.yaml")

    assert config.override(agent="nop").provider.options == {}
    assert config.override(repetitions=2).provider.options == {"mood": "glad"}


@pytest.fixture(scope="module")
def triaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the agent of the page, run once."""
    folder = tmp_path_factory.mktemp("triaged")
    config = block_of("yaml", "modes: ")
    write_files(folder, {"my_agent.py": python_of("import re\n"), "eval.config.yaml": config})
    done = fork_ghx_bench(folder, "run", "--repetitions", "2", "--skip-warmup", "--max-concurrency", "4", "--json")
    assert printed(done)["measured"] == 4
    return folder


def test_the_agent_of_the_page_works_with_the_tools_of_its_mode(triaged: Path) -> None:
    rows = rows_of(run_in(triaged))

    assert {(row.mode, row.success, row.provider) for row in rows} == {
        ("baseline", True, "triager"),
        ("ghx-mcp", True, "triager"),
    }
    assert {row.mode: row.tool_calls.by_category for row in rows} == {"baseline": {"gh_cli": 3}, "ghx-mcp": {"mcp": 3}}
    (session, *_) = (run_in(triaged) / "sessions").rglob("*.json")
    assert "Priority: low." in session.read_text(), "the option of the configuration"


def test_the_rows_of_an_agent_are_compared_and_are_no_control(triaged: Path) -> None:
    summary = json.loads((run_in(triaged) / "report" / "data" / "summary.json").read_text())

    assert summary["control"] is False
    assert {(each["a"], each["b"]) for each in summary["comparisons"]} == {("ghx-mcp", "baseline")}
    assert "A control run: " not in (run_in(triaged) / "report" / "index.html").read_text()


def test_the_function_of_the_page_asks_its_model_through_the_meter(tmp_path: Path) -> None:
    write_files(tmp_path, {"my_agent.py": python_of("import httpx2\n")})

    def choose(url: str) -> list[object]:
        return [{"id": "./my_agent.py:agent", "options": {"base_url": f"{url}/v1", "key_env": "MY_KEY"}}]

    record_run(tmp_path, agents=choose, execution={"repetitions": 1, "warmup": False, "retries": 0})

    recorded = tmp_path / "recorded"
    [row] = rows_of(recorded)
    assert (row.agent, row.success, row.tool_calls.by_category) == ("agent", True, {"gh_cli": 2}), row.error
    assert (row.sources["tokens"], row.extensions["agent"]["protocol"]) == ("meter", "python")
    assert row.model_calls is not None
    assert row.model_calls.total == 3
    made_with = json.loads((recorded / "run.json").read_text())["provenance"][0]["ingredients"]
    assert [each for each in made_with if "my_agent.py" in each]
    assert not [each for each in recorded.rglob("*") if each.is_file() and REAL_KEY.encode() in each.read_bytes()]
    again = fork_ghx_bench(tmp_path, "run", "--replay-model", "recorded", "--no-report")
    assert again.returncode == 0, again.stderr
    assert calls_in(run_in(tmp_path)) == calls_in(recorded)


class ModelHandler(BaseHTTPRequestHandler):
    """A model that triages: it calls what it is offered, and once it has seen the issue, says so and changes it."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", **self.choose(asked["messages"], [each["function"] for each in asked["tools"]])}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        body = json.dumps({"choices": [{"message": message}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...

    def choose(self, messages: list[dict[str, str]], tools: list[dict[str, object]]) -> dict[str, object]:
        (prompt,) = [each["content"] for each in messages if each["role"] == "user"]
        number, owner, name = re.search(r"#(\d+) in ([\w.-]+)/([\w.-]+)", prompt).groups()  # type: ignore[union-attr]
        answers = [each["content"] for each in messages if each["role"] == "tool"]
        schemas = {str(each["name"]): each["parameters"] for each in tools}
        comment = "Priority: high. Next: look into it."
        if "ghx_issue_view" not in schemas:
            at = f"{number} --repo {owner}/{name}"
            steps = [
                ("bash", {"command": f"gh issue view {at} --json title,body"}),
                ("bash", {"command": f"gh issue edit {at} --add-label performance"}),
                ("bash", {"command": f"gh issue comment {at} --body '{comment}'"}),
            ]
        else:
            place = {"owner": owner, "name": name, "issueNumber": int(number)}
            assert place.keys() <= schemas["ghx_issue_view"]["properties"].keys()  # type: ignore[index]
            steps = [
                ("ghx_issue_view", place),
                ("ghx_issue_labels_add", {**place, "labels": ["performance"]}),
                ("ghx_issue_comments_create", {**place, "body": comment}),
            ]
        if len(answers) == len(steps):
            return {"content": "It is labelled performance."}
        tool, arguments = steps[len(answers)]
        call = {"name": tool, "arguments": json.dumps(arguments)}
        return {"content": None, "tool_calls": [{"id": f"call_{len(answers)}", "type": "function", "function": call}]}


def test_the_model_loop_of_the_page_works_in_every_mode(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), ModelHandler) as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        config = f"""
modes: [baseline, ghx-mcp]
models: [{{id: openai/gpt-5}}]
provider: {{id: ./model_loop.py, options: {{url: "http://127.0.0.1:{model.server_port}/"}}}}
scenarios: {{ids: [issue-triage-001]}}
execution: {{repetitions: 1}}
"""
        write_files(tmp_path, {"eval.config.yaml": config, "model_loop.py": python_of("import json\nimport os\n")})
        done = fork_ghx_bench(tmp_path, "run", "--no-report", extra={"OPENAI_API_KEY": "a-key"})
        model.shutdown()

    assert done.returncode == 0, done.stderr
    rows = rows_of(run_in(tmp_path))
    assert {(row.mode, row.success, row.tool_calls.total, row.tokens.total) for row in rows} == {
        ("baseline", True, 3, 440),
        ("ghx-mcp", True, 3, 440),
    }


PROGRAM = f"""#!{sys.executable}
import os, re, subprocess, sys
number, repo = re.search(r"#(\\d+) in (\\S+)", sys.stdin.read()).groups()
place = [number, "--repo", repo]
subprocess.run(["gh", "issue", "edit", *place, "--add-label", "performance"], check=True, stdout=2)
body = "Priority: " + os.environ["MY_MODEL_KEY"]
subprocess.run(["gh", "issue", "comment", *place, "--body", body], check=True, stdout=2)
print("labelled", sys.argv[-1])
"""


def test_the_program_of_the_page_is_started_with_the_tools_of_its_mode(tmp_path: Path) -> None:
    program = tmp_path / "my-agent"
    agent = python_of("import json\nimport shutil\n")
    config = block_of("yaml", "reachable_hosts:").replace("command: my-agent", f"command: {program}")
    write_files(tmp_path, {"my_agent.py": agent, "my-agent": PROGRAM, "eval.config.yaml": config})
    program.chmod(0o755)
    flags = ("--scenario", "issue-triage-001", "--model", "a/b", "--repetitions", "1", "--skip-warmup", "--no-report")

    printed(fork_ghx_bench(tmp_path, "run", *flags, "--json", extra={"MY_MODEL_KEY": "high"}))

    (row,) = rows_of(run_in(tmp_path))
    assert (row.provider, row.success, row.known_metrics["api_mutations"]) == ("my-command", True, 2), row.error
    (session,) = (run_in(tmp_path) / "sessions").rglob("*.json")
    assert "labelled a/b" in session.read_text()


RAISING = """
import json
from contextlib import asynccontextmanager

from ghx_profiler import TraceRecorder


class Agent:
    name = "raising"

    @asynccontextmanager
    async def session(self, request):
        yield Session(request.environment["GITHUB_TOKEN"])


class Session:
    def __init__(self, token):
        self.token = token

    async def prompt(self, text):
        return self.plan("{} " + self.token)

    def plan(self, words):
        raise LookupError(words) from ValueError("no plan")

    async def trace(self):
        return TraceRecorder().trace()
"""
ONE_CELL = ("--mode", "baseline", "--scenario", "issue-triage-001", "--repetitions", "1")


def test_what_an_agent_raises_is_told_with_its_type_its_place_and_its_traceback(tmp_path: Path) -> None:
    write_files(tmp_path, {"raising.py": RAISING})

    done = fork_ghx_bench(tmp_path, "run", "--agent", "raising.py", *ONE_CELL, "--skip-warmup", "--debug")

    directory = run_in(tmp_path)
    [row] = rows_of(directory)
    place = '(raising.py line 24, in plan: raise LookupError(words) from ValueError("no plan"))'
    assert done.returncode == 3
    assert row.error == f"LookupError: {{}} *** {place}"
    traceback = row.traceback or ""
    assert traceback.startswith("ValueError: no plan\n\nThe above exception was the direct cause")
    assert 'raising.py", line 21, in prompt' in traceback
    assert "/ghx_bench/" not in traceback.partition("raising.py")[0]
    assert traceback.endswith("LookupError: {} ***\n")
    [page] = directory.glob("report/sessions/**/0.html")
    shown = fork_ghx_bench(tmp_path, "show", str(directory), "baseline/issue-triage-001/0").stdout
    for told in (done.stderr, shown, (directory / "errors.log").read_text(), page.read_text()):
        assert "line 21, in prompt" in told
        assert "direct cause of the following exception" in told


def test_a_warm_up_that_raises_says_where_its_traceback_is(tmp_path: Path) -> None:
    write_files(tmp_path, {"raising.py": RAISING})

    done = fork_ghx_bench(tmp_path, "run", "--agent", "raising.py", *ONE_CELL)

    log = run_in(tmp_path) / "errors.log"
    assert done.returncode == 3
    assert f"; its traceback: {log.relative_to(tmp_path)}" in done.stderr
    assert "warm-up of raising / none / baseline / issue-triage-001 / 0\nValueError: no plan" in log.read_text()
