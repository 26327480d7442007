"""The environment in which an agent's tools talk to github.com as the configured identity, and as no other."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ghx_base.askpass import write_askpass, write_private
from ghx_base.errors import InputError
from ghx_base.problems import shortened
from ghx_tools.capabilities.environment import GITHUB, Connection, connection_from_environment

_FOLDERS = {
    "HOME": "home",
    "GH_CONFIG_DIR": "gh",
    "XDG_CONFIG_HOME": "config",
    "XDG_CACHE_HOME": "cache",
    "XDG_STATE_HOME": "state",
    "XDG_DATA_HOME": "data",
    "TMPDIR": "tmp",
}
_LEADING = ("GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "GHX_UNIX_SOCKET")
_FOR_TLS = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY",
)  # fmt: skip
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
_QUIET = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_TELEMETRY": "0",
    "GH_PAGER": "cat",
    "GIT_PAGER": "cat",
    "NO_COLOR": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveHub:
    """One GitHub, as all tools of an agent find it."""

    host: str
    token: str = field(repr=False)
    gh_socket: str | None
    """The unix socket that `gh` goes through, if there is one."""
    git_url: str
    """Where git goes for what is on the host."""
    leading: Mapping[str, str]
    """The variables that lead there: to the API, and through proxies."""

    @property
    def is_enterprise_server(self) -> bool:
        """Whether `gh` takes the token for this host from a variable of another name."""
        return self.host != GITHUB and not self.host.endswith(".ghe.com")


def hub_from_environment(environ: Mapping[str, str]) -> LiveHub:
    """Return the GitHub that these variables name; refuse it if an agent's `gh` would go to another.

    The bench and `ghx` follow GITHUB_API_URL, which `gh` does not know: it follows GH_HOST and its settings.
    """
    ours = connection_from_environment(environ)
    theirs = connection_from_environment({name: value for name, value in environ.items() if name not in _LEADING})
    gh_socket = ours.socket_path or theirs.socket_path
    if gh_socket is None and theirs.api_url != ours.api_url:
        raise InputError(
            f"GITHUB_API_URL is {ours.api_url}, but an agent's `gh` would go to {theirs.api_url}; "
            "name the host that is meant in GH_HOST, or leave GITHUB_API_URL out"
        )
    variables = (*_LEADING, *_FOR_TLS) if ours.socket_path else _FOR_TLS
    leading = {"GITHUB_API_URL": ours.api_url, "GITHUB_GRAPHQL_URL": ours.graphql_url}
    return LiveHub(
        host=ours.host,
        token=ours.token or "",
        gh_socket=gh_socket,
        git_url=_git_url(ours, environ),
        leading={name: environ[name] for name in variables if environ.get(name)}
        | ({} if ours.socket_path else leading),
    )


def with_host(environ: Mapping[str, str]) -> dict[str, str]:
    """Return these variables with GH_HOST, where only the address of the API names it, as on GitHub's own runners."""
    connection = connection_from_environment(environ)
    address = urlsplit(connection.api_url)
    if connection.socket_path or environ.get("GH_HOST", "").strip():
        return dict(environ)
    if address.path == "/api/v3":
        return {**environ, "GH_HOST": address.netloc}
    if address.netloc.startswith("api.") and address.netloc.endswith(".ghe.com"):
        return {**environ, "GH_HOST": address.netloc.removeprefix("api.")}
    return dict(environ)


def _git_url(connection: Connection, environ: Mapping[str, str]) -> str:
    """Return where git goes: to the host, unless GITHUB_SERVER_URL names another address of the very same place."""
    server_url = environ.get("GITHUB_SERVER_URL", "").strip().rstrip("/")
    try:
        place = urlsplit(server_url)
    except ValueError:
        raise InputError(f"GITHUB_SERVER_URL is {shortened(server_url)}, which is no address; leave it out") from None
    beside_api = place.netloc == urlsplit(connection.api_url).netloc
    is_same = place.hostname in _THIS_MACHINE and "@" not in server_url if connection.socket_path else beside_api
    return server_url if is_same else f"https://{connection.host}"


def live_environment(folder: Path, hub: LiveHub, *, login: str) -> dict[str, str]:
    """Write private settings of `gh` and `git` into a folder, and return the variables that make them use it."""
    folders = {variable: folder / name for variable, name in _FOLDERS.items()}
    for each in folders.values():
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_gh_settings(folders["GH_CONFIG_DIR"], hub, login)
    git_config = folders["HOME"] / ".gitconfig"
    askpass = write_askpass(folder, hub.token, origins=(f"https://{hub.host}", hub.git_url)).resolve()
    write_private(git_config, _git_config(hub, askpass, login))
    tokens = ("GH_TOKEN", "GITHUB_TOKEN", *(("GH_ENTERPRISE_TOKEN",) if hub.is_enterprise_server else ()))
    return {
        **hub.leading,
        **_QUIET,
        **{variable: str(each) for variable, each in folders.items()},
        **dict.fromkeys(tokens, hub.token),
        **({} if hub.host == GITHUB else {"GH_HOST": hub.host}),
        "GITHUB_SERVER_URL": hub.git_url,
        "GIT_CONFIG_GLOBAL": str(git_config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ASKPASS": str(askpass),
    }


def _write_gh_settings(folder: Path, hub: LiveHub, login: str) -> None:
    settings = ['version: "1"', "prompt: disabled", "git_protocol: https"]
    if hub.gh_socket:
        settings.append(f"http_unix_socket: {json.dumps(hub.gh_socket)}")
    write_private(folder / "config.yml", "\n".join(settings) + "\n")
    hosts = f"{hub.host}:\n    user: {login}\n    oauth_token: {hub.token}\n    git_protocol: https\n"
    write_private(folder / "hosts.yml", hosts)


def _git_config(hub: LiveHub, askpass: Path, login: str) -> str:
    """Return settings of git that hold nothing of the user's own, which may include passwords."""
    usual = f"https://{hub.host}"
    moved = "" if hub.git_url == usual else f'[url "{hub.git_url}/"]\n\tinsteadOf = {usual}/\n'
    return (
        f"[user]\n\tname = {login}\n\temail = {login}@users.noreply.{hub.host}\n"
        "[init]\n\tdefaultBranch = main\n"
        f"[core]\n\taskPass = {json.dumps(str(askpass))}\n{moved}"
        "[credential]\n\thelper =\n[advice]\n\tdetachedHead = false\n"
    )
