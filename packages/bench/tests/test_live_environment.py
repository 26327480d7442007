"""The environment of an agent on github.com: its `git` is the configured identity, and tells nobody else the token."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from ghx_base.errors import InputError
from ghx_bench.stages.github_environment import hub_from_environment, live_environment, with_host
from ghx_tools.capabilities.environment import connection_from_environment
from ghx_twin.commands import repositories, users
from ghx_twin.pytest_plugin import GitHubTwin

QUESTION = "Password for '{scheme}://x-access-token@{host}': "


def asked(environment: dict[str, str], scheme: str, host: str) -> str:
    script = [environment["GIT_ASKPASS"], QUESTION.format(scheme=scheme, host=host)]
    done = subprocess.run(script, env={"PATH": os.defpath, **environment}, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def on_github(folder: Path, **more: str) -> dict[str, str]:
    """Return the variables of somebody who has a token and no settings of `gh`."""
    return {"GH_TOKEN": "ghp_mine", "GH_CONFIG_DIR": str(folder / "none"), "HOME": str(folder), **more}


def session(folder: Path, outside: dict[str, str]) -> dict[str, str]:
    """Return the environment of an agent in a session that somebody with these variables starts."""
    return live_environment(folder, hub_from_environment(with_host(outside)), login="ann")


def run(environment: dict[str, str], *command: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    # What a session's PATH is made of is the mode's business; here it is our own `gh` and `ghx`, on any machine.
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    variables = {"PATH": path, **environment, **changes}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture
def outside(github_twin: GitHubTwin) -> dict[str, str]:
    """The variables of somebody to whom the emulator is github.com."""
    with github_twin.world.acting(None) as act:
        for login in ("ann", "bob"):
            person = users.create_user(act, login=login)
            repositories.create(act, owner=person, name="box", visibility="private", auto_init=True)
    return github_twin.environment_of("ann")


def test_git_works_as_the_agent_or_as_whose_token_is_given(
    github_twin: GitHubTwin, outside: dict[str, str], tmp_path: Path
) -> None:
    environment = session(tmp_path, outside)
    bob = github_twin.environment_of("bob")["GH_TOKEN"]

    def git(*arguments: str, **changes: str) -> int:
        return run(environment, "git", *arguments, **changes).returncode

    assert git("ls-remote", "https://github.com/ann/box") == 0
    assert git("ls-remote", "https://github.com/bob/box") == 128
    assert git("ls-remote", "https://github.com/bob/box", GH_TOKEN=bob) == 0
    assert git("ls-remote", "https://github.com/ann/box", GH_TOKEN="", GITHUB_TOKEN="") == 0
    assert environment["GH_TOKEN"] not in (tmp_path / "home" / ".gitconfig").read_text()


@pytest.mark.parametrize("kept", [{"GITHUB_API_URL", "GH_CONFIG_DIR"}, {"GHX_UNIX_SOCKET"}, {"GH_CONFIG_DIR"}])
def test_all_tools_of_an_agent_go_where_the_bench_goes(
    github_twin: GitHubTwin, outside: dict[str, str], tmp_path: Path, kept: set[str]
) -> None:
    named = {**outside, "GITHUB_API_URL": github_twin.url, "GITHUB_SERVER_URL": github_twin.url}
    always = {"GH_TOKEN", "GITHUB_SERVER_URL"}
    environment = session(tmp_path, {**on_github(tmp_path), **{name: named[name] for name in kept | always}})

    gh = run(environment, "gh", "api", "repos/ann/box", "--jq", ".full_name")
    ghx = run(environment, "ghx", "run", "repo.view", "--owner", "ann", "--name", "box")
    git = run(environment, "git", "ls-remote", "https://github.com/ann/box")

    assert gh.stdout.strip() == "ann/box", gh.stderr
    assert ghx.returncode == 0, ghx.stdout
    assert git.returncode == 0, git.stderr


def test_the_token_goes_to_github_with_tls_only(tmp_path: Path) -> None:
    environment = session(tmp_path, on_github(tmp_path))

    assert asked(environment, "https", "github.com") == "ghp_mine"
    assert asked(environment, "http", "github.com") == ""
    assert asked(environment, "https", "gitlab.com") == ""


def test_no_settings_of_the_users_get_into_a_session(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text(
        '[credential "https://github.com"]\n\thelper = "!f() { echo username=me; echo password=my-secret; }; f"\n'
        '[http "https://github.com/"]\n\textraHeader = "Authorization: Basic my-secret"\n'
    )
    outside = on_github(
        tmp_path, GIT_CONFIG_GLOBAL=str(mine), GIT_CONFIG_COUNT="1", GIT_ASKPASS=str(mine), SSH_AUTH_SOCK="agent"
    )

    environment = session(tmp_path / "session", outside)

    seen = run(environment, "git", "config", "--list").stdout + "\n".join(environment.values())
    assert "my-secret" not in seen
    assert str(mine) not in seen
    assert not {"GIT_CONFIG_COUNT", "SSH_AUTH_SOCK"} & environment.keys()


@pytest.mark.parametrize(
    ("named", "host", "enterprise"),
    [
        ({"GH_HOST": "git.example.com"}, "git.example.com", True),
        ({"GITHUB_API_URL": "https://git.example.com/api/v3"}, "git.example.com", True),
        ({"GITHUB_API_URL": "https://git.example.com/api/v3", "GH_HOST": "git.example.com"}, "git.example.com", True),
        ({"GITHUB_API_URL": "https://api.acme.ghe.com"}, "acme.ghe.com", False),
        ({"GH_HOST": "acme.ghe.com"}, "acme.ghe.com", False),
        ({"GITHUB_API_URL": "https://api.github.com", "GITHUB_SERVER_URL": "https://github.com"}, "github.com", False),
    ],
)
def test_a_github_of_ones_own_is_found_by_every_tool(
    tmp_path: Path, named: dict[str, str], host: str, enterprise: bool
) -> None:
    environment = session(tmp_path, on_github(tmp_path, **named))

    known = run(environment, "gh", "auth", "token", "--hostname", host)
    assert known.stdout.strip() == "ghp_mine", known.stderr
    assert environment.get("GH_HOST", "github.com") == host
    assert environment["GITHUB_SERVER_URL"] == f"https://{host}"
    assert connection_from_environment(environment).api_url == environment["GITHUB_API_URL"]
    assert ("GH_ENTERPRISE_TOKEN" in environment) is enterprise
    assert asked(environment, "https", host) == "ghp_mine"
    assert asked(environment, "https", "example.org") == ""


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"GITHUB_API_URL": "http://127.0.0.1:8080"}, "`gh` would go to https://api.github.com; name the host"),
        ({"GITHUB_API_URL": "https://api.github.com", "GH_HOST": "git.example.com"}, "git.example.com/api/v3; name"),
        ({"GITHUB_SERVER_URL": "http://[::1"}, "GITHUB_SERVER_URL is 'http://[::1', which is no address"),
    ],
)
def test_tools_that_would_go_to_different_places_are_refused(tmp_path: Path, named: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        session(tmp_path, on_github(tmp_path, **named))


def test_a_token_for_one_github_is_not_told_to_another(tmp_path: Path) -> None:
    outside = on_github(tmp_path, GH_HOST="git.example.com", GITHUB_SERVER_URL="https://github.com")

    environment = session(tmp_path, outside)

    assert asked(environment, "https", "github.com") == ""
    assert "insteadOf" not in (tmp_path / "home" / ".gitconfig").read_text()
