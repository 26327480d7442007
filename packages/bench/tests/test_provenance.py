"""What a run was made with is kept, and resuming it with something else is refused by name."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import calculator_mcp
import pytest
from answering_agent import ANSWERING_AGENT
from bench_command import environment, fork_ghx_bench, rows_of, run_in, write_files
from labelling_project import PROJECT
from nightly import mostly_nightly

from ghx_bench import provenance
from ghx_bench.fixtures import library
from ghx_bench.modes.definitions import ModeDefinition
from ghx_profiler.reports.data.inventory import Inventory
from ghx_profiler.reports.data.runs import changes_between
from ghx_profiler.reports.data.sources import open_run
from ghx_profiler.store.run_environment import Changes

CONFIG = """
agents:
  - reference
  - {id: ./agents/mine.py:Answering, options: {words: done}}
modes:
  - name: tagger
    extends: baseline
    tools: [./bin/tag]
    skills: [./skills/labelling]
    environment: {TAG: performance}
    mcp_servers: {calculator: {command: PYTHON, args: [./servers/calculator.py]}}
scenarios: {ids: [mine-001]}
scorers: scorers.py
execution: {repetitions: 1, warmup: false}
"""
MINE = f"""
from habits import WORDS
from lib.thoughts import THOUGHTS


def look_up():
    import later

{ANSWERING_AGENT}"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the copy of a project with a run in which a cell is left; the project itself lies next to it."""
    folder = tmp_path_factory.mktemp("measured") / "project"
    folder.mkdir()
    files = {
        **PROJECT,
        "eval.config.yaml": CONFIG.replace("PYTHON", sys.executable),
        "agents/mine.py": MINE,
        "agents/habits.py": "WORDS = 'done'\n",
        "agents/later.py": "LATER = 1\n",
        "agents/lib/thoughts.py": "THOUGHTS = 'none'\n",
        "agents/unused.py": "UNUSED = 1\n",
        "servers/calculator.py": "import sums\n" + Path(calculator_mcp.__file__).read_text(),
        "servers/sums.py": "import decimals\n",
        "skills/labelling/SKILL.md": "---\nname: labels\ndescription: Labels issues.\n---\n",
        "skills/labelling/references/labels.md": "performance\n",
        "servers/decimals.py": "DECIMALS = 2\n",
    }
    write_files(folder, files)
    (folder / "bin" / "tag").chmod(0o755)
    (folder / "fixtures").mkdir()
    shutil.copy(library.BUILT_IN / "issue_for_triage.yaml", folder / "fixtures")
    done = fork_ghx_bench(folder, "run", "--no-report")
    assert done.returncode == 0, done.stderr
    rows = run_in(folder) / "rows.jsonl"
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:-1]))
    return folder.rename(folder.parent / "kept")


@pytest.fixture
def project(kept: Path) -> Path:
    """Return the project as it was after its run, in the very place where that was made."""
    place = kept.parent / "project"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(kept, place)
    return place


def record_in(folder: Path) -> dict[str, Any]:
    return json.loads((run_in(folder) / "run.json").read_text())


def replace(file: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))

    return edit


CHANGES = {
    "agent answering: mine.py": replace("agents/mine.py", "Answer(text=self.words)", "Answer(text=self.words * 2)"),
    "agent answering: habits.py": replace("agents/habits.py", "done", "all done"),
    "agent answering: later.py": replace("agents/later.py", "1", "2"),
    "agent answering: lib/thoughts.py": replace("agents/lib/thoughts.py", "none", "few"),
    "agent answering: option words": lambda folder: replace(
        str((run_in(folder) / "run.json").relative_to(folder)), '"words": "done"', '"words": "finished"'
    )(folder),
    "mode tagger: tool tag": replace("bin/tag", "exec gh", "exec  gh"),
    "mode tagger: skill labels": replace("skills/labelling/references/labels.md", "performance", "speed"),
    "mode tagger: server calculator: calculator.py": replace("servers/calculator.py", "return a + b", "return b + a"),
    "mode tagger: server calculator: calculator.py: sums.py": replace("servers/sums.py", "decimals", "decimals  # all"),
    "mode tagger: server calculator: calculator.py: decimals.py": replace("servers/decimals.py", "2", "3"),
    "mode tagger: server calculator": replace("servers/calculator.py", "1.2.3", "1.2.4"),
    "fixture issue_for_triage": replace("fixtures/issue_for_triage.yaml", "half a minute", "a minute"),
    "solution of mine-001": replace("scenarios/mine-001.solution.yaml", "tag {{repo}}", "tag  {{repo}}"),
    "scorers scorers.py": replace("scorers.py", "looked at", "looked into"),
    "scenarios: mine-001 (prompt)": replace("scenarios/mine-001.yaml", "Label #", "Please label #"),
}


