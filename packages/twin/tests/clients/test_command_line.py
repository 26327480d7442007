"""`ghx-twin exec` and `ghx-twin serve` as a user sees them."""

import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import urllib.error
import urllib.request
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from forked_commands import run_forked
from gh_client import bundled_gh

from ghx_base.commandline import run_command_line
from ghx_twin.cli.main import app
from ghx_twin.world import World

SEED = Path(__file__).with_name("widgets.yaml")
COMMAND = Path(sysconfig.get_path("scripts"), "ghx-twin")
GH = str(bundled_gh())


@pytest.fixture
def temporary() -> Generator[Path]:
    """The place for temporary files of the processes of a test; its path is short."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def environment(temporary: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary)}


@pytest.fixture
def own_signals() -> Generator[None]:
    """Gives the process its handlers of signals back, which a command sets for itself."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def twin(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_forked(COMMAND, arguments, folder=Path.cwd(), environment=environment)


@contextmanager
def started(environment: dict[str, str], *arguments: str) -> Generator[subprocess.Popen[str]]:
    """Run the command in a process group of its own, which does not outlive the block."""
    with subprocess.Popen(
        [COMMAND, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background of a shell has SIGINT ignored, and so would every child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - nothing but the signal
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def ready_line(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def asked(ready: dict[str, str], path: str, body: dict[str, str] | None = None) -> Any:
    """Ask a server that is ready, as its user."""
    request = urllib.request.Request(
        ready["url"] + path,
        headers={"authorization": f"token {ready['token']}"},
        data=None if body is None else json.dumps(body).encode(),
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def test_exec_runs_gh_in_a_seeded_world_and_leaves_nothing_behind(
    environment: dict[str, str], temporary: Path, tmp_path: Path
) -> None:
    journal, diff = tmp_path / "journal.jsonl", tmp_path / "diff.json"
    command = [GH, "issue", "close", "1", "--repo", "acme/widgets"]

    done = twin(
        environment, "exec", "--seed", str(SEED), "--journal", str(journal), "--diff", str(diff), "--", *command
    )

    assert done.returncode == 0, done.stderr
    asked_for = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [entry["mutation"] for entry in asked_for] == [False, True]
    assert {entry["actor"] for entry in asked_for} == {"octo"}
    changed = json.loads(diff.read_text())
    assert any("closed" in json.dumps(each) for each in changed)
    assert list(temporary.iterdir()) == []


def test_exec_without_a_seed_has_one_user_and_nothing_else(environment: dict[str, str]) -> None:
    done = twin(environment, "exec", "--", "sh", "-c", f"{GH} api user --jq .login; {GH} repo list")

    assert (done.returncode, done.stdout) == (0, "octocat\n")


def test_exec_ends_with_what_was_asked_for_and_is_not_there(environment: dict[str, str]) -> None:
    script = (
        f"{GH} api gists; {GH} api gists; {GH} api graphql -f 'query={{viewer {{gists(first: 1) {{totalCount}}}}}}'"
    )
    done = twin(environment, "exec", "--", "sh", "-c", f"{script}; true")

    assert done.returncode == 0
    assert done.stderr.endswith("ghx-twin: asked for and not implemented:\n  GET /gists (2 times)\n  User.gists\n"), (
        done.stderr
    )


def test_exec_scripts_the_faults_of_a_file(environment: dict[str, str], tmp_path: Path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text("faults: [{path: /user, times: 1, status: 418, message: Short and stout}]", encoding="utf-8")
    script = f"{GH} api user --jq .login; {GH} api user --jq .login"

    done = twin(environment, "exec", "--faults", str(faults), "--", "sh", "-c", script)
    wrong = twin(environment, "exec", "--faults", str(tmp_path / "none.yaml"), "--", "true")

    assert (done.returncode, done.stdout.endswith("octocat\n")) == (0, True)
    assert "Short and stout" in done.stderr
    assert done.stderr.endswith("ghx-twin: faults, and how many requests met them:\n  status (1): 1\n")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)


def test_exec_acts_as_the_named_user(environment: dict[str, str]) -> None:
    named = ["exec", "--seed", str(SEED), "--user", "hubot", "--", GH, "api", "user", "--jq", ".login"]

    assert twin(environment, *named).stdout == "hubot\n"


TOKENS = """
users:
  - {login: ann, tokens: [{token: t-ann, scopes: [public_repo]}]}
  - {login: bob}
repositories: [{name: ann/hidden, visibility: private}]
"""


def test_exec_acts_with_the_token_that_the_seed_gives_a_user(environment: dict[str, str], tmp_path: Path) -> None:
    seed, diff = tmp_path / "seed.yaml", tmp_path / "diff.json"
    seed.write_text(TOKENS)
    script = f'echo "$GH_TOKEN"; {GH} api repos/ann/hidden --silent'
    arguments = ["exec", "--seed", str(seed), "--diff", str(diff)]

    ann = twin(environment, *arguments, "--", "sh", "-c", script)
    bob = twin(environment, *arguments, "--user", "bob", "--", "sh", "-c", 'echo "$GH_TOKEN"')

    assert (ann.returncode, ann.stdout) == (1, "t-ann\n")
    assert "404" in ann.stderr
    assert bob.stdout.startswith("ghp_")
    assert json.loads(diff.read_text()) == []


def test_exec_with_a_ticking_clock_is_the_same_every_time(environment: dict[str, str], tmp_path: Path) -> None:
    diff = tmp_path / "diff.json"
    command = [GH, "issue", "create", "-R", "acme/widgets", "-t", "Ticks", "-b", ""]

    told: list[str] = []
    for _ in range(2):
        arguments = ["exec", "--seed", str(SEED), "--clock", "ticking", "--diff", str(diff), "--", *command]
        assert twin(environment, *arguments).returncode == 0
        told.append(diff.read_text())

    assert told[0] == told[1]
    assert '"at": "2026-01-01T' in told[0]


@pytest.mark.parametrize("flag", ["--journal", "--diff"])
def test_exec_refuses_a_file_that_cannot_be_written_before_it_runs(
    environment: dict[str, str], tmp_path: Path, flag: str
) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "file"):
        done = twin(environment, "exec", flag, str(path), "--", "touch", str(tmp_path / "ran"))

        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert done.stderr.startswith(f"error: {flag}: {path} cannot be written: ")
    assert not (tmp_path / "ran").exists()


def test_exec_writes_its_journal_to_a_pipe(environment: dict[str, str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        done = twin(environment, "exec", "--journal", str(pipe), "--", GH, "api", "user", "--silent")
        told = reader.communicate(timeout=300)[0]

    assert done.returncode == 0, done.stderr
    assert json.loads(told)["operation"] == "GET /user"


def test_exec_happens_in_the_real_time_and_its_seed_before_that(environment: dict[str, str]) -> None:
    script = f"""set -e
    {GH} repo fork acme/widgets --clone=false 2>&1
    {GH} issue create -R acme/widgets -t Today -b b >/dev/null
    {GH} issue list -R acme/widgets --search "created:>=$(date -u +%Y-%m-%d)" --json title --jq .[].title
    {GH} api repos/acme/widgets/issues/1 --jq .created_at
    """
    done = twin(environment, "exec", "--seed", str(SEED), "--user", "hubot", "--", "sh", "-c", script)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "already exists" not in done.stdout
    assert lines[-2] == "Today"
    assert lines[-1].startswith("2026-01-01T")


def test_exec_ends_as_its_command_does(environment: dict[str, str], temporary: Path) -> None:
    done = twin(environment, "exec", "--", "sh", "-c", "exit 42")

    assert done.returncode == 42
    assert list(temporary.iterdir()) == []


def test_exec_of_a_command_that_is_not_there_is_127(environment: dict[str, str]) -> None:
    done = twin(environment, "exec", "--", "no-such-program")

    assert done.returncode == 127
    assert done.stderr == "error: no-such-program: command not found\n"


@pytest.mark.parametrize(("to_group", "number", "code"), [(True, signal.SIGINT, 130), (False, signal.SIGTERM, 143)])
def test_exec_that_is_interrupted_ends_its_command_and_cleans_up(
    environment: dict[str, str],
    temporary: Path,
    to_group: bool,
    number: signal.Signals,
    code: int,
) -> None:
    with started(environment, "exec", "--", "sh", "-c", "echo ready; exec sleep 60") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (os.killpg if to_group else os.kill)(process.pid, number)

        assert process.wait(timeout=300) == code
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["exec"], "name the command to run"),
        (["exec", "--seed", "nowhere.yaml", "--", "true"], "nowhere.yaml"),
        (["exec", "--user", "nobody", "--", "true"], "this world has no nobody"),
        (["exec", "--clock", "sun", "--", "true"], "--clock"),
        (["serve", "--clock", "sun"], "--clock"),
        (["serve", "--port", "70000"], "--port"),
        (["serve", "--token", "with blank"], "--token"),
        (["serve", "--token", ""], "--token"),
        (["serve", "--port", "many"], "--port"),
        (["serve", "--seed", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_bad_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], own_signals: None, arguments: list[str], words: str
) -> None:
    code = run_command_line(app, arguments)

    told = capsys.readouterr()
    assert code == 2
    assert words in told.err
    assert told.err.startswith("error: ")
    assert len(told.err.splitlines()) == 1
    assert told.out == ""


def test_a_bad_seed_is_told_with_its_place(
    capsys: pytest.CaptureFixture[str], own_signals: None, tmp_path: Path
) -> None:
    seed = tmp_path / "seed.yaml"
    seed.write_text("users: [{login: octo}]\nrepositories: [{name: nobody/widgets}]\n")

    code = run_command_line(app, ["exec", "--seed", str(seed), "--", "true"])

    told = capsys.readouterr().err
    assert code == 2
    assert told.startswith(f"error: {seed}: repositories: nobody/widgets: ")
    assert len(told.splitlines()) == 1


def test_serve_says_when_it_is_ready_and_stops_when_told(environment: dict[str, str], temporary: Path) -> None:
    with started(environment, "serve", "--seed", str(SEED)) as process:
        ready = ready_line(process)

        assert ready.keys() == {"url", "socket", "user", "token"}
        assert asked(ready, "/user")["login"] == ready["user"] == "octo"
        assert Path(ready["socket"]).stat().st_mode & 0o777 == 0o600
        process.terminate()
        assert process.wait(timeout=300) == 0
    assert list(temporary.iterdir()) == []


def test_serve_ends_with_what_is_not_there_and_the_faults_that_were_met(
    environment: dict[str, str], tmp_path: Path
) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text("faults: [{path: /user, status: 502}, {path: /gists, stale_s: 1, skip: 9}]", encoding="utf-8")
    with started(environment, "serve", "--faults", str(faults)) as process:
        ready = ready_line(process)
        for path in ("/user", "/gists"):
            with pytest.raises(urllib.error.HTTPError):
                asked(ready, path)
        process.terminate()
        _, said = process.communicate(timeout=300)

    assert said.splitlines() == [
        "ghx-twin: asked for and not implemented:",
        "  GET /gists",
        "ghx-twin: faults, and how many requests met them:",
        "  status (1): 1",
        "  stale (2): none",
    ]


def test_serve_has_a_token_of_its_own_at_each_start_unless_one_is_asked_for(
    environment: dict[str, str], tmp_path: Path
) -> None:
    def token(*arguments: str) -> str:
        with started(environment, "serve", *arguments) as process:
            assert process.stdout is not None
            return json.loads(process.stdout.readline())["token"]

    kept = ("--data-dir", str(tmp_path / "world"))
    first = token(*kept)

    assert token(*kept) == first
    assert token() != token()
    assert token("--token", "my-own-token") == "my-own-token"
    assert token(*kept, "--token", "my-own-token") == "my-own-token"


@pytest.mark.parametrize("next_one", ["serve", "exec"])
def test_what_a_killed_server_left_is_removed_by_the_next(
    next_one: str, environment: dict[str, str], temporary: Path
) -> None:
    with started(environment, "serve") as process:
        left = Path(ready_line(process)["socket"]).parent
        process.kill()
        process.wait()
    assert left.exists()

    if next_one == "exec":
        assert twin(environment, "exec", "--", "true").returncode == 0
    else:
        with started(environment, "serve") as process:
            ready_line(process)
            process.terminate()
            assert process.wait() == 0

    assert list(temporary.iterdir()) == []


def test_serve_happens_in_the_real_time(environment: dict[str, str], tmp_path: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    with started(environment, "serve", "--seed", str(SEED), "--data-dir", str(tmp_path / "world")) as process:
        made = asked(ready_line(process), "/repos/acme/widgets/issues", {"title": "Now"})
    after = datetime.now(UTC)

    assert before <= datetime.fromisoformat(made["created_at"]) <= after
    with World.create(tmp_path / "world") as world:
        assert world.database.clock == "wall"
    assert (tmp_path / "world").stat().st_mode & 0o777 == 0o700


def test_a_seed_is_not_planted_in_a_kept_world(environment: dict[str, str], tmp_path: Path) -> None:
    kept = tmp_path / "world"
    World.create(kept).close()

    done = twin(environment, "serve", "--seed", str(SEED), "--data-dir", str(kept))

    assert done.returncode == 2
    assert f"{kept} holds a world already" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_exec_refuses_every_host_but_github_and_those_that_are_named(
    environment: dict[str, str], tmp_path: Path
) -> None:
    journal = tmp_path / "journal.jsonl"
    code = "import os, urllib.request as r; print(os.environ['NO_PROXY']); r.urlopen('https://example.com')"
    command = ["exec", "--journal", str(journal), "--reachable-host", "a.example", "--reachable-host", "b.example"]

    done = twin(environment, *command, "--", sys.executable, "-c", code)

    assert done.stdout == "127.0.0.1,localhost,::1,a.example,b.example\n"
    assert "example.com:443 cannot be reached from here, only GitHub can" in done.stderr
    (asked_for,) = [json.loads(line) for line in journal.read_text().splitlines()]
    assert (asked_for["surface"], asked_for["path"], asked_for["status"]) == ("proxy", "example.com:443", 403)


def test_exec_does_not_let_the_real_github_be_reached(environment: dict[str, str]) -> None:
    done = twin(environment, "exec", "--reachable-host", "github.com", "--", "true")

    assert done.returncode == 2
    assert "--reachable-host" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_serve_on_a_port_that_is_taken(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = twin(environment, "serve", "--port", str(port))

    assert done.returncode == 2
    assert f"127.0.0.1:{port}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_was_acknowledged_survives_a_kill(environment: dict[str, str], tmp_path: Path) -> None:
    kept = ["serve", "--data-dir", str(tmp_path / "world")]
    with started(environment, *kept, "--seed", str(SEED)) as process:
        first = ready_line(process)
        settings = tmp_path / "gh"
        settings.mkdir()
        (settings / "config.yml").write_text(f"http_unix_socket: {first['socket']}\n")
        client = {**environment, "GH_CONFIG_DIR": str(settings), "GH_TOKEN": first["token"], "TWIN": first["url"]}
        comment = [GH, "issue", "comment", "3", "--repo", "acme/widgets", "--body", "remember"]
        subprocess.run(comment, env=client, check=True, capture_output=True, timeout=300)
        subprocess.run(["sh", "-c", PUSH], env=client, cwd=tmp_path, check=True, capture_output=True, timeout=300)
        process.kill()

    with started(environment, *kept) as process:
        again = ready_line(process)
        comments = asked(again, "/repos/acme/widgets/issues/3/comments")
        branch = asked(again, "/repos/acme/widgets/branches/kept")

    assert again["token"] == first["token"]
    assert [each["body"] for each in comments] == ["remember"]
    assert branch["commit"]["sha"] == (tmp_path / "sha").read_text().strip()


PUSH = """set -e
git clone --quiet "http://x:$GH_TOKEN@${TWIN#http://}/acme/widgets.git" clone
cd clone
git checkout --quiet -b kept
git -c user.name=Octo -c user.email=octo@example.com commit --quiet --allow-empty -m "Keep this"
git rev-parse HEAD > ../sha
git push --quiet origin kept
"""


def test_two_servers_do_not_share_a_directory(environment: dict[str, str], tmp_path: Path) -> None:
    kept = ["serve", "--data-dir", str(tmp_path / "world")]
    with started(environment, *kept) as process:
        ready = ready_line(process)

        second = twin(environment, *kept)

        assert second.returncode == 2
        assert "in use by another process" in second.stderr
        assert len(second.stderr.splitlines()) == 1
        assert asked(ready, "/user")["login"] == "octocat"


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_during_writes(
    environment: dict[str, str], tmp_path: Path
) -> None:
    kept = ["serve", "--data-dir", str(tmp_path / "world")]
    acknowledged: list[str] = []
    with started(environment, *kept, "--seed", str(SEED)) as process:
        first = ready_line(process)

        def write(client: int) -> None:
            for number in itertools.count():
                body = {"body": f"{client} wrote {number}"}
                try:
                    acknowledged.append(asked(first, "/repos/acme/widgets/issues/3/comments", body)["body"])
                except (OSError, http.client.HTTPException, ValueError):  # the server is gone
                    return
                if len(acknowledged) == 40:
                    process.kill()  # while the others are writing

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))

    with started(environment, *kept) as process:
        again = ready_line(process)
        comments = [
            each["body"]
            for page in range(1, 4)
            for each in asked(again, f"/repos/acme/widgets/issues/3/comments?per_page=100&page={page}")
        ]

    assert len(acknowledged) >= 40
    assert set(acknowledged) <= set(comments)
    assert len(set(comments) - set(acknowledged)) <= 4  # what was being written has happened, or has not
    assert len(comments) == len(set(comments))
