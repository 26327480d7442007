"""Find the repository that a folder belongs to, so that it need not be named."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ghx_tools.cli.usage import UsageError

_NAME = r"[A-Za-z0-9._-]+"
_PATH = re.compile(rf"(?:^|/)(?P<owner>{_NAME})/(?P<name>{_NAME}?)(?:\.git)?/?$")
_SCP = re.compile(r"(?:[^/@:]+@)?(?P<host>[^/@:]+):(?P<path>.*)")  # git@github.com:owner/name.git
_FULL_NAME = re.compile(rf"(?:(?P<host>{_NAME}(?::\d+)?)/)?(?P<owner>{_NAME})/(?P<name>{_NAME})")
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HTTP = frozenset({"http", "https"})
_OTHER_NAMES = ("ssh.", "www.")  # such as ssh.github.com, for those whose port 22 is closed


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A parsed address of a git remote; `host` is empty for a folder, and has a port where that tells servers apart."""

    host: str
    repository: tuple[str, str] | None
    by_ssh: bool = False


def default_repository(environ: Mapping[str, str], folder: Path) -> tuple[str, str] | None:
    """Return owner and name of the repository that is meant where none is named.

    That is what `GH_REPO` says, then the remote `origin` of the folder, then `GITHUB_REPOSITORY`. An `origin` that is
    not at the GitHub in use says nothing about it; raises `UsageError` where there is nothing else to go by.
    """
    repository = full_name(environ.get("GH_REPO", ""), environ)
    if repository is not None:
        return repository
    otherwise = full_name(environ.get("GITHUB_REPOSITORY", ""), environ)
    written = _run_program(["git", "-C", str(folder), "config", "--get", "remote.origin.url"], environ)
    if not written:
        return otherwise
    hosts = _hosts_in_use(environ)
    for remote in _interpret(written, folder, environ):
        if _is_one_of(remote.host, hosts):
            return remote.repository or otherwise
    if otherwise is None:
        host = read_remote(written).host
        raise UsageError(
            f"the remote `origin` is {f'at {host}' if host else 'a folder'}, not at {hosts[0]}, and is not taken for "
            "the repository; name one with -R owner/name, or another GitHub with GH_HOST"
        )
    return otherwise


def full_name(text: str, environ: Mapping[str, str] = os.environ) -> tuple[str, str] | None:
    """Return owner and name of `owner/name`, or of `host/owner/name` as `gh` takes it, at the GitHub in use."""
    read = _FULL_NAME.fullmatch(text.strip())
    if read is None:
        return None
    if read["host"] and not _is_one_of(read["host"].lower(), hosts := _hosts_in_use(environ)):
        raise UsageError(f"{text.strip()} is not at {hosts[0]}; set GH_HOST to {read['host']}, or write owner/name")
    return read["owner"], read["name"]


def read_remote(address: str) -> Remote:
    """Return the address of a remote, parsed: over HTTP, over ssh in either form, or a folder."""
    address = address.strip()
    scheme, separator, rest = address.partition("://")
    scp = None if separator else _SCP.fullmatch(address)
    if separator and (host := _host_of(address)):
        return Remote(host=host, repository=_repository_in(rest.partition("/")[2]), by_ssh=scheme not in _HTTP)
    if scp:
        return Remote(host=scp["host"].lower(), repository=_repository_in(scp["path"]), by_ssh=True)
    return Remote(host="", repository=None)


def _interpret(written: str, folder: Path, environ: Mapping[str, str]) -> Iterator[Remote]:
    """Yield what `origin` may mean: its address as written, then as `insteadOf` or the settings of ssh change it."""
    # As written comes first: `insteadOf` is how a server that stands in for GitHub is often put in its place.
    for address in (written, _run_program(["git", "-C", str(folder), "ls-remote", "--get-url", "origin"], environ)):
        remote = read_remote(address)
        yield remote
        if remote.by_ssh and _ALIAS.fullmatch(remote.host):
            settings = _run_program(["ssh", "-G", remote.host], environ)
            real = re.search(r"^hostname (.+)$", settings, re.MULTILINE)
            if real:
                yield Remote(host=real[1].strip().lower(), repository=remote.repository, by_ssh=True)


def _repository_in(path: str) -> tuple[str, str] | None:
    read = _PATH.search(path)
    return (read["owner"], read["name"]) if read else None


def _host_of(url: str) -> str:
    """Return the host of an address, with its port if it is this machine, which may have many servers."""
    try:
        place = urlsplit(url)
        host, port = (place.hostname or "").rstrip("."), place.port
    except ValueError:
        return ""
    return f"{host}:{port}" if port and _is_this_machine(host) else host


def _is_this_machine(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _hosts_in_use(environ: Mapping[str, str]) -> Sequence[str]:
    """Return the hosts whose repositories are those that we ask about.

    A server on this machine, or behind a socket, stands in for the host that `GH_HOST` names, github.com by default.
    """
    from ghx_tools.capabilities.environment import connection_from_environment

    connection = connection_from_environment(environ)
    host = _host_of(connection.api_url)
    hosts = (host.removeprefix("api."), host)
    stands_in = connection.socket_path is not None or _is_this_machine(urlsplit(connection.api_url).hostname or "")
    return (connection.host.lower(), *hosts) if stands_in else hosts


def _is_one_of(host: str, hosts: Sequence[str]) -> bool:
    return any(host.removeprefix(prefix) in hosts for prefix in ("", *_OTHER_NAMES))


def _run_program(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the output of a program; nothing if it fails, or is not there."""
    import subprocess

    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(environ), timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
