"""What comes with the package can be looked at, and copied into a project of one's own."""

import shutil
from pathlib import Path

import pytest
from random_seed import random_for

from ghx_bench.cli.main import run
from ghx_bench.fixtures.library import BUILT_IN
from ghx_bench.project.folders import BUILT_IN_SCENARIOS

EXAMPLE = Path(__file__).parents[3] / "examples" / "worlds"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["scenario", "show", "issue-triage-001"], BUILT_IN_SCENARIOS / "issue" / "issue-triage-001.yaml"),
        (
            ["scenario", "show", "issue-triage-001", "--solution"],
            BUILT_IN_SCENARIOS / "issue" / "issue-triage-001.solution.yaml",
        ),
        (["fixture", "show", "pr_behind_base"], BUILT_IN / "pr_behind_base.yaml"),
    ],
)
def test_a_file_is_printed_as_it_stands(words: list[str], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    assert capsys.readouterr().out == file.read_text()


def test_the_seed_of_a_world_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)

    assert run(["fixture", "show", "acme_widgets", "--seed"]) == 0
    assert capsys.readouterr().out == (EXAMPLE / "fixtures/acme.seed.yaml").read_text()


def test_built_in_scenarios_and_fixtures_can_be_copied_and_are_right_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A sample: each command takes longer, the more there is beside what it writes.
    scenarios = sorted(BUILT_IN_SCENARIOS.rglob("*-001.yaml"))
    scenarios = random_for("copied scenarios").sample(scenarios, 5)
    for number, file in enumerate(scenarios):
        assert run(["new", "scenario", f"mine-{number:03}", "--from", file.stem]) == 0, file
    for number, file in enumerate(sorted(each for each in BUILT_IN.rglob("*.yaml") if not each.stem.endswith(".seed"))):
        assert run(["new", "fixture", f"mine_{number}", "--from", file.stem]) == 0
    capsys.readouterr()

    assert run(["check", "--strict"]) == 0, capsys.readouterr().out
    copy, original = folder / "scenarios/mine-000.yaml", scenarios[0]
    assert copy.read_text().replace("mine-000", original.stem) == original.read_text()


def test_a_world_is_copied_with_its_seed(folder: Path) -> None:
    shutil.copytree(EXAMPLE / "fixtures", folder / "fixtures")

    assert run(["new", "fixture", "my_world", "--from", "acme_widgets", "--dir", "more"]) == 0
    assert run(["check", "more", "--strict"]) == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["scenario", "show", "issue-triag-001"], "no scenario 'issue-triag-001'; did you mean 'issue-triage-001'?"),
        (["fixture", "show", "pr_behind_bas"], "no fixture 'pr_behind_bas'; did you mean 'pr_behind_base'?"),
        (["fixture", "show", "pr_behind_base", "--seed"], "fixture pr_behind_base is no world"),
        (["new", "fixture", "Mine", "--from", "pr_behind_base"], "'Mine' cannot be the name of a fixture"),
        (["new", "scenario", "mine", "--from", "issue-triage-001"], "'mine' cannot be the id of a scenario"),
        (
            ["new", "scenario", "mine-001", "--from", "issue-triage-001", "--category", "pr"],
            "a copy has the category of its original",
        ),
    ],
)
def test_what_cannot_be_shown_or_copied_is_one_line(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line
