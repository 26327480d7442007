"""Tool sets measured with the real packages of rivals beside our own: the same each time, and as they are known."""

import json
from pathlib import Path
from typing import Any

import pytest
from mode_tools import CARRIERS_OF_ALL, require_tools, shown_by_outsiders

from ghx_bench.cli.main import run

pytestmark = [pytest.mark.agents, pytest.mark.process, pytest.mark.client]
ALL = ("baseline", "ghx", "ghx-mcp", "gh-axi", "npm-mcp")


@pytest.fixture(autouse=True)
def rivals() -> None:
    require_tools("gh-axi", "npm-mcp")


def measure(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code = run([*words, "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def test_surface_is_the_same_twice_and_finds_what_rivals_are_known_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first.md", tmp_path / "second.md"
    surface = measure(capsys, "surface", *ALL, "--markdown", str(first))
    again = measure(capsys, "surface", *ALL, "--markdown", str(second))

    assert json.dumps(again) == json.dumps(surface)
    assert first.read_bytes() == second.read_bytes()
    modes = {each["name"]: each for each in surface["modes"]}
    for each in modes.values():
        assert not [row for row in each["rows"] if row["outcome"] == "failed"], each["name"]
        assert each["answers"]["questions"] >= 25
    npm = modes["npm-mcp"]
    assert len(npm["servers"][0]["tools"]) == 26
    assert {each["kind"] for each in npm["lint"]} == {"missing-description", "missing-annotations"}
    assert "issues-list" in {row["id"] for row in npm["rows"] if row.get("cutOff")}
    axi = {row["id"]: row for row in modes["gh-axi"]["rows"]}
    assert axi["issues-list"]["items"] == 30
    assert not axi["issues-list"]["cutOff"]  # "30 of 143 total"


def test_exposure_is_the_same_twice_and_finds_what_rivals_are_known_for(capsys: pytest.CaptureFixture[str]) -> None:
    first, again = measure(capsys, "expose", *ALL), measure(capsys, "expose", *reversed(ALL))

    assert json.dumps(first["modes"]) == json.dumps(again["modes"][::-1])
    modes = {each["name"]: each for each in first["modes"]}
    for each in modes.values():
        assert shown_by_outsiders(each) >= CARRIERS_OF_ALL
    # What the field knows of them: an agent with the reference server reads no comments, and with ghx no profiles.
    assert not any("issue-comment" in each["states"] for each in modes["npm-mcp"]["tools"])
    assert not any("user-bio" in each["states"] for each in modes["ghx"]["tools"])
    for name in ("baseline", "ghx", "gh-axi"):
        assert all(each["changingRequests"] == 0 and not each["error"] for each in modes[name]["tools"])
    for name in ("ghx-mcp", "npm-mcp"):
        assert not any(each["changingRequests"] for each in modes[name]["tools"] if each["says"] == "reads")
    assert any(each["changingRequests"] for each in modes["npm-mcp"]["tools"])
