"""What git is told when it asks for a password."""

import stat
import subprocess
from pathlib import Path

import pytest

from ghx_base.askpass import write_askpass

ORIGINS = ("https://github.com", "http://127.0.0.1:8080")


def answer(script: Path, question: str, **environment: str) -> str | None:
    done = subprocess.run(
        [script, question], env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True, check=False
    )
    return done.stdout.rstrip("\n") if done.returncode == 0 else None


@pytest.fixture
def script(tmp_path: Path) -> Path:
    folder = tmp_path / 'it\'s a $(folder) of "mine"'
    folder.mkdir()
    return write_askpass(folder, "ghp_own", origins=ORIGINS)


def test_only_the_owner_can_open_the_files(script: Path) -> None:
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in script.parent.iterdir()}

    assert modes == {"askpass": 0o700, "token": 0o600}
    assert "ghp_own" not in script.read_text()


@pytest.mark.parametrize("origin", ORIGINS)
def test_the_kept_token_is_told_where_the_environment_has_none(script: Path, origin: str) -> None:
    named = origin.replace("://", "://x-access-token@")

    assert answer(script, f"Username for '{origin}': ") == "x-access-token"
    assert answer(script, f"Password for '{named}': ") == "ghp_own"
    assert answer(script, f"Password for '{named}': ", GH_TOKEN="", GITHUB_TOKEN="") == "ghp_own"


def test_the_environment_says_who_is_acting_as_for_gh(script: Path) -> None:
    question = "Password for 'https://x-access-token@github.com': "

    assert answer(script, question, GITHUB_TOKEN="second") == "second"
    assert answer(script, question, GITHUB_TOKEN="second", GH_TOKEN="first") == "first"


@pytest.mark.parametrize(
    "question",
    [
        "Username for 'https://gitlab.com': ",
        "Password for 'https://x-access-token@gitlab.com': ",
        "Password for 'https://x-access-token@github.com.evil.example': ",
        "Password for 'https://x-access-token@notgithub.com': ",
        "Password for 'http://x-access-token@github.com': ",
        "Password for 'http://x-access-token@127.0.0.1:8081': ",
        "Enter passphrase for key 'id_ed25519': ",
    ],
)
def test_nobody_else_is_told_anything(script: Path, question: str) -> None:
    assert answer(script, question, GH_TOKEN="secret") is None
