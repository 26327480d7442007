"""The emulator installed without the rest: small, and all that a test of a GitHub client needs."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from installations import copy_sources, require_uv
from nightly import mostly_nightly

MOST_MEGABYTES = 62
TEST = """
from github import Auth, Github


def test_a_bot_closes_an_issue(github_twin):
    api = Github(base_url=github_twin.url, auth=Auth.Token(github_twin.token))
    repository = api.get_user().create_repo("demo", auto_init=True)
    issue = repository.create_issue("Stale")

    issue.edit(state="closed")

    assert repository.get_issue(1).state == "closed"
"""
INSTALLATIONS = {
    "everything": (".",),
    "the emulator": ("./packages/base", "./packages/twin"),
    "five packages": tuple(f"./packages/{name}" for name in ("base", "twin", "tools", "profiler", "bench")),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout") / "source"
    copy_sources(folder)
    return folder


def install(source: Path, environment: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    uv, constraints = require_uv(), ("--constraint", "requirements.lock", "--build-constraints", "requirements.lock")
    if not environment.exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True)
    command = [uv, "pip", "install", "--python", str(environment / "bin" / "python"), *constraints, *words]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def alone(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the emulator and what it requires."""
    environment = tmp_path_factory.mktemp("alone") / "venv"
    result = install(source, environment, *INSTALLATIONS["the emulator"])
    if result.returncode:
        pytest.skip(f"the emulator cannot be installed here: {result.stderr.strip().splitlines()[-1]}")
    return environment


def test_it_is_small_and_brings_nothing_of_the_bench(alone: Path) -> None:
    (packages,) = alone.glob("lib/python*/site-packages")
    size = sum(
        path.stat().st_size for path in packages.rglob("*") if path.is_file() and path.parent.name != "__pycache__"
    )

    assert size / 1e6 < MOST_MEGABYTES
    assert sorted(path.name for path in packages.glob("ghx_*") if not path.name.endswith("-info")) == [
        "ghx_base",
        "ghx_twin",
    ]


@pytest.mark.nightly
def test_a_bot_is_tested_with_its_fixture(alone: Path, source: Path, tmp_path: Path) -> None:
    # In an environment of its own: the size of the other one is measured.
    environment = tmp_path / "venv"
    result = install(source, environment, *INSTALLATIONS["the emulator"], "pygithub", "pytest")
    assert result.returncode == 0, result.stderr
    (tmp_path / "test_bot.py").write_text(TEST)

    command = [str(environment / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "1 passed" in done.stdout, done.stdout + done.stderr


@contextmanager
def logging_index() -> Iterator[tuple[str, set[str]]]:
    """Serve a package index that has nothing, and collect the names that it is asked for."""
    names: set[str] = set()

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            names.update(re.findall(r"^/simple/([^/]+)/$", self.path))
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple/", names
        server.shutdown()


@pytest.mark.parametrize("what", mostly_nightly(INSTALLATIONS, keep=1))
def test_no_index_is_asked_for_a_package_of_ours(what: str, source: Path, tmp_path: Path) -> None:
    with logging_index() as (address, names):
        result = install(source, tmp_path / "venv", "--dry-run", "--extra-index-url", address, *INSTALLATIONS[what])

    if result.returncode and not names:
        pytest.skip(f"nothing can be installed here: {result.stderr.strip().splitlines()[-1]}")
    assert result.returncode == 0, result.stderr
    assert "pydantic" in names
    assert {name for name in names if name.startswith("ghx")} == set()
