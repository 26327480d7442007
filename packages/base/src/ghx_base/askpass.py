"""The password helper of `git`: a private script that prints the token for the right hosts only."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

_SCRIPT = """\
#!/bin/sh
# Answers git's questions; a token in the environment counts before the kept one, as for gh.
case "$1" in
    {usernames}) echo x-access-token ;;
    {passwords})
        token=${{GH_TOKEN:-${{GITHUB_TOKEN:-}}}}
        if [ -n "$token" ]; then printf '%s\\n' "$token"; else cat {kept}; fi ;;
    *) exit 1 ;;
esac
"""


def write_askpass(folder: Path, token: str, *, origins: Sequence[str]) -> Path:
    """Write a script for `GIT_ASKPASS` into a private folder, and return its path.

    It answers for these origins (`https://github.com`) and no other: with the token in `GH_TOKEN` or `GITHUB_TOKEN`, so
    that one command can act as another user, and with `token` where there is neither, since some agents keep such
    variables from their shells. Neither git's configuration nor an address ever holds a token.
    """
    token_file = folder / "token"
    write_private(token_file, f"{token}\n")
    script = _SCRIPT.format(
        usernames=" | ".join(map(_username_question, origins)),
        passwords=" | ".join(map(_password_question, origins)),
        kept=shlex.quote(str(token_file.resolve())),
    )
    path = folder / "askpass"
    write_private(path, script, mode=0o700)
    return path


def write_private(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Write a file that only its owner can open, from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _username_question(origin: str) -> str:
    return shlex.quote(f"Username for '{origin}': ")


def _password_question(origin: str) -> str:
    """Return a pattern for the question, in which git repeats the name of the user."""
    scheme, host = origin.split("://", 1)
    before, after = f"Password for '{scheme}://", f"@{host}': "
    return f"{shlex.quote(before)}*{shlex.quote(after)}"
