"""`ghx-bench profile` as a user meets it: what goes wrong is one line, the right exit code, and nothing lost."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench_command import COMMAND
from forked_commands import run_forked
from report_runs import a_row, write_run

from ghx_bench.cli.main import run
from ghx_bench.project.config import EvalConfig

AGENT = """
from contextlib import asynccontextmanager
from ghx_profiler import *

class Session:
    async def prompt(self, text):
        if text == "break": raise AgentError("it broke")
        if text == "offline": raise ModelProviderError("no credentials")
        if text == "chat": print("thinking aloud")
        return Answer(text="ok")
    async def trace(self):
        return SessionTrace(session_id="s")

class Agent:
    name = "tiny"
    @asynccontextmanager
    async def session(self, request):
        yield Session()

class Fine:
    async def score(self, evidence):
        return Score(success=True)

def scenario(id, **more):
    return BaseScenario(id=id, name="s", description="s", **{"prompt": "p", "timeout_ms": 1000, **more})

profile = Profile(
    scenarios=[scenario("a-001", tags=("pr",)), scenario("b-001")],
    modes=[Mode(name="one"), Mode(name="two")],
    instruments=Instruments(provider=Agent(), scorer=Fine()),
)
grouped = Profile(
    scenarios=profile.scenarios, sets={"quick": ["b-001"]}, modes=profile.modes, instruments=profile.instruments
)
several = Profile(
    scenarios=profile.scenarios,
    modes=profile.modes,
    instruments=Instruments(providers={"first": Agent(), "second": Agent()}, scorer=Fine()),
)
broken = Profile(scenarios=[scenario("a-001", prompt="break")], modes=profile.modes, instruments=profile.instruments)
offline = Profile(scenarios=[scenario("a-001", prompt="offline")], modes=profile.modes, instruments=profile.instruments)
chatty = Profile(scenarios=[scenario("a-001", prompt="chat")], modes=profile.modes, instruments=profile.instruments)
endless = Profile(scenarios=[scenario("x" * 201)], modes=profile.modes, instruments=profile.instruments)
twice = Profile(scenarios=[scenario("a-001"), scenario("a-001")], modes=profile.modes, instruments=profile.instruments)
nothing = Profile(scenarios=[], modes=profile.modes, instruments=profile.instruments)
modeless = Profile(scenarios=profile.scenarios, modes=[], instruments=profile.instruments)
"""


def ghx_bench(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    (folder / "agent.py").write_text(AGENT)
    return run_forked(COMMAND, arguments, folder=folder, environment={**os.environ, "COLUMNS": "200"})


def test_a_failed_warm_up_is_told_to_pipelines(tmp_path: Path) -> None:
    files = ("--junit", "out/junit.xml", "--markdown", "out/summary.md")
    done = ghx_bench(tmp_path, "profile", "agent.py:offline", "--fail-on", "wrong", *files)

    suites = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot().findall("testsuite")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith("error: the warm-up of mode 'one'")
    assert [(each.get("tests"), each.get("errors"), each.get("failures")) for each in suites] == [
        ("1", "1", "0"),
        ("1", "0", "1"),
    ]
    (case,) = suites[0].findall("testcase")
    assert (case.get("classname"), case.get("name")) == ("tiny", "warm-up")
    assert "no credentials" in (case.findtext("error") or "")
    assert "no credentials" in (tmp_path / "out" / "summary.md").read_text()


def test_a_run_prints_its_table_and_where_it_is(tmp_path: Path) -> None:
    done = ghx_bench(tmp_path, "profile", "agent.py", "--repetitions", "2")

    assert done.returncode == 0
    assert "one   4/4" in done.stdout
    assert "8 cells measured: results/run_" in done.stdout


def test_a_set_of_the_profile_chooses_its_scenarios(tmp_path: Path) -> None:
    done = ghx_bench(tmp_path, "profile", "agent.py:grouped", "--scenario-set", "quick", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "b-001" in done.stdout
    assert "a-001" not in done.stdout


def test_agents_of_the_profile_are_chosen_by_name(tmp_path: Path) -> None:
    chosen = ghx_bench(tmp_path, "profile", "agent.py:several", "--agent", "second", "--repetitions", "1", "--json")
    unknown = ghx_bench(tmp_path, "profile", "agent.py:several", "--agent", "secnd")

    rows = Path(tmp_path, json.loads(chosen.stdout)["directory"], "rows.jsonl").read_text().splitlines()
    assert {json.loads(row)["agent"] for row in rows} == {"second"}
    assert unknown.returncode == 2
    assert "no agent 'secnd'; did you mean 'second'?" in unknown.stderr


def test_the_result_as_json(tmp_path: Path) -> None:
    done = ghx_bench(tmp_path, "profile", "agent.py:profile", "--repetitions", "2", "--mode", "two", "--json")

    result = json.loads(done.stdout)
    assert result["measured"] == 4
    assert result["modes"]["two"]["successes"] == 4
    assert result["modes"]["two"]["notMeasured"] == 0
    assert result["modes"]["two"]["metrics"]["tokens_active"] == {"p50": None, "n": 0}


def test_flags_override_the_file_and_the_file_overrides_defaults(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("execution: {repetitions: 7, seed: 3}\n")

    done = ghx_bench(tmp_path, "profile", "agent.py", "--config", "run.yaml", "--seed", "4", "--dry-run")

    shown = done.stdout[done.stdout.index("{") :]
    execution = json.loads(shown)["execution"]
    assert done.stdout.startswith("28 cells")
    assert json.loads(shown)["modes"] == ["one", "two"]
    assert (execution["repetitions"], execution["seed"], execution["max_concurrency"]) == (7, 4, 1)
    assert not (tmp_path / "results").exists()


def test_an_agent_that_breaks_down_by_itself_was_measured(tmp_path: Path) -> None:
    done = ghx_bench(tmp_path, "profile", "agent.py:broken", "--skip-warmup", "--repetitions", "1")

    assert done.returncode == 0
    assert "one   0/1" in done.stdout


def test_cells_that_could_not_be_measured_end_with_3_and_are_left_out_of_the_table(tmp_path: Path) -> None:
    done = ghx_bench(tmp_path, "profile", "agent.py:offline", "--skip-warmup", "--repetitions", "1")

    assert done.returncode == 3
    assert "one   0/0, 1 not measured" in done.stdout
    assert "2 could not be measured" in done.stdout


def test_what_the_users_code_prints_stays_out_of_the_json(tmp_path: Path) -> None:
    done = ghx_bench(tmp_path, "profile", "agent.py:chatty", "--repetitions", "1", "--json")

    assert json.loads(done.stdout)["measured"] == 2
    assert "thinking aloud" in done.stderr


def test_events_go_to_the_json_log(tmp_path: Path) -> None:
    ghx_bench(tmp_path, "profile", "agent.py", "--repetitions", "1", "--log-json", "log.jsonl")

    kinds = [json.loads(line)["event"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert kinds.count("cell_finished") == 4
    assert kinds[-1] == "run_finished"


BAD = {
    "repetitions 0": (["agent.py", "--repetitions", "0"], "--repetitions"),
    "repetitions -1": (["agent.py", "--repetitions", "-1"], "--repetitions"),
    "repetitions 1.5": (["agent.py", "--repetitions", "1.5"], "--repetitions"),
    "repetitions 1e12": (["agent.py", "--repetitions", "1000000000000"], "more than a run can hold"),
    "dry run of nothing": (["agent.py", "--dry-run", "--scenario", "nope"], "no scenario 'nope'"),
    "config and resume": (["agent.py", "--config", "typo.yaml", "--resume", "x"], "--config goes with a new run"),
    "repetitions x": (["agent.py", "--repetitions", "many"], "--repetitions"),
    "retries -1": (["agent.py", "--retries", "-1"], "--retries"),
    "concurrency 0": (["agent.py", "--max-concurrency", "0"], "--max-concurrency"),
    "unknown mode": (["agent.py", "--mode", "tow"], "no mode 'tow'; did you mean 'two'? known: one, two"),
    "mode twice": (["agent.py", "--mode", "one", "--mode", "one"], "'one' is given twice"),
    "unknown scenario": (["agent.py", "--scenario", "a-002"], "no scenario 'a-002'; did you mean 'a-001'?"),
    "scenario twice": (["agent.py", "--scenario", "a-001", "--scenario", "a-001"], "'a-001' is given twice"),
    "unknown tag": (["agent.py", "--tag", "issue"], "no tag 'issue'; known: pr"),
    "id too long for a folder": (["agent.py:endless"], "cannot name a folder: it is empty or too long"),
    "ids twice": (["agent.py:twice"], "'a-001' is given twice"),
    "no scenarios": (["agent.py:nothing"], "scenario set 'default' is empty"),
    "no modes": (["agent.py:modeless"], "no mode to run"),
    "no such file": (["agnet.py"], "agnet.py: no such file"),
    "no such name": (["agent.py:profil"], "expected a Profile called 'profil', found nothing"),
    "not a profile": (["agent.py:Agent"], "expected a Profile called 'Agent', found a type"),
    "broken module": (["broken.py"], "cannot be imported (ZeroDivisionError: division by zero)"),
    "no such module": (["nowhere.agents:profile"], "cannot be imported"),
    "unknown flag": (["agent.py", "--repetition", "3"], "--repetition"),
    "config missing": (["agent.py", "--config", "no.yaml"], "no.yaml"),
    "config typo": (["agent.py", "--config", "typo.yaml"], "did you mean 'repetitions'?"),
    "config not yaml": (["agent.py", "--config", "broken.yaml"], "broken.yaml:1"),
    "resume nothing": (["agent.py", "--resume", "nowhere"], "not a run directory"),
    "results is a file": (["agent.py", "--output-dir", "agent.py"], "agent.py"),
    "log is a folder": (["agent.py", "--log-json", "."], "cannot write the log"),
}


@pytest.mark.parametrize("case", BAD, ids=list(BAD))
def test_bad_input_is_one_clear_line_and_exit_code_2(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "typo.yaml").write_text("modes: [one]\nexecution: {repetitons: 3}\n")
    (tmp_path / "broken.yaml").write_text("modes: [one\n")
    arguments, words = BAD[case]

    exit_code = run(["profile", *arguments])

    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if not line.startswith("note: ")]
    assert exit_code == 2, said.err
    assert len(lines) == 1, said.err
    assert lines[0].startswith("error: ")
    assert words in lines[0]
    assert said.out == ""
    assert not (tmp_path / "results").exists()


def test_a_damaged_rows_file_is_one_line_and_nothing_is_lost(tmp_path: Path) -> None:
    ghx_bench(tmp_path, "profile", "agent.py", "--repetitions", "1")
    [run] = (tmp_path / "results").iterdir()
    damaged = "not json\n" + (run / "rows.jsonl").read_text()
    (run / "rows.jsonl").write_text(damaged)

    done = ghx_bench(tmp_path, "resume", str(run))

    assert done.returncode == 2
    assert "rows.jsonl:1: this is not a row" in done.stderr
    assert (run / "rows.jsonl").read_text() == damaged


def test_resuming_needs_no_flags_because_the_run_knows_them(tmp_path: Path) -> None:
    ghx_bench(tmp_path, "profile", "agent.py", "--repetitions", "3", "--mode", "one", "--seed", "9")
    [run] = (tmp_path / "results").iterdir()
    lines = (run / "rows.jsonl").read_text().splitlines(keepends=True)
    (run / "rows.jsonl").write_text("".join(lines[:2]))

    (tmp_path / "elsewhere").mkdir()

    done = ghx_bench(tmp_path / "elsewhere", "resume", str(run))

    assert done.returncode == 0, done.stderr
    assert len((run / "rows.jsonl").read_text().splitlines()) == 6


def test_the_profile_of_a_run_may_be_named_where_it_was_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "agent.py").write_text(AGENT)
    assert run(["profile", "agent.py", "--repetitions", "1"]) == 0
    [made] = (tmp_path / "results").iterdir()
    (tmp_path / "agent.py").rename(tmp_path / "moved.py")
    (made / "rows.jsonl").write_text("")
    capsys.readouterr()

    assert run(["resume", str(made)]) == 2
    assert f"{tmp_path / 'agent.py'}: no such file" in capsys.readouterr().err
    assert run(["resume", str(made), "--profile", "moved.py"]) == 0
    assert (made / "rows.jsonl").read_text()


@pytest.mark.slow
def test_a_profile_is_held_against_gates_and_an_earlier_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "agent.py").write_text(AGENT)
    assert run(["profile", "agent.py", "--fail-on", "wors"]) == 2
    assert run(["profile", "agent.py", "--fail-on", "worse"]) == 2
    assert "'worse' needs a baseline; name a run, or a blessed one, with --against" in capsys.readouterr().err
    assert run(["profile", "agent.py", "--repetitions", "1"]) == 0

    words = ["profile", "agent.py", "--repetitions", "1", "--against", "latest", "--junit", "junit.xml"]
    assert run([*words, "--fail-on", "worse"]) == 0
    assert run([*words, "--fail-on", "right"]) == 1
    assert run(["resume", "latest", "--fail-on", "right"]) == 1
    assert "gate failed: right: " in capsys.readouterr().err
    assert (tmp_path / "junit.xml").is_file()


def test_flags_of_version_0_1_work_and_say_what_they_are_called_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "agent.py").write_text(AGENT)

    assert run(["profile", "agent.py", "--repetitions", "1", "--no-warmup", "--results-dir", "there"]) == 0

    err = capsys.readouterr().err
    assert "note: --results-dir will go in the next release; write --output-dir" in err
    assert "note: --warmup will go in the next release; write --skip-warmup, or nothing" in err
    [made] = (tmp_path / "there").iterdir()
    assert json.loads((made / "run.json").read_text())["config"]["execution"]["warmup"] is False
    (made / "rows.jsonl").write_text("")
    assert run(["profile", "agent.py", "--resume", str(made)]) == 0
    assert "write `ghx-bench resume RUN`" in capsys.readouterr().err
    assert (made / "rows.jsonl").read_text()


OTHERS = {
    "another agent": ("profile", "other", "agent 'tiny', here 'other'"),
    "other scenarios": ("profile", "third", "scenario 'a-001' is not here; scenario 'b-001' is not here"),
    "other modes": ("third", "fourth", "mode 'one' is not here"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_resuming_the_run_of_another_profile_says_so_and_how_it_is_resumed(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    maker, taker, words = OTHERS[case]
    (tmp_path / "agent.py").write_text(AGENT + MORE)
    assert run(["profile", f"agent.py:{maker}", "--repetitions", "1"]) == 0
    [made] = (tmp_path / "results").iterdir()
    before = (made / "run.json").read_bytes()
    capsys.readouterr()

    assert run(["resume", str(made), "--profile", f"agent.py:{taker}"]) == 2

    said = capsys.readouterr().err
    assert f"{made}: this run was made by another profile ({words})" in said
    assert f"`ghx-bench resume {made} --profile FILE`" in said
    assert said.count("\n") == 1
    assert (made / "run.json").read_bytes() == before


MORE = """
class Other(Agent):
    name = "other"

