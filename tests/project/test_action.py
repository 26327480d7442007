"""The composite action: its steps are run as a runner runs them, with its inputs, files and variables."""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from nightly import mostly_nightly

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


class Runner:
    """Runs steps of the action: bash as GitHub's runners start it, and the files that steps write to."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder, self.temporary = folder, folder / "temp"
        self.temporary.mkdir()
        given = {name: each.get("default", "") for name, each in ACTION["inputs"].items()}
        unknown = inputs.keys() - given.keys()
        assert not unknown
        self._values = {f"inputs.{name}": value for name, value in {**given, **inputs}.items()}
        self._values["github.action_path"] = str(ROOT)
        self.files = {name: folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}

    def fill_in(self, text: str) -> str:
        return EXPRESSION.sub(lambda found: self._values[found[1]], text)

    def run(self, step: str, **extra: str) -> "subprocess.CompletedProcess[str]":
        described = STEPS[step]
        assert described["shell"] == "bash"
        script = self.temporary / f"{step}.sh"
        script.write_text(described["run"])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GH_", "GHX_"))}
        own = {name: self.fill_in(value) for name, value in described["env"].items()}
        files = {name: str(path) for name, path in self.files.items()}
        runners = {"GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(self.temporary), "HOME": str(self.folder)}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.folder / self.fill_in(described.get("working-directory", ".")),
            env={**kept, **runners, **files, **own, **extra},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def outputs(self) -> Mapping[str, str]:
        lines = self.files["GITHUB_OUTPUT"].read_text().splitlines() if self.files["GITHUB_OUTPUT"].exists() else []
        return dict(line.split("=", 1) for line in lines)


def with_installed() -> dict[str, str]:
    """Return a path with the commands of this project, as the step that installs them leaves it."""
    return {"PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}


def test_the_bench_is_installed_from_the_checkout_that_the_action_lies_in(tmp_path: Path) -> None:
    runner = Runner(tmp_path, extras="report", python=sys.executable)
    # Stands in for the interpreter alone: what pip is asked for is what this is about, not the download.
    fake = tmp_path / "python"
    fake.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$*" >> "$HOME/asked"\n[ "$2" = venv ] || exit 0\n'
        'mkdir -p "$3/bin" && cp "$0" "$3/bin/python"\n'
    )
    fake.chmod(0o755)

    done = runner.run("install", PYTHON=str(fake))

    assert done.returncode == 0, done.stderr
    venv = tmp_path / "temp" / "ghx-bench"
    assert (tmp_path / "asked").read_text().splitlines() == [
        f"-m venv {venv}",
        f"-m pip install --quiet {ROOT}[report]",
    ]
    assert (tmp_path / "github_path").read_text() == f"{venv}/bin\n"


def test_a_run_that_passes_tells_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "my project").mkdir()
    runner = Runner(
        tmp_path,
        **{
            "working-directory": "my project",
            "fail-on": "wrong\nsuccess<0.8\n",
            "args": "--scenario\nissue-triage-001\n--mode\nbaseline\n--repetitions\n1\n--skip-warmup\n",
        },
    )

    done = runner.run("run", **with_installed())

    assert done.returncode == 0, done.stderr
    run = tmp_path / "my project" / runner.outputs["run"]
    assert (run / "rows.jsonl").is_file()
    assert runner.outputs["exit-code"] == "0"
    assert (tmp_path / "my project" / runner.outputs["report"]).is_file()
    assert (tmp_path / "my project" / "results" / "junit.xml").is_file()
    assert "all gates passed" in (tmp_path / "github_step_summary").read_text()


def test_a_failed_gate_fails_the_step_with_an_annotation_and_its_outputs(tmp_path: Path) -> None:
    args = "--agent\nnop\n--scenario\nissue-triage-001\n--mode\nbaseline\n--repetitions\n1\n--skip-warmup\n--no-report"
    runner = Runner(tmp_path, **{"fail-on": "wrong", "args": args})

    done = runner.run("run", **with_installed())

    assert done.returncode == 1, done.stderr
    assert runner.outputs.keys() == {"exit-code", "run"}
    assert runner.outputs["exit-code"] == "1"
    assert (tmp_path / runner.outputs["run"] / "run.json").is_file()
    assert "::error title=ghx-bench%3A wrong::1 of 1 measured cells is wrong" in done.stderr


@pytest.mark.parametrize("gate", mostly_nightly(["worse", '$(touch "$HOME/owned")', '"; touch "$HOME/owned'], keep=1))
def test_a_refused_run_has_no_folder_and_inputs_are_no_commands(gate: str, tmp_path: Path) -> None:
    runner = Runner(tmp_path, **{"fail-on": gate, "args": '$(touch "$HOME/owned")' if gate == "worse" else ""})

    done = runner.run("run", **with_installed())

    assert done.returncode == 2
    assert "error: " in done.stderr
    assert runner.outputs == {"exit-code": "2"}
    assert not (tmp_path / "owned").exists()


def test_the_documented_workflow_gives_the_action_inputs_that_it_has() -> None:
    page = (ROOT / "docs" / "ci.md").read_text()
    workflow = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0])

    steps = workflow["jobs"]["bench"]["steps"]
    (action,) = (step for step in steps if step.get("uses") == "./.ghx-bench")
    assert steps[0]["with"]["submodules"]
    assert action["with"].keys() <= ACTION["inputs"].keys()


def test_scripts_hold_no_expressions_and_everything_named_is_there() -> None:
    """An expression in a script would be pasted into it: a branch called `$(...)` would be run."""
    for step in STEPS.values():
        assert "${{" not in step["run"]
    text = (ROOT / "action.yml").read_text()
    named = set(re.findall(r"inputs\.([\w-]+)", text))
    assert named == set(ACTION["inputs"])
    for output in ACTION["outputs"].values():
        _, step, _, name = EXPRESSION.fullmatch(output["value"])[1].split(".")  # pyright: ignore[reportOptionalSubscript]
        assert f'echo "{name}=' in STEPS[step]["run"]
