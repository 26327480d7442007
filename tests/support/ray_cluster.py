"""A Ray cluster on this machine, whose nodes can be taken away."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from ray.cluster_utils import Cluster

_SIZE = {"object_store_memory": 80 << 20, "include_dashboard": False}
_HEALTH = {"health_check_period_ms": 1000, "health_check_failure_threshold": 5}
"""A node that is gone is noticed within seconds, and one on a busy machine is not taken for that."""


class SmallCluster:
    """A head that measures nothing, and nodes that do."""

    def __init__(self) -> None:
        self.starts = subprocess.Popen  # what Ray does: for the mark of tests that use it
        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": _HEALTH, **_SIZE}
        )
        self.address: str = self._cluster.address

    @property
    def nodes(self) -> list[Any]:
        return list(self._cluster.worker_nodes)

    def have_nodes(self, count: int) -> None:
        """Add nodes until there are that many."""
        while len(self.nodes) < count:
            self._cluster.add_node(num_cpus=1, **_SIZE)

    def kill_node(self) -> None:
        """Take a node away without a warning."""
        self._cluster.remove_node(self.nodes[0], allow_graceful=False)

    def shutdown(self) -> None:
        ray.shutdown()
        self._cluster.shutdown()


@contextmanager
def small_cluster() -> Generator[SmallCluster]:
    """Hold a cluster that this process is connected to; whatever happens, none of its processes is left."""
    # In a short place, since names of sockets are: 107 characters.
    folder = tempfile.mkdtemp(prefix="ghx-", dir="/tmp")
    Path(folder, "ray").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "RAY_AUTH_MODE": "disabled",
            "RAY_TMPDIR": folder,
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }.items():
            patch.setenv(name, value)
        before = {each.pid for each in psutil.Process().children(recursive=True)}
        cluster: SmallCluster | None = None
        try:
            cluster = SmallCluster()
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
            yield cluster
        finally:
            if cluster is not None:
                cluster.shutdown()
            for child in psutil.Process().children(recursive=True):
                if child.pid not in before and "ray" in " ".join(child.cmdline()):
                    child.kill()
            shutil.rmtree(folder, ignore_errors=True)


def wait_until_no_worker_is_left() -> None:
    """Wait until the processes of actors are gone; the mark's timeout is what ends this otherwise."""
    while any("NodeActor" in " ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])):
        time.sleep(0.05)
