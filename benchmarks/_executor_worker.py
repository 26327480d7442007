"""Runs our own suite once with an executor; prints when its first cell began and its last row was there, and memory."""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import anyio
import psutil

from _bench_worker import build_instruments
from ghx_profiler.config import Execution, Output, ProfileConfig
from ghx_profiler.events import CellFinished, CellStarted, Event
from ghx_profiler.evidence import Mode
from ghx_profiler.profile import Profile
from ghx_profiler.scenario import BaseScenario

NODES = 2
EARLY = 1000
"""After how many cells memory is measured first."""


class Watch:
    """Notes when cells begin and end, by a clock that all processes of the machine share."""

    def __init__(self) -> None:
        self.first = self.last = 0.0
        self.done = 0
        self.early_bytes = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, CellStarted) and not self.first:
            self.first = time.time()
        elif isinstance(event, CellFinished):
            self.last, self.done = time.time(), self.done + 1
            if self.done == EARLY:
                self.early_bytes = psutil.Process().memory_info().rss


@contextmanager
def cluster() -> Generator[None]:
    """Hold a Ray cluster whose nodes are all here, with this process as its driver."""
    with tempfile.TemporaryDirectory(prefix="ghx-", dir="/tmp") as folder:
        Path(folder, "ray").mkdir()
        os.environ |= {"RAY_TMPDIR": folder, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
        import ray  # noqa: PLC0415 - what is measured without it does not load it
        from ray.cluster_utils import Cluster  # noqa: PLC0415 - the same

        size = {"object_store_memory": 100 << 20, "include_dashboard": False}
        here = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **size})
        try:
            for _ in range(NODES):
                here.add_node(num_cpus=1, **size)
            ray.init(address=here.address, log_to_driver=False, logging_level="ERROR")
            yield
        finally:
            ray.shutdown()
            here.shutdown()


async def measure(given: argparse.Namespace) -> None:
    profile = Profile(
        scenarios=[
            BaseScenario(id=f"s{n}", name=f"Scenario {n}", description="x", prompt="6 x 7?", timeout_ms=60_000)
            for n in range(given.scenarios)
        ],
        modes=[Mode(name="baseline")],
        instruments=build_instruments(given.sleep),
    )
    execution = Execution(
        repetitions=given.repetitions,
        warmup=False,
        max_concurrency=given.concurrency,
        executor=given.executor,
        shard=given.shard,
    )
    config = ProfileConfig(modes=("baseline",), execution=execution, output=Output(results_dir=given.results))
    watch = Watch()
    with cluster() if given.executor == "ray" else nullcontext():
        result = await profile.run(config, observers=[watch], build_instruments=partial(build_instruments, given.sleep))
        end_bytes = psutil.Process().memory_info().rss
    if result.measured != result.total:
        raise SystemExit(f"only {result.measured} of {result.total} cells could be measured")
    told = {"first": watch.first, "last": watch.last, "earlyBytes": watch.early_bytes, "endBytes": end_bytes}
    print(json.dumps({**told, "directory": str(result.directory)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in (("scenarios", int), ("repetitions", int), ("concurrency", int), ("sleep", float)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--executor", choices=("local", "ray"), default="local")
    parser.add_argument("--shard")
    parser.add_argument("--results", type=Path, required=True)
    anyio.run(measure, parser.parse_args())


if __name__ == "__main__":
    main()
