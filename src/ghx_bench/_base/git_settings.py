"""Settings of git for one client: as a file, and as variables that count where its file is not read."""

import base64
from collections.abc import Sequence

Settings = Sequence[tuple[str, str]]
"""Keys as `git config` takes them (`http.https://github.com/.proxy`), with their values; a key may stand twice."""


def as_file(settings: Settings) -> str:
    """Return settings as the text of a `.gitconfig`."""
    return "".join(f"{_section(key)}\n\t{key.rpartition('.')[2]} = {_quote(value)}\n" for key, value in settings)


def as_variables(settings: Settings) -> dict[str, str]:
    """Return settings as `GIT_CONFIG_COUNT` and its pairs.

    Some agents lead git past every file of its user, and keep these variables: without them their git would ask the
    real host. They count before the files of a repository, so they hold only what is the same for every command.
    """
    pairs = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        pairs[f"GIT_CONFIG_KEY_{number}"], pairs[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return pairs


def authorize(origin: str, token: str) -> tuple[str, str]:
    """Return the setting that sends a token to an origin (`https://github.com`), where nothing answers git's questions.

    A helper would not do: agents that take away `GIT_ASKPASS` also clear the list of helpers.
    """
    credentials = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return f"http.{origin}/.extraHeader", f"Authorization: Basic {credentials}"


def _section(key: str) -> str:
    section, _, rest = key.partition(".")
    subsection, _, _ = rest.rpartition(".")
    return f'[{section} "{subsection}"]' if subsection else f"[{section}]"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
