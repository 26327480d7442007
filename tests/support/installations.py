"""Clean environments to install this project into, from a copy of the checkout, and nothing of the developer's own."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from install_lines import ADDRESS, INSTALL_PAGE, ROOT

_SOURCES = ("packages", "pyproject.toml", "README.md", "LICENSE", "requirements.lock")
_OF_THE_DEVELOPER = ("GITHUB_", "GH_", "GHX_", "GIT_", "PIPX_", "PYTHON", "UV_", "VIRTUAL_ENV")
_KEPT = ("UV_CACHE_DIR", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_FIND_LINKS", "UV_OFFLINE")
_AUTHOR = {"NAME": "test", "EMAIL": "test@example.invalid"}


def require_uv() -> str:
    """Return the path of uv, or skip the test."""
    uv = shutil.which("uv") or shutil.which("uv", path=sysconfig.get_path("scripts"))
    if uv is None:
        pytest.skip("uv is not there")
    return uv


def copy_sources(folder: Path) -> None:
    """Copy what an installation is built from."""
    folder.mkdir()
    for name in _SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)


def build_wheel(source: Path, folder: Path) -> Path:
    """Build a wheel of the copied sources, or skip the test where what builds it cannot be fetched."""
    command = [
        require_uv(),
        "build",
        "--wheel",
        "--build-constraints",
        "requirements.lock",
        "--out-dir",
        str(folder),
        ".",
    ]
    result = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"the wheel cannot be built here: {result.stderr.strip().splitlines()[-1]}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def copy_repository(folder: Path) -> None:
    """Put the checkouts of the page on installing into a folder: `ghx-bench`, and `project` with a submodule.

    The commands are those of the page; `wheel` has a wheel of the same sources.
    """
    copy_sources(folder / "origin")
    build_wheel(folder / "origin", folder / "wheel")
    machine = Machine(folder, origin=folder / "origin")
    machine.shell("git init -q -b main && git add . && git commit -q -m Sources", cwd=folder / "origin")
    (folder / "project").mkdir()
    machine.shell("git init -q -b main", cwd=folder / "project")
    for command in re.findall(r"^\$ (git .*)$", INSTALL_PAGE.read_text(), re.MULTILINE):
        machine.shell(command, cwd=folder if command.startswith("git clone") else folder / "project")


class Machine:
    """A machine with Python, git and uv, on which nothing else is installed.

    Everything is installed into `folder`. The documented address leads to the repository `origin`. Versions are those
    of the lock. The caches of uv and pip are the user's.
    """

    def __init__(self, folder: Path, *, origin: Path) -> None:
        self._folder, self._uv = folder, Path(require_uv())
        self._bin, self._venv = folder / "bin", folder / "venv"
        settings = {f"url.{origin.as_uri()}.insteadOf": ADDRESS, "protocol.file.allow": "always"}
        kept = {
            name: value for name, value in os.environ.items() if name in _KEPT or not name.startswith(_OF_THE_DEVELOPER)
        }
        config, cache = (
            os.environ.get(f"XDG_{each}_HOME", Path.home() / f".{each.lower()}") for each in ("CONFIG", "CACHE")
        )
        self._environment = {
            **kept,
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(config),
            "XDG_CACHE_HOME": str(cache),
            "GHX_BENCH": self._address(),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": str(len(settings)),
            **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(settings)},
            **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())},
            **{f"GIT_{who}_{name}": value for who in ("AUTHOR", "COMMITTER") for name, value in _AUTHOR.items()},
            "PIP_COMPILE": "0",  # half of the time of pip, for bytecode that is used once
            "PIP_CONSTRAINT": str(ROOT / "requirements.lock"),
            "PIPX_HOME": str(folder / "pipx"),
            "PIPX_BIN_DIR": str(self._bin),
            "PIPX_MAN_DIR": str(folder / "man"),
            "UV_CONSTRAINT": str(ROOT / "requirements.lock"),
            "UV_NO_GITHUB_FAST_PATH": "1",  # it asks GitHub itself for the commit of a branch
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_TOOL_DIR": str(folder / "tools"),
            "UV_TOOL_BIN_DIR": str(self._bin),
            "COLUMNS": "200",
        }

    def make_environment(self, *, with_pip: bool) -> None:
        """Make a virtual environment and activate it."""
        seed = ["--seed"] if with_pip else []
        command = [str(self._uv), "venv", "--quiet", *seed, "--python", sys.executable, str(self._venv)]
        subprocess.run(command, env=self._environment, capture_output=True, check=True)
        self._environment["VIRTUAL_ENV"] = str(self._venv)

    def install_pipx(self) -> None:
        """Install pipx into an environment of its own, or skip the test where it cannot be fetched."""
        python = self._folder / "with-pipx" / "bin" / "python"
        install = [str(self._uv), "pip", "install", "--python", str(python), "pipx>=1.7"]
        made = [str(self._uv), "venv", "--python", sys.executable, str(python.parents[1])]
        subprocess.run(made, env=self._environment, capture_output=True, check=True)
        result = subprocess.run(install, env=self._environment, capture_output=True, text=True, check=False)
        if result.returncode:
            pytest.skip(f"pipx cannot be installed here: {result.stderr.strip().splitlines()[-1]}")

    def shell(self, line: str, *, cwd: Path, code: int = 0) -> str:
        """Run a command line and return all that it prints; fail where it ends with another exit code."""
        path = os.pathsep.join(map(str, self._places()))
        # Tools of uv are made with the first Python on the path that is not in an environment, which may be too old.
        python = {"UV_PYTHON": _base_python()} if line.startswith(("uvx ", "uv tool ")) else {}
        result = subprocess.run(
            ["bash", "-c", line],
            cwd=cwd,
            env={**self._environment, **python, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert result.returncode == code, f"{line}\n{result.stdout}"
        return result.stdout

    def _places(self) -> Iterator[Path]:
        yield from (self._venv / "bin", self._bin, self._folder / "with-pipx" / "bin", self._uv.parent)

    @staticmethod
    def _address() -> str:
        (address,) = re.findall(r"^\$ export GHX_BENCH=(\S+)$", INSTALL_PAGE.read_text(), re.MULTILINE)
        return address


def _base_python() -> str:
    return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
