"""What is secret on the machine of the person who runs a real agent: it reaches no session and no file of the run."""

import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from bench_command import run_in
from bubblewrap import needs_bubblewrap
from real_agent_project import REAL_KEY, RealAgentProject

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.recipe import recipe_names

from .conftest import RealAgents

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked at in /proc"),
]

PREFIX = "canary-"
LARGEST = 5_000_000

VARIABLES = (
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "MY_WORD",
)
LOOKS = (
    "env; set",
    "git config --list --show-origin; git var GIT_AUTHOR_IDENT; git var GIT_COMMITTER_IDENT",
    "printf 'protocol=https\\nhost=github.com\\n\\n' | git credential fill; gh auth status; gh auth token",
    f"cd; cat .netrc .npmrc .gitconfig .ssh/* .aws/* .config/gh/*; grep -rs {PREFIX} ~ $OLDPWD $TMPDIR $GH_CONFIG_DIR",
    f"cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep {PREFIX}[0-9a-f]",
)
"""What any program of a session can ask for."""
LOOKS_BEYOND = (
    "ls -lA {home} /root /home; cat {home}/.netrc {home}/.gitconfig {home}/.ssh/id_ed25519 {home}/eval.config.yaml",
    f"timeout 60 grep -rs {PREFIX}[0-9a-f] /etc /home /opt /root /run /srv /tmp /var",
)
"""What a program of a sandbox must not find either, though the account could read it."""
WAIT = "touch waiting; until [ -e go ]; do sleep 0.1; done; rm waiting go; echo looked"


def make_canary() -> str:
    return PREFIX + secrets.token_hex(12)


def find_values(process: psutil.Process) -> Iterator[bytes]:
    """Yield what a process was given: its variables, its words, and the files that it has open."""
    place = Path("/proc", str(process.pid))
    for name in ("environ", "cmdline"):
        with suppress(OSError):
            yield (place / name).read_bytes()
    with suppress(OSError):
        for opened in (place / "fd").iterdir():
            with suppress(OSError):
                yield os.fsencode(opened.readlink())
                if opened.is_file() and opened.stat().st_size < LARGEST:
                    yield opened.read_bytes()


def find_waiting(bench: psutil.Process) -> Path:
    """Wait until a program of the session waits, and return the folder that it works in, as it sees that."""
    while True:
        for process in bench.children(recursive=True):
            folder = Path("/proc", str(process.pid), "cwd")
            with suppress(OSError):
                if (folder / "waiting").exists():
                    return folder
        assert bench.status() != psutil.STATUS_ZOMBIE, "the run ended before the agent was seen at work"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("agent", "ring"),
    [*((each, "plain") for each in recipe_names()), pytest.param("goose", "bwrap", marks=needs_bubblewrap)],
)
def test_no_secret_of_the_person_reaches_an_agent_its_processes_or_a_file_of_the_run(
    agent: str, ring: str, agents: RealAgents, tmp_path: Path
) -> None:
    agents.install(agent)
    environment = {name: make_canary() for name in VARIABLES}
    environment |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": make_canary()}
    files = {
        ".gitconfig": f"[user]\n\temail = {make_canary()}\n[http]\n\textraHeader = X-Key: {make_canary()}\n",
        ".netrc": f"machine github.com login me password {make_canary()}\n",
        ".npmrc": f"//npm.example.com/:_authToken={make_canary()}\n",
        ".config/gh/hosts.yml": f"github.com:\n    oauth_token: {make_canary()}\n",
        ".config/goose/config.yaml": f"OPENAI_ORGANIZATION: {make_canary()}\n",
        ".claude/settings.json": json.dumps({"env": {"MY_NOTE": make_canary()}}, indent=1),
        ".claude/CLAUDE.md": f"My word is {make_canary()}\n",
        ".codex/auth.json": json.dumps({"OPENAI_API_KEY": make_canary()}, indent=1),
        ".codex/AGENTS.md": f"My word is {make_canary()}\n",
        ".gemini/.env": f"MY_NOTE={make_canary()}\n",
        ".gemini/GEMINI.md": f"My word is {make_canary()}\n",
        ".qwen/QWEN.md": f"My word is {make_canary()}\n",
        ".config/opencode/AGENTS.md": f"My word is {make_canary()}\n",
        ".local/share/opencode/auth.json": json.dumps({"openai": {"type": "api", "key": make_canary()}}, indent=1),
        ".ssh/id_ed25519": f"{make_canary()}\n",
        ".aws/credentials": f"[default]\naws_secret_access_key = {make_canary()}\n",
    }
    given = make_canary()  # by the mode, which is the one way
    mode = {"name": "given", "extends": "baseline", "environment": {"GIVEN": "${GIVEN_KEY}"}}
    home = tmp_path / "home"
    looks = (*LOOKS, *(each.format(home=home) for each in LOOKS_BEYOND if ring == "bwrap"), WAIT)
    solution = Solution.model_validate({"steps": [{"shell": each} for each in looks], "answer": "looked"})
    with RealAgentProject(agent, home) as project:
        project.write(files)
        project.configure(modes=[mode], sandbox=ring)
        # Outside of the home: some agents read settings in every folder above the one they work in.
        (tmp_path / "tmp").mkdir()
        started = project.start(solution, {**environment, "GIVEN_KEY": given, "TMPDIR": str(tmp_path / "tmp")})
        bench = psutil.Process(started.pid)
        folder = find_waiting(bench)
        seen = [value for process in bench.children(recursive=True) for value in find_values(process)]
        (folder / "go").touch()
        _, complaint = started.communicate()
        assert started.returncode == 0, complaint
        told = json.dumps([call.body for call in project.endpoint.calls])
        assert {key for call in project.endpoint.calls for key in call.keys} == {REAL_KEY}

    held = {**environment, **files}
    canaries = {word: place for place, text in held.items() for word in re.findall(rf"{PREFIX}\w+", text)}
    assert len(canaries) == len(held) - 1  # one file has two, and two variables of git have none
    canaries[REAL_KEY] = "the key of the model"
    # That it is noticed where one does get through.
    assert given in told
    assert any(given.encode() in value for value in seen)
    assert not [place for each, place in canaries.items() if each in told]
    assert not [place for each, place in canaries.items() for value in seen if each.encode() in value]
    for file in run_in(home).rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert not [place for each, place in canaries.items() if each.encode() in content], file
        assert given.encode() not in content, file