other = Profile(
    scenarios=profile.scenarios, modes=profile.modes, instruments=Instruments(provider=Other(), scorer=Fine())
)
third = Profile(scenarios=[scenario("c-001")], modes=profile.modes, instruments=profile.instruments)
fourth = Profile(scenarios=third.scenarios, modes=[Mode(name="two")], instruments=profile.instruments)
"""


def test_resuming_the_run_of_an_evaluation_names_the_command_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "agent.py").write_text(AGENT)
    config = EvalConfig(modes=("baseline",)).model_dump(mode="json")
    write_run(tmp_path / "run", [a_row("baseline")], provider="reference", config=config)

    assert run(["profile", "agent.py", "--resume", "run"]) == 2

    said = capsys.readouterr().err
    assert "run: this run was made by an evaluation; resume it with `ghx-bench resume run`" in said
    assert len([line for line in said.splitlines() if not line.startswith("note: ")]) == 1


@pytest.mark.parametrize("flag", ["--results-dir", "--output-dir"])
def test_a_folder_without_a_name_is_refused_by_the_flag_that_was_written(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "agent.py").write_text(AGENT)

    assert run(["profile", "agent.py", f"{flag}="]) == 2

    assert f"{flag}: must not be empty" in capsys.readouterr().err.splitlines()[-1]


def test_options_of_agents_in_a_profile_are_in_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", "agent.py", "--agent-option", "slip=1"]) == 2

    assert capsys.readouterr().err.startswith("error: --agent-option: the agents of a profile get their options in its")
