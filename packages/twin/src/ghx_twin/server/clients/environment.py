"""The environment in which real clients talk to the emulator as if it were GitHub, under GitHub's own names."""

import base64
import os
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghx_base.askpass import write_askpass, write_private
from ghx_twin.urls import GITHUB_URLS

_GITHUB = "https://github.com"
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_FOLDERS = {
    "HOME": "home",
    "GH_CONFIG_DIR": "gh",
    "XDG_CONFIG_HOME": "config",
    "XDG_CACHE_HOME": "cache",
    "XDG_STATE_HOME": "state",
    "XDG_DATA_HOME": "data",
    "TMPDIR": "tmp",
}  # gh keeps introspection answers and logs in caches: each client has its own
# Each of these would lead a client past the emulator: to another host, repository, proxy, configuration or credential.
_LEFT_OUT = frozenset({
    "ALL_PROXY", "all_proxy", "GH_HOST", "GH_REPO", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_FORCE_TTY",
    "GH_DEBUG",
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_SYSTEM",
    "GIT_ASKPASS", "SSH_ASKPASS", "SSH_AUTH_SOCK",
})  # fmt: skip

GitSettings = Sequence[tuple[str, str]]
"""Keys as `git config` takes them (`http.https://github.com/.proxy`), with their values; a key may stand twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEnvironment:
    """Variables for one client of one world, and the private directory they point into."""

    directory: Path
    variables: Mapping[str, str]
    git_variables: Mapping[str, str]
    """What leads git to the twin as this user, also where an agent takes git's files and questions away from it. Apart
    from the others: with these, a command cannot act as another user by a `GH_TOKEN` of its own."""

    def exchange_token(self, token: str) -> dict[str, str]:
        """Return the variables that hold the token of this client, with another one of the same user in its place."""
        own = self.variables["GITHUB_TOKEN"]
        spellings = {own: token, _credentials(own): _credentials(token)}
        changed: dict[str, str] = {}
        for name, value in {**self.variables, **self.git_variables}.items():
            for held, other in spellings.items():
                if held in value:
                    changed[name] = changed.get(name, value).replace(held, other)
        return changed

    def over(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return `base` (often `os.environ`) without what would lead a client elsewhere, and with these variables."""
        variables = {
            name: value
            for name, value in base.items()
            if name not in _LEFT_OUT and not name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))
        }
        return {**variables, **self.variables, "PATH": path_with_gh(base.get("PATH", os.defpath))}


