"""The repository of a folder is that of its remote, if the remote is at the GitHub in use."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ghx_tools.cli.remote import default_repository, full_name, read_remote
from ghx_tools.cli.usage import UsageError
from ghx_twin.pytest_plugin import GitHubTwin

ENTERPRISE = {"GITHUB_API_URL": "https://ghe.example.com/api/v3"}
HERE = {"GITHUB_API_URL": "http://127.0.0.1:4000"}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path) -> Callable[[str], Path]:
    """Make a folder with a remote."""

    def made(address: str) -> Path:
        for part in ("objects", "refs"):
            (tmp_path / ".git" / part).mkdir(parents=True)
        (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (tmp_path / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {address}\n')
        return tmp_path

    return made


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Nobody's settings, and an ssh without any."""
    return {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.mark.parametrize(
    ("address", "host", "repository"),
    [
        ("https://github.com/acme/widgets.git", "github.com", ("acme", "widgets")),
        ("https://me:s3cret@GitHub.com:443/acme/widgets/", "github.com", ("acme", "widgets")),
        ("git@github.com:acme/widgets.git", "github.com", ("acme", "widgets")),
        ("github.com:acme/widgets", "github.com", ("acme", "widgets")),
        ("ssh://git@ssh.github.com:443/acme/widgets.git", "ssh.github.com", ("acme", "widgets")),
        ("http://127.0.0.1:4000/acme/widgets.git", "127.0.0.1:4000", ("acme", "widgets")),
        ("http://[::1]:4000/acme/widgets.git", "::1:4000", ("acme", "widgets")),
        ("https://gitlab.com/group/sub/widgets.git", "gitlab.com", ("sub", "widgets")),
        ("https://github.com/acme", "github.com", None),
        ("https://github.com:port/acme/widgets", "", None),
        ("/srv/git/acme/widgets.git", "", None),
        ("file:///srv/git/acme/widgets.git", "", None),
        ("../widgets", "", None),
    ],
)
def test_an_address_of_git_is_read(address: str, host: str, repository: tuple[str, str] | None) -> None:
    remote = read_remote(address)

    assert (remote.host, remote.repository) == (host, repository)


@pytest.mark.parametrize(
    ("address", "more"),
    [
        ("https://github.com/acme/widgets.git", {}),
        ("https://www.github.com/acme/widgets", {}),
        ("git@github.com:acme/widgets.git", {"GITHUB_API_URL": "https://api.github.com"}),
        ("ssh://git@ssh.github.com:443/acme/widgets.git", {}),
        ("https://ghe.example.com/acme/widgets", {"GH_HOST": "GHE.example.com"}),
        ("git@ghe.example.com:acme/widgets", ENTERPRISE),
        ("https://acme.ghe.com/acme/widgets", {"GH_HOST": "acme.ghe.com"}),
        ("https://github.com/acme/widgets", HERE),
        ("git@github.com:acme/widgets", {"GHX_UNIX_SOCKET": "/run/github.sock"}),
        ("http://127.0.0.1:4000/acme/widgets", HERE),
        ("https://ghe.example.com/acme/widgets", {**HERE, "GH_HOST": "ghe.example.com"}),
    ],
)
def test_a_remote_at_the_github_in_use_is_taken(
    clone: Callable[[str], Path], environ: dict[str, str], address: str, more: dict[str, str]
) -> None:
    assert default_repository(environ | more, clone(address)) == ("acme", "widgets")


@pytest.mark.parametrize(
    ("address", "more", "place"),
    [
        ("https://gitlab.com/acme/widgets.git", {}, "at gitlab.com, not at github.com"),
        ("https://me:s3cret@gitlab.com/acme/widgets.git", {}, "at gitlab.com, not at github.com"),
        ("git@gitlab.com:acme/widgets.git", HERE, "at gitlab.com, not at github.com"),
        ("https://github.com.evil.example/acme/widgets", {}, "at github.com.evil.example, not at github.com"),
        ("https://gitlab.com/github.com/widgets", {}, "at gitlab.com, not at github.com"),
        ("https://github.com/acme/widgets", ENTERPRISE, "at github.com, not at ghe.example.com"),
        ("https://github.com/acme/widgets", {"GH_HOST": "ghe.example.com"}, "at github.com, not at ghe.example.com"),
        ("http://127.0.0.1:3000/acme/widgets", HERE, "at 127.0.0.1:3000, not at github.com"),
        ("http://127.0.0.1:3000/acme/widgets", {}, "at 127.0.0.1:3000, not at github.com"),
        ("/srv/git/acme/widgets.git", {}, "a folder, not at github.com"),
        ("-oProxyCommand=x:acme/widgets", {}, "at -oproxycommand=x, not at github.com"),
    ],
)
def test_a_remote_elsewhere_is_not_taken_and_it_is_said_what_to_give(
    clone: Callable[[str], Path], environ: dict[str, str], address: str, more: dict[str, str], place: str
) -> None:
    folder = clone(address)

    with pytest.raises(UsageError) as caught:
        default_repository(environ | more, folder)

    assert place in str(caught.value)
    assert "-R owner/name" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    named = {"GITHUB_REPOSITORY": "octo/notes"}
    assert default_repository(environ | more | named, folder) == ("octo", "notes")


def test_what_git_makes_of_an_address_counts_where_it_says_nothing_itself(
    clone: Callable[[str], Path], environ: dict[str, str]
) -> None:
    folder = clone("gh:acme/widgets")
    git(folder, "config", "url.git@github.com:.insteadOf", "gh:")

    assert default_repository(environ, folder) == ("acme", "widgets")


def test_a_host_may_go_by_the_name_that_ssh_knows_it_by(clone: Callable[[str], Path], environ: dict[str, str]) -> None:
    folder = clone("git@work:acme/widgets.git")
    (folder / "bin").mkdir()
    (folder / "bin" / "ssh").write_text(
        '#!/bin/sh\n[ "$*" = "-G work" ] && printf "user git\\nhostname GitHub.com\\n"\n'
    )
    (folder / "bin" / "ssh").chmod(0o755)

    assert default_repository(environ, folder) == ("acme", "widgets")


def test_what_is_written_counts_whoever_stands_in_for_github(
    clone: Callable[[str], Path], environ: dict[str, str]
) -> None:
    folder = clone("https://github.com/acme/widgets")
    git(folder, "config", "url.https://other.example.com/x/y.insteadOf", "https://github.com/acme/widgets")

    assert default_repository(environ, folder) == ("acme", "widgets")


def test_a_folder_without_a_remote_says_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    assert default_repository(environ, tmp_path) is None


@pytest.mark.parametrize("variables", [{"PATH": ""}, {"PATH": "/nowhere"}])
def test_without_git_there_is_no_remote(tmp_path: Path, variables: dict[str, str]) -> None:
    assert default_repository(variables, tmp_path) is None


@pytest.mark.parametrize(
    "text", ["acme/widgets", " acme/widgets ", "github.com/acme/widgets", "GitHub.com/acme/widgets"]
)
def test_a_full_name_may_say_which_github(environ: dict[str, str], text: str) -> None:
    assert full_name(text, environ) == ("acme", "widgets")


def test_a_full_name_at_another_host_is_refused(environ: dict[str, str], tmp_path: Path) -> None:
    for ask in (
        lambda: full_name("gitlab.com/acme/widgets", environ),
        lambda: default_repository({**environ, "GH_REPO": "gitlab.com/acme/widgets"}, tmp_path),
    ):
        with pytest.raises(UsageError, match="set GH_HOST to gitlab"):
            ask()


def test_a_clone_of_the_twin_is_its_repository_and_one_of_another_host_is_not(
    ghx: Callable, here: Path, github_twin: GitHubTwin
) -> None:
    by_port = {**github_twin.environment, "GITHUB_API_URL": github_twin.url, "GHX_UNIX_SOCKET": ""}
    for place, environ in (("https://github.com", github_twin.environment), (github_twin.url, by_port)):
        git(here, "clone", "--quiet", f"{place}/acme/widgets.git", "cloned")
        assert default_repository(environ, here / "cloned") == ("acme", "widgets")
        shutil.rmtree(here / "cloned")
    git(here, "init", "--quiet")
    git(here, "remote", "add", "origin", "https://gitlab.com/acme/widgets.git")

    done = ghx("run", "issue.create", "--title", "Not here")

    assert done.code == 2
    assert "gitlab.com" in done.out + done.err
    assert {each.surface for each in github_twin.world.journal} == {"git"}
    assert "gitlab.com" in ghx("doctor").out
