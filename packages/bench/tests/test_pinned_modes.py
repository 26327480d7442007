"""Modes pinned to a version or a path, and programs that are packages of npm."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ghx_base.documents import RefusedError
from ghx_base.errors import GhxBenchError, InputError
from ghx_bench.checking.project_check import check_files
from ghx_bench.modes.definitions import Definitions, ModeDefinition
from ghx_bench.modes.presets import GH_AXI, NPM_SERVER
from ghx_bench.modes.program_path import fill_folder, find_program
from ghx_bench.modes.program_words import check_word, name_of, package_of, source_of, with_source
from ghx_bench.provenance import digests_of_mode
from ghx_profiler.agents.tools.toolset import McpServer


def program_in(folder: Path, name: str = "tool", text: str = "#!/bin/sh\necho $0\n") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def package_in(folder: Path, **told: Any) -> Path:
    """Write a package of npm whose program prints its arguments, and where `gh` is for it."""
    (folder / "dist").mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"version": "1.2.3", "bin": "dist/main.js", **told}))
    code = "const {execSync} = require('child_process');\n"
    code += "console.log(process.argv.slice(2).join(), execSync('which gh || true').toString().trim());\n"
    (folder / "dist" / "main.js").write_text(code)
    return folder


@pytest.mark.parametrize(
    ("word", "name", "source"),
    [
        ("gh", "gh", "gh"),
        ("./bin/helper", "helper", "./bin/helper"),
        ("gh=./build/head", "gh", "./build/head"),
        ("npm:gh-axi@0.1.35", "gh-axi", "npm:gh-axi@0.1.35"),
        ("npm:@some/thing@1.0.0-rc.1", "thing", "npm:@some/thing@1.0.0-rc.1"),
        ("/opt/a=b/tool", "tool", "/opt/a=b/tool"),
    ],
)
def test_a_program_has_a_name_and_a_source(word: str, name: str, source: str) -> None:
    assert (name_of(word), source_of(check_word(word))) == (name, source)
    assert name_of(with_source(word, "/somewhere/else")) == name


@pytest.mark.parametrize("word", ["npm:gh-axi", "npm:gh-axi@latest", "npm:gh-axi@^1.2.3", "x=npm:gh-axi", "npm:@1.2.3"])
def test_a_package_of_npm_needs_an_exact_version(word: str) -> None:
    assert package_of(word) is None
    with pytest.raises(RefusedError, match="is no package of npm in one version"):
        check_word(word)
    with pytest.raises(ValueError, match="is no package of npm in one version"):
        ModeDefinition.model_validate({"name": "mine", "tools": [word]})


def test_a_version_is_put_in_place_of_that_of_the_package() -> None:
    definitions = Definitions()

    assert definitions.whole("gh-axi@0.1.34").tools == (GH_AXI.replace("0.1.35", "0.1.34"),)
    assert definitions.whole("npm-mcp@2025.3.1").mcp_servers["github"].command == NPM_SERVER.replace("4.8", "3.1")
    assert [each.name for each in definitions.lineage("gh-axi@0.1.34")] == ["gh-axi@0.1.34", "gh-axi"]


def test_a_program_is_taken_from_a_path_and_keeps_its_name_and_what_it_is_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = program_in(tmp_path, "build/head")
    script = tmp_path / "server.py"
    script.write_text("")
    own = ModeDefinition.model_validate(
        {"name": "mine", "mcp_servers": {"hub": {"command": sys.executable, "args": ["-P", str(script), "--all"]}}}
    )
    monkeypatch.chdir(tmp_path)
    definitions = Definitions((own,))

    assert definitions.whole("baseline@./build/head").tools == (f"gh={head}",)
    server = definitions.whole("github-mcp-read-only@./build/head").mcp_servers["github"]
    assert (server.command, server.args) == (str(head), ("stdio", "--read-only"))
    assert "GITHUB_HOST" in server.environment
    assert definitions.whole(f"mine@{head}").mcp_servers["hub"].words == (sys.executable, "-P", str(head), "--all")
    assert definitions.whole(f"ghx-mcp@{head}").mcp_servers["ghx"].words == (str(head), "mcp")
    other = ModeDefinition(name="head", extends="baseline", program="./build/head").resolve_paths(tmp_path / "x.yaml")
    assert Definitions((other,)).whole("head").tools == (f"gh={head}",)


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("baseline@2.60.0", "gh is no package of npm"),
        ("github-mcp@1.0.0", "pin it to a path"),
        ("github-mcp@head", "'head' is no version and no path"),
        ("gh-axi@0.1", "'0.1' is no version and no path"),
        ("github-mcp@./nowhere", "there is no /"),
        ("github-mcp@./empty", "has no github-mcp-server in it"),
        ("two@1.0.0", "has gh, ghx"),
        ("far@1.0.0", "is not started here"),
        ("module@./empty", "no file can be put in place"),
        ("nope@1.0.0", "no mode 'nope@1.0.0'"),
    ],
)
def test_a_pin_that_means_nothing_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, reason: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    own = (
        ModeDefinition(name="two", tools=("gh", "ghx")),
        ModeDefinition(name="far", mcp_servers={"hub": McpServer(url="http://127.0.0.1:1/mcp")}),
        ModeDefinition(name="module", mcp_servers={"hub": McpServer(command="python3", args=("-m", "hub"))}),
    )

    with pytest.raises(InputError, match=reason) as refused:
        Definitions(own).whole(mode)
    assert "\n" not in str(refused.value)


def test_check_finds_pins_that_lead_nowhere_from_the_folder_of_the_configuration(tmp_path: Path) -> None:
    program_in(tmp_path, "build/head")
    config = tmp_path / "eval.config.yaml"
    config.write_text("modes: [baseline, github-mcp@./build/head, github-mcp@./build/base, gh-axi@0.1.34]\n")

    (found,) = check_files([], config=config).errors

    assert f"/modes/2: mode 'github-mcp@./build/base': there is no {tmp_path}/build/base" in str(found)


def test_a_name_with_a_pin_is_not_to_be_had_for_another_mode() -> None:
    with pytest.raises(InputError, match="means mode 'ghx' with another program"):
        Definitions((ModeDefinition(name="ghx@1.0.0", tools=("gh",)),))


# -- packages


@pytest.mark.process
def test_a_built_package_in_a_folder_runs_with_node_and_what_is_behind_it(tmp_path: Path) -> None:
    package = package_in(tmp_path / "head")
    bin_ = tmp_path / "mode" / "bin"
    fill_folder(bin_, (f"axi={package}",), os.environ, behind_tools=("gh",))

    words = [bin_ / "axi", "one", "two"]
    said = subprocess.run(words, env={"PATH": str(bin_)}, check=True, capture_output=True, text=True)

    assert said.stdout == f"one,two {bin_}/../behind/gh\n"
    assert not (bin_ / "gh").exists()
    assert not (bin_ / "node").exists()


def test_the_version_of_a_package_is_told_and_what_it_lacks_too(tmp_path: Path) -> None:
    found = find_program(f"axi={package_in(tmp_path / 'one', bin={'axi': 'dist/main.js', 'b': 'x.js'})}", {})
    assert found is not None
    assert (found.version, found.words[1]) == ("1.2.3", tmp_path / "one" / "dist" / "main.js")

    with pytest.raises(GhxBenchError, match="names no program 'axi' under `bin`"):
        find_program(f"axi={package_in(tmp_path / 'two', bin={'a': 'dist/main.js', 'b': 'x.js'})}", {})
    with pytest.raises(GhxBenchError, match="build the package"):
        find_program(f"axi={package_in(tmp_path / 'three', bin='dist/other.js')}", {})


def test_provenance_has_the_version_of_packages_and_the_digest_of_builds(tmp_path: Path) -> None:
    package, definitions = package_in(tmp_path / "head"), Definitions()
    head = f"gh-axi@{package}"

    assert dict(digests_of_mode(definitions.whole("gh-axi@0.1.34"), tmp_path)) == {"package gh-axi": "0.1.34"}
    before = dict(digests_of_mode(definitions.whole(head), tmp_path))
    (package / "node_modules").mkdir()
    (package / "node_modules" / "fetched.js").write_text("")
    same = dict(digests_of_mode(definitions.whole(head), tmp_path))
    (package / "dist" / "main.js").write_text("// changed")
    after = dict(digests_of_mode(definitions.whole(head), tmp_path))

    assert [*before] == ["tool gh-axi"]
    assert before == same != after