def path_with_gh(path: str) -> str:
    """Add the folder of our own `gh` at the end of a path that has none, as where no virtual environment is active.

    At the end: anyone who runs programs against a world of their own, as `ghx-twin exec` and tests do, means theirs.
    """
    if shutil.which("gh", path=path):
        return path
    return os.pathsep.join((path, sysconfig.get_path("scripts")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The user a client acts as, and the token it sends."""

    login: str
    name: str
    email: str
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """The addresses and files by which one client reaches a server."""

    url: str  # on TCP, without TLS
    socket_path: Path
    proxy_url: str
    authority: Path  # the certificate that the proxy's own is signed with
    bundle: Path  # the same, with the system's roots


def client_environment(
    directory: Path, *, endpoints: Endpoints, identity: Identity, reachable_hosts: Sequence[str] = ()
) -> ClientEnvironment:
    """Write the configuration of `gh` and `git` into a directory and return the variables that clients go by."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    folders = {variable: directory / name for variable, name in _FOLDERS.items()}
    for folder in folders.values():
        folder.mkdir(mode=0o700, exist_ok=True)
    gh_config = f'version: "1"\nprompt: disabled\ngit_protocol: https\nhttp_unix_socket: {endpoints.socket_path}\n'
    write_private(folders["GH_CONFIG_DIR"] / "config.yml", gh_config)
    write_private(folders["GH_CONFIG_DIR"] / "hosts.yml", _gh_hosts(identity))
    askpass = write_askpass(directory, identity.token, origins=(_GITHUB, endpoints.url)).resolve()
    git_config = folders["HOME"] / ".gitconfig"
    settings = _git_settings(endpoints, identity, askpass)
    write_private(git_config, _as_file(settings))
    variables = {
        **_network_variables(endpoints, reachable_hosts),
        **{variable: str(folder) for variable, folder in folders.items()},
        "GH_TOKEN": identity.token,
        "GITHUB_TOKEN": identity.token,
        "GITHUB_API_URL": GITHUB_URLS.api,
        "GITHUB_GRAPHQL_URL": GITHUB_URLS.graphql,
        "GITHUB_SERVER_URL": GITHUB_URLS.html,
        "GH_PROMPT_DISABLED": "1",
        "GH_NO_UPDATE_NOTIFIER": "1",
        "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
        "GH_TELEMETRY": "0",
        "DO_NOT_TRACK": "1",
        "GH_PAGER": "cat",
        "GIT_PAGER": "cat",
        "NO_COLOR": "1",
        "GIT_CONFIG_GLOBAL": str(git_config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ASKPASS": str(askpass),
        "GIT_TERMINAL_PROMPT": "0",
    }
    # The token goes to the proxy's two origins of github.com, and nowhere else.
    tokens = (_authorize(_GITHUB, identity.token), _authorize("http://github.com", identity.token))
    git_variables = _as_variables((*settings, *tokens))
    return ClientEnvironment(directory=directory, variables=variables, git_variables=git_variables)


def _network_variables(endpoints: Endpoints, reachable_hosts: Sequence[str]) -> dict[str, str]:
    """Return what leads clients to GitHub through the proxy, and lets them trust it there."""
    proxies = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
    exceptions = ",".join((*_THIS_MACHINE, *reachable_hosts))
    # SSL_CERT_FILE is OpenSSL's, which Go, Ruby and Python's own libraries go by on Linux; the others have their own.
    bundles = ("SSL_CERT_FILE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    return {
        **dict.fromkeys(proxies, endpoints.proxy_url),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), exceptions),
        **dict.fromkeys(bundles, str(endpoints.bundle)),
        "NODE_EXTRA_CA_CERTS": str(endpoints.authority),  # extra: the bundle would only slow every start of Node down
        "NODE_USE_ENV_PROXY": "1",
        # The socket is quicker than the proxy, and Go has no SSL_CERT_FILE on macOS; `gh` has it in its configuration.
        "GHX_UNIX_SOCKET": str(endpoints.socket_path),
    }


def _gh_hosts(identity: Identity) -> str:
    return (
        "github.com:\n"
        f"    user: {identity.login}\n"
        f"    oauth_token: {identity.token}\n"
        "    git_protocol: https\n"
        "    users:\n"
        f"        {identity.login}:\n"
        f"            oauth_token: {identity.token}\n"
    )


def _git_settings(endpoints: Endpoints, identity: Identity, askpass: Path) -> GitSettings:
    """Return settings by which git finds github.com, also where an agent keeps variables from its shells.

    No remote is rewritten to the emulator's address: `gh` knows a repository by a remote on github.com.
    """
    return (
        ("user.name", identity.name),
        ("user.email", identity.email),
        ("init.defaultBranch", "main"),
        ("core.askPass", str(askpass)),
        (f"url.{_GITHUB}/.insteadOf", "git@github.com:"),
        (f"url.{_GITHUB}/.insteadOf", "ssh://git@github.com/"),
        (f"http.{_GITHUB}/.proxy", endpoints.proxy_url),
        (f"http.{_GITHUB}/.sslCAInfo", str(endpoints.bundle)),
        ("http.http://github.com/.proxy", endpoints.proxy_url),
        ("credential.helper", ""),
        ("advice.detachedHead", "false"),
    )


def _as_file(settings: GitSettings) -> str:
    """Return settings as the text of a `.gitconfig`."""
    text = ""
    for key, value in settings:
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        heading = f'[{section} "{subsection}"]' if subsection else f"[{section}]"
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        text += f'{heading}\n\t{name} = "{escaped}"\n'
    return text


def _as_variables(settings: GitSettings) -> dict[str, str]:
    """Return settings as `GIT_CONFIG_COUNT` and its pairs.

    Some agents lead git past every file of its user, and keep these variables: without them their git would ask the
    real host. They count before the files of a repository, so they hold only what is the same for every command.
    """
    pairs = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        pairs[f"GIT_CONFIG_KEY_{number}"], pairs[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return pairs


def _authorize(origin: str, token: str) -> tuple[str, str]:
    """Return the setting that sends a token to an origin (`https://github.com`), where nothing answers git's questions.

    A helper would not do: agents that take away `GIT_ASKPASS` also clear the list of helpers.
    """
    return f"http.{origin}/.extraHeader", f"Authorization: Basic {_credentials(token)}"


def _credentials(token: str) -> str:
    return base64.b64encode(f"x-access-token:{token}".encode()).decode()
