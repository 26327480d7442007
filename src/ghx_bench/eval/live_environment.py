"""The environment in which an agent's tools talk to github.com as the configured identity, and as nobody else."""

import json
from collections.abc import Mapping
from pathlib import Path

from ghx_bench._base.askpass import write_askpass, write_private
from ghx_bench.capabilities.environment import Connection

_FOLDERS = {
    "HOME": "home",
    "GH_CONFIG_DIR": "gh",
    "XDG_CONFIG_HOME": "config",
    "XDG_CACHE_HOME": "cache",
    "XDG_STATE_HOME": "state",
    "XDG_DATA_HOME": "data",
    "TMPDIR": "tmp",
}
_PASSED_ON = ("GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "GITHUB_SERVER_URL", "GH_HOST", "GHX_UNIX_SOCKET")
_PASSED_ON_FOR_TLS = ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
_QUIET = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_TELEMETRY": "0",
    "GH_PAGER": "cat",
    "GIT_PAGER": "cat",
    "NO_COLOR": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


def live_environment(folder: Path, connection: Connection, environ: Mapping[str, str], *, login: str) -> dict[str, str]:
    """Write private settings of `gh` and `git` into a folder, and return the variables that make them use it."""
    folders = {variable: folder / name for variable, name in _FOLDERS.items()}
    for each in folders.values():
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = connection.token or ""
    settings = ['version: "1"', "prompt: disabled", "git_protocol: https"]
    if connection.socket_path:
        settings.append(f"http_unix_socket: {json.dumps(connection.socket_path)}")
    write_private(folders["GH_CONFIG_DIR"] / "config.yml", "\n".join(settings) + "\n")
    hosts = f"{connection.host}:\n    user: {login}\n    oauth_token: {token}\n    git_protocol: https\n"
    write_private(folders["GH_CONFIG_DIR"] / "hosts.yml", hosts)
    git_config = folders["HOME"] / ".gitconfig"
    askpass = write_askpass(folder, token, origins=_origins(connection)).resolve()
    write_private(git_config, _git_config(connection.host, askpass, login, environ.get("GIT_CONFIG_GLOBAL")))
    passed = {name: environ[name] for name in (*_PASSED_ON, *_PASSED_ON_FOR_TLS) if environ.get(name)}
    return {
        **passed,
        **_QUIET,
        **{variable: str(each) for variable, each in folders.items()},
        "GH_TOKEN": token,
        "GITHUB_TOKEN": token,
        "GIT_CONFIG_GLOBAL": str(git_config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ASKPASS": str(askpass),
    }


def _origins(connection: Connection) -> tuple[str, ...]:
    """Return where git may tell the token: without TLS only if the API is asked without it too."""
    secure = f"https://{connection.host}"
    return (secure,) if connection.api_url.startswith("https://") else (secure, f"http://{connection.host}")


def _git_config(host: str, askpass: Path, login: str, others: str | None) -> str:
    included = f"[include]\n\tpath = {json.dumps(others)}\n" if others else ""
    return (
        f"{included}[user]\n\tname = {login}\n\temail = {login}@users.noreply.{host}\n"
        "[init]\n\tdefaultBranch = main\n"
        f"[core]\n\taskPass = {json.dumps(str(askpass))}\n"
        "[credential]\n\thelper =\n[advice]\n\tdetachedHead = false\n"
    )
