"""Installing agents with the real npm, from a registry of the test's own."""

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from nightly import mostly_nightly
from node_packages import NODE

from ghx_base.files.locks import hold_lock
from ghx_profiler.agents.drivers.installation import find_launch, install_agent, installed_folder
from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.agents.npm import NotInstallableError, NotInstalledError, find_node

pytestmark = pytest.mark.client


class Registry(BaseHTTPRequestHandler):
    """Serves one package, `tiny-agent`, in version 1.2.3."""

    files: ClassVar[dict[str, str]] = {}

    def do_GET(self) -> None:
        tarball = self.pack()
        if self.path == "/tiny-agent":
            address = f"http://127.0.0.1:{self.server.server_address[1]}/tiny-agent-1.2.3.tgz"
            digest = base64.b64encode(hashlib.sha512(tarball).digest()).decode()
            version = {
                "name": "tiny-agent",
                "version": "1.2.3",
                "dist": {"tarball": address, "integrity": f"sha512-{digest}"},
                "scripts": {"postinstall": "touch ran"},
            }
            self.answer(
                json.dumps(
                    {"name": "tiny-agent", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": version}}
                ).encode()
            )
        elif self.path.endswith(".tgz"):
            self.answer(tarball)
        else:
            self.send_error(404)

    def pack(self) -> bytes:
        made = io.BytesIO()
        manifest = {"name": "tiny-agent", "version": "1.2.3", "scripts": {"postinstall": "touch ran"}}
        with tarfile.open(fileobj=made, mode="w") as tar:
            for name, text in {"package.json": json.dumps(manifest), **self.files}.items():
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size, entry.mode = len(text), 0o755
                tar.addfile(entry, io.BytesIO(text.encode()))
        return made.getvalue()

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: Any) -> None:
        pass


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[Registry]]:
    assert NODE.exists()
    serving = type("Serving", (Registry,), {"files": {"agent.sh": "#!/bin/sh\necho hello\n"}})
    with ThreadingHTTPServer(("127.0.0.1", 0), serving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_address[1]}/")
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))
        monkeypatch.setenv("npm_config_fetch_retries", "0")
        yield serving
        server.shutdown()


def recipe(version: str = "1.2.3", command: str = "${PACKAGES}/tiny-agent/agent.sh", name: str = "tiny") -> Recipe:
    return Recipe.model_validate(
        {
            "name": name,
            "description": "a small agent",
            "install": {"package": "tiny-agent", "version": version},
            "command": [command, "acp"],
        }
    )


def test_an_agent_is_installed_once_and_then_found(registry: type[Registry], tmp_path: Path) -> None:
    reports: list[str] = []
    agents = tmp_path / "agents"
    with pytest.raises(NotInstalledError, match="`ghx-bench doctor --install tiny`"):
        find_launch(recipe(), agents)

    folder = install_agent(recipe(), agents, report=reports.append)
    install_agent(recipe(), agents, report=reports.append)

    assert folder == agents / "tiny-agent" / "1.2.3" == installed_folder(recipe(), agents)
    assert [each.split(":")[0] for each in reports] == ["tiny 1.2.3"] * 3
    assert "installed already" in reports[-1]
    launch = find_launch(recipe(), agents)
    assert launch.program == str(folder / "node_modules" / "tiny-agent" / "agent.sh")
    assert launch.versions == {"package": "tiny-agent@1.2.3"}
    assert launch.started_from == (Path(launch.program), folder / "node_modules")
    assert not list(folder.rglob("ran")), "a script of the package was run"


def test_agents_of_the_same_package_share_what_is_installed(registry: type[Registry], tmp_path: Path) -> None:
    install_agent(recipe(), tmp_path, report=lambda _: None)

    assert find_launch(recipe(name="other"), tmp_path) == find_launch(recipe(), tmp_path)


@pytest.mark.parametrize(
    ("wanted", "words"),
    mostly_nightly(
        [
            (recipe(version="9.9.9"), r"tiny-agent@9\.9\.9 cannot be installed: .*No matching version"),
            (recipe(command="${PACKAGES}/tiny-agent/bin/agent"), r"has no tiny-agent/bin/agent for "),
        ],
        keep=1,
    ),
    ids=["no such version", "no such file"],
)
def test_what_cannot_be_installed_leaves_nothing_that_looks_whole(
    registry: type[Registry], tmp_path: Path, wanted: Recipe, words: str
) -> None:
    with pytest.raises(NotInstallableError, match=words):
        install_agent(wanted, tmp_path / "agents", report=lambda _: None)

    assert installed_folder(wanted, tmp_path / "agents") is None
    assert [each.name for each in (tmp_path / "agents" / "tiny-agent").iterdir()] == ["lock"]


def test_what_an_interrupted_installation_left_is_not_taken_for_the_agent(
    registry: type[Registry], tmp_path: Path
) -> None:
    half = tmp_path / "agents" / "tiny-agent" / ".1.2.3.new" / "node_modules"
    half.mkdir(parents=True)

    assert installed_folder(recipe(), tmp_path / "agents") is None
    folder = install_agent(recipe(), tmp_path / "agents", report=lambda _: None)
    assert (folder / "node_modules" / "tiny-agent" / "agent.sh").is_file()
    assert not half.exists()


def test_two_processes_do_not_install_the_same_agent(registry: type[Registry], tmp_path: Path) -> None:
    place = tmp_path / "agents" / "tiny-agent"
    place.mkdir(parents=True)
    with hold_lock(place / "lock"), pytest.raises(NotInstallableError, match="is installing it; wait for it"):
        install_agent(recipe(), tmp_path / "agents", report=lambda _: None)


def test_the_node_of_agents_is_the_program_itself() -> None:
    node = find_node("a test")

    assert node.read_bytes()[:4] in {b"\x7fELF", b"\xcf\xfa\xed\xfe"}, "a script, which is one more process"


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    absent = Recipe.model_validate({"name": "mine", "description": "mine", "command": ["no-such-agent-anywhere"]})

    with pytest.raises(NotInstalledError, match="no program no-such-agent-anywhere"):
        find_launch(absent, tmp_path)


def test_an_agent_consists_of_the_files_that_its_command_names_and_of_no_folders(tmp_path: Path) -> None:
    (tmp_path / "agent.py").touch()
    words = ["./agent.py", "--home", str(tmp_path), "--config", "${HOME}/x", "--", "${PROMPT}", "x" * 5000]
    mine = Recipe.model_validate(
        {"name": "mine", "description": "mine", "protocol": "command", "command": ["sh", *words]}
    ).resolve_paths(tmp_path)

    launch = find_launch(mine, tmp_path)

    assert launch.started_from == (Path(launch.program), tmp_path / "agent.py")
