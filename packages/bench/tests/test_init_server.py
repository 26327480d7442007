"""`ghx-bench init --mcp`: a project round a server of one's own."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from bench_command import fork_ghx_bench, rows_of, run_in

from ghx_bench.cli.main import run
from ghx_bench.cli.own_server import describe_server

CALCULATOR = Path(__file__).parents[3] / "tests" / "support" / "calculator_mcp.py"
FILES = {
    "eval.config.yaml",
    "fixtures/issue_with_question.yaml",
    "scenarios/issue-answer-001.solution.yaml",
    "scenarios/issue-answer-001.yaml",
}


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.process
def test_a_server_of_ones_own_is_proved_and_compared_with_gh(tmp_path: Path) -> None:
    server = tmp_path / "my-bench" / "server.py"
    server.parent.mkdir()
    server.write_text(CALCULATOR.read_text())

    told = fork_ghx_bench(
        tmp_path, "init", "--mcp", f"{sys.executable} my-bench/server.py", "--agent", "nop", "my-bench"
    )

    assert told.returncode == 0, told.stderr
    assert "calculator 1.2.3 starts on the embedded GitHub" in told.stdout
    shown = re.search(r"It shows 6 tools, (?:about )?([\d,]+) tokens \(([\d,]+) bytes\)", told.stdout)
    assert shown is not None, told.stdout
    assert "Compare it with gh: cd my-bench && ghx-bench run\nThat is 6 cells;" in told.stdout
    assert files_in(tmp_path / "my-bench") == {*FILES, "server.py"}
    config = yaml.safe_load((tmp_path / "my-bench" / "eval.config.yaml").read_text())
    assert config["modes"][0] == "baseline"
    assert config["modes"][1]["mcp_servers"]["server"]["args"] == ["./server.py"], "the project can be moved"
    # The commands that it names work; the first says the same, and the last measures both modes.
    assert "ghx-bench surface server, or ghx-bench expose server\n" in told.stdout
    surface = json.loads(fork_ghx_bench(tmp_path / "my-bench", "surface", "server", "--lint", "--json").stdout)
    size = surface["modes"][0]["servers"][0]["size"]
    assert shown.groups() == (f"{size['tokens']:,}", f"{size['bytes']:,}")
    assert fork_ghx_bench(tmp_path / "my-bench", "check", "--strict").returncode == 0
    fork_ghx_bench(tmp_path / "my-bench", "run", "--no-report")
    assert Counter(row.mode for row in rows_of(run_in(tmp_path / "my-bench"))) == {"baseline": 3, "server": 3}


@pytest.mark.nightly
@pytest.mark.process
def test_ghx_itself_is_such_a_server_and_the_next_command_says_what_it_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", "--mcp", "ghx mcp", "--agent", "goose", str(tmp_path / "own")]) == 0

    told = capsys.readouterr().out
    assert "it is the mode my-ghx." in told  # `ghx` is built in
    assert "ghx-bench doctor --install goose && ghx-bench run --max-usd 1" in told
    assert "That is 6 cells, 3 min and $0.32, by a guess:" in told
    config = yaml.safe_load((tmp_path / "own" / "eval.config.yaml").read_text())
    assert (config["agents"], config["models"]) == ([{"id": "goose"}], ["openai/gpt-4.1"])


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([sys.executable, "-c", "raise SystemExit('no token in MY_TOKEN')"], "does not come up: no token in MY_TOKEN"),
        ([sys.executable, "-c", "print('hello')"], "does not come up: it ended without an answer"),
        (["no-such-server-anywhere", "stdio"], "no-such-server-anywhere: not found on this machine"),
    ],
)
def test_a_server_that_does_not_start_is_told_in_one_line_and_nothing_is_written(
    tmp_path: Path, command: list[str], words: str
) -> None:
    quoted = " ".join(f'"{word}"' for word in command)

    told = fork_ghx_bench(tmp_path, "init", "--mcp", quoted, "mine")

    assert told.returncode != 0
    assert words in told.stderr
    assert len(told.stderr.strip().splitlines()) == 1
    assert told.stdout == ""
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--mcp", ""], "--mcp: name the command"),
        (["--mcp", "it's"], "cannot be taken apart: No closing quotation"),
        (["--mcp", "server", "--agent", "gose"], "no agent 'gose'; did you mean 'goose'?"),
        (["--agent", "goose"], "--agent: is for a project round a server"),
        (["--mcp", "npm:some-server@1.2.3"], "install it first"),
        (["--mcp", f"{sys.executable} -u nope.py --all"], f"there is no file nope.py here ({Path.cwd()})"),
        (["--mcp", "uv run nope.py"], "there is no file nope.py here"),
    ],
)
def test_flags_that_cannot_be_used_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    assert run(["init", *arguments, str(tmp_path / "mine")]) == 2

    assert reason in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("my-server stdio", "my-server"),
        (f"python3 -u {CALCULATOR} --all", "calculator_mcp"),
        ("uv --directory elsewhere run hub_server.py", "elsewhere"),
        ("npx -y hub.js", "hub"),
        ("python3 -m hub.server", "hub.server"),
        ("npx -y @some/github-server@1.2.3", "github-server"),
        ("python3 -c 'import hub; hub.main()'", "server"),
        ("gh-axi", "my-gh-axi"),
    ],
)
def test_a_server_is_called_as_its_program(tmp_path: Path, command: str, name: str) -> None:
    assert describe_server(command, tmp_path).name == name
