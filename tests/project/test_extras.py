"""The command that installs an extra: which packages it names, and which program it starts."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ghx_base import extras

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment without pip, in a folder of its own."""
    folder = tmp_path / "venvs" / "mine"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    return folder


def install_from(monkeypatch: pytest.MonkeyPatch, record: object) -> None:
    """Have the distribution installed with a `direct_url.json` of this content, or without one."""

    class Installed:
        requires = ("numpy>=2; extra == 'report'", "bpe-openai; extra == 'tokens'", "pyyaml")

        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if record is None else json.dumps(record)

    monkeypatch.setattr(extras, "distribution", lambda _: Installed())


@pytest.mark.parametrize("extra", [name for name in PROJECT["optional-dependencies"] if name != "all"])
def test_the_packages_are_those_of_the_extra(extra: str) -> None:
    (requirements,) = re.findall(r"-m pip install (.*)|--python \S+ (.*)", extras.how_to_install(extra))

    named = {str(Requirement(each)) for each in "".join(requirements).replace("'", "").split()}
    assert named == {str(Requirement(each)) for each in PROJECT["optional-dependencies"][extra]}


def test_without_pip_uv_installs_into_the_environment(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_from(monkeypatch, {"url": "file:///src", "dir_info": {}})

    assert extras.how_to_install("report") == f"uv pip install --python {prefix}/python 'numpy>=2'"


def test_pipx_injects_by_the_name_of_the_environment(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_from(monkeypatch, {"url": "file:///src", "dir_info": {}})
    (prefix / "pipx_metadata.json").touch()

    assert extras.how_to_install("report") == "pipx inject mine 'numpy>=2'"


def test_pipx_cannot_inject_into_an_environment_of_one_command(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_from(monkeypatch, {"url": "file:///src", "dir_info": {}})
    prefix.parent.rename(tmp_path / ".cache")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".cache" / "mine"))
    (tmp_path / ".cache" / "mine" / "pipx_metadata.json").touch()

    assert extras.how_to_install("report").startswith("uv pip install --python ")


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"url": "file:///src", "dir_info": {}}, "'ghx-bench[report] @ file:///src'"),
        ({"url": "file:///src", "dir_info": {"editable": True}}, "--editable 'ghx-bench[report] @ file:///src'"),
        ({"url": "file:///a.whl", "archive_info": {}}, "'ghx-bench[report] @ file:///a.whl'"),
        (
            {
                "url": "https://a.invalid/b",
                "vcs_info": {"vcs": "git", "commit_id": "f00", "requested_revision": "main"},
            },
            "'ghx-bench[report] @ git+https://a.invalid/b@main'",
        ),
        (
            {"url": "https://a.invalid/b", "vcs_info": {"vcs": "git", "commit_id": "f00"}},
            "'ghx-bench[report] @ git+https://a.invalid/b'",
        ),
    ],
)
def test_a_tool_of_uv_is_installed_again_from_where_it_came(
    record: object, words: str, prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_from(monkeypatch, record)
    (prefix / "uv-receipt.toml").touch()

    assert extras.how_to_install("report") == f"uv tool install {words}"


def test_a_tool_of_uv_keeps_the_extras_that_it_has(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_from(monkeypatch, {"url": "file:///src", "dir_info": {}})
    (prefix / "uv-receipt.toml").touch()
    monkeypatch.setattr(extras, "find_spec", lambda name: object() if name == "bpe_openai" else None)

    assert extras.how_to_install("report") == "uv tool install 'ghx-bench[report,tokens] @ file:///src'"


def test_a_tool_of_an_unknown_source_gets_the_packages(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_from(monkeypatch, None)
    (prefix / "uv-receipt.toml").touch()

    assert extras.how_to_install("report") == f"uv pip install --python {prefix}/python 'numpy>=2'"
