"""The environment of an agent on github.com: its `git` is the configured identity, and tells nobody else the token."""

import os
import subprocess
from pathlib import Path

from ghx_bench.capabilities.environment import connection_from_environment
from ghx_bench.eval.live_environment import live_environment
from ghx_bench.twin.commands import repositories, users
from ghx_bench.twin.pytest_plugin import GitHubTwin

QUESTION = "Password for '{scheme}://x-access-token@{host}': "


def asked(environment: dict[str, str], scheme: str, host: str) -> str:
    script = [environment["GIT_ASKPASS"], QUESTION.format(scheme=scheme, host=host)]
    done = subprocess.run(script, env={"PATH": os.defpath, **environment}, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_git_works_as_the_agent_or_as_whose_token_is_given(github_twin: GitHubTwin, tmp_path: Path) -> None:
    with github_twin.world.acting(None) as act:
        for login in ("ann", "bob"):
            person = users.create_user(act, login=login)
            repositories.create(act, owner=person, name="box", visibility="private", auto_init=True)
    outside = {name: value for name, value in github_twin.environment_of("ann").items() if name != "GITHUB_API_URL"}
    environment = live_environment(tmp_path, connection_from_environment(outside), outside, login="ann")
    bob = github_twin.environment_of("bob")["GH_TOKEN"]

    def git(*arguments: str, **changes: str) -> int:
        variables = {"PATH": os.environ["PATH"], **environment, **changes}
        return subprocess.run(["git", *arguments], env=variables, capture_output=True, check=False).returncode

    assert git("ls-remote", "https://github.com/ann/box") == 0
    assert git("ls-remote", "https://github.com/bob/box") == 128
    assert git("ls-remote", "https://github.com/bob/box", GH_TOKEN=bob) == 0
    assert git("ls-remote", "https://github.com/ann/box", GH_TOKEN="", GITHUB_TOKEN="") == 0
    assert environment["GH_TOKEN"] not in (tmp_path / "home" / ".gitconfig").read_text()


def test_the_token_goes_to_github_with_tls_only(tmp_path: Path) -> None:
    outside = {"GH_TOKEN": "ghp_mine", "GH_CONFIG_DIR": str(tmp_path / "none"), "HOME": str(tmp_path)}

    environment = live_environment(tmp_path, connection_from_environment(outside), outside, login="ann")

    assert asked(environment, "https", "github.com") == "ghp_mine"
    assert asked(environment, "http", "github.com") == ""
    assert asked(environment, "https", "gitlab.com") == ""
