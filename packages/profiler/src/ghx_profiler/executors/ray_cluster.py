"""Ray: connecting to a cluster or starting one, and an actor on each of its nodes."""

import logging
import os
import secrets
import signal
import socket
import threading
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib import import_module
from itertools import count
from typing import Any

from ghx_base.extras import require_extra
from ghx_base.files.scratch import SHORT_PLACE, ScratchFolder
from ghx_base.problems import one_line
from ghx_profiler.errors import ClusterError
from ghx_profiler.executors.ray_node import NodeActor
from ghx_profiler.records.causes import describe_error

NO_NODE = "the Ray cluster has no node with a processor; start one with `ray start --address=...`"
_CONNECT_S = 10.0
_LOOPBACK = ("127.0.0.1", "localhost")
_STORE_BYTES = 200 << 20
"""Memory for what is too large to be sent directly: recorded traffic and worlds of a few cells at a time."""
_CALLS = 16
"""How many calls of an actor may be on their way; cells are not calls, but are started and reported by calls."""


@contextmanager
def connect(address: str | None) -> Generator[Any]:
    """Hold a connection to a cluster, or to one that is started here and ends with the block."""
    require_cluster(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray: Any = import_module("ray")
    if ray.is_initialized():
        yield ray
        return
    with ExitStack() as stack:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address is None:
            # In a short place: the names of Ray's sockets must fit into 107 characters.
            folder = stack.enter_context(ScratchFolder(SHORT_PLACE))
            stack.enter_context(_private_token())
            where = {"address": "local", "_temp_dir": str(folder), "_node_ip_address": "127.0.0.1"}
            size = {"num_cpus": 1, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
            options: dict[str, Any] = {**quiet, **where, **size}
        else:
            options = {**quiet, "address": address, **_find_own_address(address)}
        stack.callback(ray.shutdown)
        try:
            with _keep_signal_handler(signal.SIGTERM):
                ray.init(**options)
        except ConnectionError as error:
            # Where `auto` finds none, Ray's own words are about flags of its commands.
            raise ClusterError(
                f"--ray-address {address}: there is no cluster; start one with `ray start --head`, or name its host "
                "and port"
            ) from error
        except Exception as error:
            # What Ray raises is of many kinds: of a connection, of versions, of files.
            raise ClusterError(f"{_name_address(address)}: {one_line(describe_error(error))}") from error
        yield ray


def _name_address(address: str | None) -> str:
    return "Ray cannot be started here" if address is None else f"--ray-address {address}: the cluster cannot be used"


def require_cluster(address: str | None) -> None:
    """Refuse an address without a cluster: Ray itself would try for a minute, and then end this process."""
    require_extra("ray", for_what="the executor ray")
    if address == "auto":
        # Where it is not set, Ray looks for a cluster on this machine, and fails at once without one.
        address = os.environ.get("RAY_ADDRESS")
    if address is None or address == "auto":
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        raise ClusterError(f"--ray-address {address}: expected `auto`, or host and port, as in 10.0.0.5:6379")
    try:
        _try(host, port)
    except OSError as error:
        raise ClusterError(
            f"--ray-address {address}: no cluster answers there ({error.strerror or error}); start one with "
            "`ray start --head`"
        ) from error


def _find_own_address(address: str) -> dict[str, str]:
    """Return what has Ray use the loopback interface, where a cluster serves nowhere else.

    Of 127.0.0.1, Ray makes the address of this machine, and if no cluster is there, it tries that for minutes.
    """
    host, _, port = address.rpartition(":")
    if host not in _LOOPBACK:
        return {}
    own: str = import_module("ray.util").get_node_ip_address()
    with suppress(OSError):
        _try(own, port)
        return {}
    return {"_node_ip_address": "127.0.0.1"}


def _try(host: str, port: str) -> None:
    socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()


@contextmanager
def _keep_signal_handler(number: int) -> Generator[None]:
    """Keep the handler of a signal, which Ray replaces: ours stops a run in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(number)
    try:
        yield
    finally:
        signal.signal(number, handler)


@cache
def _token() -> str:
    # The same for all clusters of this process: Ray reads it once.
    return secrets.token_hex(32)


@contextmanager
def _private_token() -> Generator[None]:
    """Make Ray refuse other users of this machine, without writing a token into the user's home."""
    names = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
    if any(name in os.environ for name in names):
        yield
        return
    # Ray listens on all interfaces. That it asks for a token where one is set is so since 2.59 only.
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _token()}
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)


@contextmanager
def start_actors(ray: Any) -> Generator[Mapping[str, tuple[str, Any]]]:
    """Hold an actor on each node that has processors, by the names that rows have."""
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    if not nodes:
        raise ClusterError(NO_NODE)
    affinity: Any = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    # Ray must neither start it again nor repeat calls: what an attempt has spent would be spent twice, unseen.
    options = {
        "num_cpus": 0,
        "max_restarts": 0,
        "max_task_retries": 0,
        "max_concurrency": _CALLS,
    }
    kind, actors = ray.remote(NodeActor), dict[str, tuple[str, Any]]()
    try:
        for name, node in name_nodes(nodes):
            place = affinity(node["NodeID"], soft=False)
            actors[name] = node["NodeID"], kind.options(**options, scheduling_strategy=place).remote()
        yield actors
    finally:
        for _, actor in actors.values():
            ray.kill(actor)


def name_nodes(nodes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield nodes with their names: those of their hosts, numbered where one has several."""
    hosts = Counter[str](node["NodeManagerHostname"] for node in nodes)
    numbers = {host: count(1) for host in hosts}
    for node in nodes:
        name = host = node["NodeManagerHostname"]
        # Numbered until it is new: another host may be called as a numbered one would be.
        while hosts[host] > 1 and name in hosts:
            name = f"{host}-{next(numbers[host])}"
        yield name, node
