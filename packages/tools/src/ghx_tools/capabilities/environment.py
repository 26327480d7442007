"""Find the GitHub and the token to use, by the variables and settings that `gh` and GitHub's own runners go by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from ghx_base.errors import InputError
from ghx_base.problems import shortened
from ghx_tools.capabilities.app_installation import AppInstallation
from ghx_tools.capabilities.client import GitHubClient, graphql_url_beside, needs_no_tls, transport_for

GITHUB = "github.com"
_INSTEAD = "leave it out, the token goes into GITHUB_TOKEN"
_TOKEN_VARIABLES = ("GH_TOKEN", "GITHUB_TOKEN")  # in the order of `gh`
_APP_VARIABLES = ("GHX_APP_ID", "GHX_APP_PRIVATE_KEY_FILE", "GHX_APP_INSTALLATION_ID")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The addresses of a GitHub and the token to use; `socket_path` is a unix socket that leads there without TLS."""

    host: str
    api_url: str
    graphql_url: str
    socket_path: str | None = None
    token: str | None = field(default=None, repr=False)
    token_source: str | None = None
    app: AppInstallation | None = None  # instead of a token


def client_from_environment(environ: Mapping[str, str]) -> GitHubClient:
    """Return a client for the GitHub that these variables, or the settings of `gh`, name."""
    connection = connection_from_environment(environ)
    return GitHubClient(
        connection.api_url,
        connection.token,
        app=connection.app,
        graphql_url=connection.graphql_url,
        transport=transport_for(connection.api_url, socket_path=connection.socket_path),
    )


def blocking_client_from_environment(environ: Mapping[str, str]) -> GitHubClient | None:
    """Return a client whose coroutines need no event loop; `None` if GitHub is behind TLS, which takes one."""
    from ghx_tools.capabilities.transports.blocking import (  # noqa: PLC0415 - of use to `ghx run` alone
        BlockingTransport,
        sleep_blocking,
    )

    connection = connection_from_environment(environ)
    if not needs_no_tls(connection.api_url, socket_path=connection.socket_path):
        return None
    return GitHubClient(
        connection.api_url,
        connection.token,
        app=connection.app,
        graphql_url=connection.graphql_url,
        transport=BlockingTransport(socket_path=connection.socket_path),
        sleep=sleep_blocking,
    )


def connection_from_environment(environ: Mapping[str, str]) -> Connection:
    """Return the connection that a named socket or address gives, otherwise that of the host that `gh` uses."""
    host = _host(environ)
    app = _app(environ)
    token, source = _token(environ, host) if app is None else (None, _APP_VARIABLES[0])
    socket_path = environ.get("GHX_UNIX_SOCKET") or None
    if socket_path is None and environ.get("GITHUB_API_URL"):
        api_url = _address(environ, "GITHUB_API_URL")
    else:
        socket_path = socket_path or _setting(_gh_folder(environ) / "config.yml", "http_unix_socket")
        # github.com and its tenants at ghe.com have the API on a host of its own, enterprise servers below /api/v3.
        has_api_host = host == GITHUB or host.endswith(".ghe.com")
        # Also through a socket, where nothing is encrypted: pages link to each other by these addresses, and the token
        # is for those that begin with ours.
        api_url = f"https://api.{host}" if has_api_host else f"https://{host}/api/v3"
    graphql_url = graphql_url_beside(api_url)
    if socket_path is None and environ.get("GITHUB_GRAPHQL_URL"):
        graphql_url = _address(environ, "GITHUB_GRAPHQL_URL")
    return Connection(
        host=host,
        api_url=api_url,
        graphql_url=graphql_url,
        socket_path=socket_path,
        token=token,
        token_source=source,
        app=app,
    )


def _host(environ: Mapping[str, str]) -> str:
    host = environ.get("GH_HOST", "").strip() or GITHUB
    if "@" in host:
        raise InputError(f"GH_HOST holds a user name or password; {_INSTEAD}")
    if any(each in host for each in "/\\?#") or not _leads_somewhere(f"https://{host}"):
        raise InputError(f"GH_HOST is {shortened(host)}, which is no host; write {GITHUB} or leave it out")
    return host


def _address(environ: Mapping[str, str], variable: str) -> str:
    value = environ[variable].strip().rstrip("/")
    if "@" in value.partition("://")[2].partition("/")[0]:
        raise InputError(f"{variable} holds a user name or password; {_INSTEAD}")
    if not _leads_somewhere(value):
        raise InputError(
            f"{variable} is {shortened(value)}, which is no address; write https://api.{GITHUB} or leave it out"
        )
    return value


def _leads_somewhere(url: str) -> bool:
    """Return whether an address names a host, and a possible port."""
    try:
        place = urlsplit(url)
        has_place = bool(place.hostname) and place.port != 0
    except ValueError:
        return False
    return has_place and place.scheme in {"http", "https"} and not any(each.isspace() for each in url)


def _token(environ: Mapping[str, str], host: str) -> tuple[str | None, str | None]:
    for variable in _TOKEN_VARIABLES:
        if environ.get(variable, "").strip():
            return _check_token(environ[variable].strip(), variable), variable
    file = _gh_folder(environ) / "hosts.yml"
    token = _setting(file, "oauth_token", inside=host)
    return (None, None) if token is None else (_check_token(token, str(file)), str(file))


def _app(environ: Mapping[str, str]) -> AppInstallation | None:
    """Return the installation of a GitHub App that the variables name; all of them or none must be there."""
    settings = {name: environ.get(name, "").strip() for name in _APP_VARIABLES}
    missing = [name for name, value in settings.items() if not value]
    if len(missing) == len(settings):
        return None
    if missing:
        raise InputError(
            f"a GitHub App needs {', '.join(_APP_VARIABLES)}; "
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set"
        )
    app_id, key, installation = settings.values()
    if not installation.isascii() or not installation.isdigit():
        raise InputError(f"{_APP_VARIABLES[2]} is {shortened(installation)}, which is no number")
    return AppInstallation(app_id=app_id, private_key_file=Path(key), installation_id=int(installation))


def _check_token(token: str, source: str) -> str:
    # A line break would end the header that the token is in. The message names the source, never the token.
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InputError(f"the token in {source} holds characters that no token has; copy it again")
    return token


def _gh_folder(environ: Mapping[str, str]) -> Path:
    if environ.get("GH_CONFIG_DIR"):
        return Path(environ["GH_CONFIG_DIR"])
    if environ.get("XDG_CONFIG_HOME"):
        return Path(environ["XDG_CONFIG_HOME"]) / "gh"
    return Path(environ.get("HOME", "~")).expanduser() / ".config" / "gh"


def _setting(file: Path, name: str, *, inside: str | None = None) -> str | None:
    """Return one setting of `gh`; `None` if the file is not there or cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if name not in text:  # spares the import below
        return None
    import yaml  # noqa: PLC0415 - slow, and most environments name everything by variables

    try:
        settings = cast("object", yaml.safe_load(text))
    except yaml.YAMLError:
        return None
    for key in (name,) if inside is None else (inside, name):
        settings = cast("Mapping[str, object]", settings).get(key) if isinstance(settings, dict) else None
    return str(settings).strip() or None if isinstance(settings, str) else None
