"""The agent `loop` in an evaluation: how it asks for models, its options, and what keeps it from being run."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench_command import ghx_bench, rows_of, run_in, run_in_process

from ghx_base import extras
from ghx_base.errors import InputError
from ghx_bench.project.loop_agent import LoopOptions, route_models
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.loop_limits import ModelRoute
from ghx_profiler.agents.testing import Script, ScriptedEndpoint


def write_project(folder: Path, **options: Any) -> None:
    config = {
        "modes": ["baseline"],
        "models": ["scripted-1"],
        "agents": [{"id": "loop", "name": "plain", "options": options}],
        "scenarios": {"ids": ["issue-triage-001"]},
        "execution": {"repetitions": 1, "warmup": False, "retries": 0},
    }
    (folder / "eval.config.yaml").write_text(yaml.safe_dump(config))


@pytest.mark.process
def test_a_run_of_it_is_metered_and_its_commands_do_not_see_the_key(tmp_path: Path) -> None:
    looks = {"steps": [{"shell": "gh issue view 1 --repo ghx-bench/fixtures --json title; env"}], "answer": "I looked."}
    endpoint = ScriptedEndpoint([Script(solution=Solution.model_validate(looks))])
    endpoint.start()
    write_project(tmp_path, base_url=f"{endpoint.url}/v1", key_env="MY_KEY", max_turns=5)
    try:
        # A proxy of the user's is for the way out, and not for that to the meter.
        done = ghx_bench(tmp_path, "run", "--yes", extra={"MY_KEY": "sk-real-4711", "HTTP_PROXY": "http://127.0.0.1:9"})
    finally:
        endpoint.stop()

    assert done.returncode == 0, done.stderr
    (row,) = rows_of(run_in(tmp_path))
    assert row.agent == "plain"
    assert row.tokens == endpoint.claimed_usage()
    assert row.tool_calls.by_category == {"gh_cli": 1}
    assert row.extensions["agent"]["protocol"] == "loop"
    assert {key for call in endpoint.calls for key in call.keys} == {"sk-real-4711"}
    assert "sk-real-4711" not in endpoint.calls[1].results[0]
    for file in run_in(tmp_path).rglob("*"):
        assert not file.is_file() or b"sk-real-4711" not in file.read_bytes(), file


def test_the_vendor_in_a_models_id_says_how_it_is_asked() -> None:
    assert route_models(["openai/gpt-5", "anthropic/claude-x", "google/gemini-y"], LoopOptions()) == {
        "openai/gpt-5": ModelRoute(wire="openai-chat", model="gpt-5"),
        "anthropic/claude-x": ModelRoute(wire="anthropic", model="claude-x"),
        "google/gemini-y": ModelRoute(wire="gemini", model="gemini-y"),
    }
    responses = LoopOptions(wire="openai-responses")
    assert route_models(["openai/gpt-5"], responses)["openai/gpt-5"] == ModelRoute(
        wire="openai-responses", model="gpt-5"
    )
    own = LoopOptions(base_url="http://127.0.0.1:9/v1")
    assert route_models(["meta/llama"], own)["meta/llama"] == ModelRoute(wire="openai-chat", model="meta/llama")
    with pytest.raises(InputError, match="begin its id with one of openai/, anthropic/, google/"):
        route_models(["meta/llama"], LoopOptions())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words", "complaint"),
    [
        ({}, (), "agent loop: model 'scripted-1' does not say whose it is"),
        ({}, ("--model", "none"), "agent loop: needs a model; name it with --model, or under `models`"),
        ({"key_env": "MY_KEY"}, ("--model", "openai/gpt-5"), "the variable MY_KEY is not set; put its key there"),
        ({"max_turn": 5}, (), "options.max_turn: unknown key 'max_turn'; did you mean 'max_turns'?"),
        ({"max_turns": 0}, (), "agent plain: options.max_turns: "),
        ({"wire": "telex"}, (), "agent plain: options.wire: "),
    ],
)
def test_what_keeps_it_from_being_run_is_said_in_a_line(
    in_folder: Path,
    capsys: pytest.CaptureFixture[str],
    options: dict[str, Any],
    words: tuple[str, ...],
    complaint: str,
) -> None:
    write_project(in_folder, **options)

    code, printed = run_in_process(capsys, "run", "--dry-run", *words)

    assert code == 2
    assert complaint in printed
    assert "Traceback" not in printed


@pytest.mark.usefixtures("in_folder")
def test_without_its_extra_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)

    code, printed = run_in_process(capsys, "run", "--dry-run", "--agent", "loop", "--model", "openai/gpt-5")
    _, listed = run_in_process(capsys, "list", "agents", "--json")
    _, table = run_in_process(capsys, "list", "agents")
    _, needs = run_in_process(capsys, "doctor")

    install = extras.how_to_install("loop")
    assert code != 0
    assert f"agent loop needs the extra 'loop': install it with `{install}`" in printed
    assert f"to install the extra loop: {install}\n" in table
    assert f"only for the agent loop: {install}\n" in needs
    entry = next(each for each in json.loads(listed) if each["name"] == "loop")
    assert (entry["installed"], entry["needs"]) == (False, ["needs the extra loop"])