@pytest.mark.parametrize("name", mostly_nightly(CHANGES, keep=4))
def test_a_run_is_not_resumed_with_another_ingredient(project: Path, name: str) -> None:
    CHANGES[name](project)

    refused = fork_ghx_bench(project, "resume", str(run_in(project)))

    assert refused.returncode == 2, refused.stderr
    assert f"(different: {name}" in refused.stderr
    assert refused.stderr.rstrip().endswith("start a new run, or accept the change: --accept-changes")
    assert len(rows_of(run_in(project))) == 1


def test_an_option_in_the_record_is_what_the_run_goes_on_with(project: Path) -> None:
    # The settings of a run are those in its record; what the configuration says by now is another run.
    (provenance,) = record_in(project)["provenance"]

    assert provenance["ingredients"]["agent answering: option words"] == "done"
    assert not any("unused" in name for name in provenance["ingredients"])
    assert provenance["ingredients"]["target"] == "twin"
    assert provenance["ingredients"].keys() >= {*CHANGES} - {"scenarios: mine-001 (prompt)"}
    assert {row.provenance_id for row in rows_of(run_in(project))} == {provenance["id"]}


def test_an_accepted_change_is_recorded_and_rows_say_what_they_were_made_with(project: Path) -> None:
    replace("agents/habits.py", "done", "all done")(project)

    done = fork_ghx_bench(project, "resume", str(run_in(project)), "--accept-changes", "--no-report")

    assert done.returncode == 0, done.stderr
    before, after = record_in(project)["provenance"]
    changed = {key for key in after["ingredients"] if after["ingredients"][key] != before["ingredients"].get(key)}
    assert changed == {"agent answering: habits.py"}
    assert [row.provenance_id for row in rows_of(run_in(project))] == [before["id"], after["id"]]


EDITS = {
    "agent's code mine.py edited": CHANGES["agent answering: mine.py"],
    "tool tag edited": CHANGES["mode tagger: tool tag"],
    "MCP server calculator: sums.py edited": CHANGES["mode tagger: server calculator: calculator.py: sums.py"],
    "fixture issue_for_triage edited": CHANGES["fixture issue_for_triage"],
}


def changes_from(before: Path, after: Path) -> Changes:
    sources = [open_run(before), open_run(after)]
    (changes,) = changes_between(sources, {source.label: Inventory() for source in sources})
    return changes


@pytest.fixture(scope="module")
def measured(kept: Path) -> Path:
    """Return the run of one agent of the project, to be compared with later ones."""
    place = kept.parent / "project"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(kept, place)
    run = run_alone(place)
    return run.rename(kept.parent / run.name)


def run_alone(project: Path, *flags: str) -> Path:
    shutil.rmtree(project / "results", ignore_errors=True)
    done = fork_ghx_bench(project, "run", "--no-report", "--agent", "./agents/mine.py:Answering", *flags)
    assert done.returncode == 0, done.stderr
    return run_in(project)


@pytest.mark.parametrize("change", mostly_nightly(EDITS, keep=1))
def test_what_was_edited_is_the_one_difference_between_two_runs(project: Path, measured: Path, change: str) -> None:
    EDITS[change](project)

    changes = changes_from(measured, run_alone(project))

    assert str(changes) == f"{change}; nothing else"
    assert changes.environment == ()


def test_options_and_settings_are_differences_with_their_values_and_the_folder_is_none(
    project: Path, measured: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(project, elsewhere)
    flags = ("--agent-option", "words=all done", "--agent-option", "slip=0.3", "--max-concurrency", "2")

    changes = changes_from(measured, run_alone(elsewhere, *flags))

    assert changes.differences == (
        "agent option slip unset -> 0.3",
        "agent option words done -> all done",
        "concurrency 1 -> 2",
    )


def test_the_commit_of_the_project_is_kept_and_may_change(project: Path) -> None:
    for words in (("init", "-q"), ("add", "agents/mine.py"), ("commit", "-qm", "Add an agent")):
        identity = ("-c", "user.name=me", "-c", "user.email=me@example.test")
        subprocess.run(["git", *identity, *words], cwd=project, env=environment(project), check=True)

    done = fork_ghx_bench(project, "resume", str(run_in(project)), "--no-report")

    assert done.returncode == 0, done.stderr
    before, after = (each["circumstances"] for each in record_in(project)["provenance"])
    assert (before["commit"], before["hasUncommittedChanges"]) == (None, None)
    assert (len(after["commit"]), after["hasUncommittedChanges"]) == (40, True)


def test_a_tool_of_a_project_in_a_folder_of_the_system_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "_OF_SYSTEM", (tmp_path,))
    write_files(tmp_path, {"app/bin/tag": "tag\n", "bin/jq": "jq\n"})
    mode = ModeDefinition(name="mine", tools=(str(tmp_path / "app" / "bin" / "tag"), str(tmp_path / "bin" / "jq")))

    assert [name for name, _ in provenance.digests_of_mode(mode, tmp_path / "app")] == ["tool tag"]
