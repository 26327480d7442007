"""What is refused before Ray is started or reached; nothing here starts it."""

import socket
from pathlib import Path
from typing import Any

import pytest
from profiler_fakes import FakeProvider, answers_three, config, profile

from ghx_base import extras
from ghx_profiler.config import Execution, ProfileConfig
from ghx_profiler.errors import ClusterError
from ghx_profiler.events import Event
from ghx_profiler.executors import LocalExecutor, RayExecutor
from ghx_profiler.plan.blocks import Message
from ghx_profiler.suite import executor_of, sends_spec
from ghx_profiler.testing.executors import SampleSpec

pytestmark = pytest.mark.anyio


async def ignore(_message: Message) -> None:
    pass


async def open_and_leave(address: str) -> None:
    async with RayExecutor(address=address).open(SampleSpec(), ignore):
        pass


async def test_an_address_where_nobody_answers_is_refused_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(ClusterError, match="no cluster answers there") as caught:
            await open_and_leave(address)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["ray://10.0.0.5:10001", "10.0.0.5", "10.0.0.5:", ":6379", "here"])
async def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ClusterError, match=r"expected `auto`, or host and port"):
        await open_and_leave(address)


async def test_a_run_on_a_cluster_that_is_not_there_does_not_begin(tmp_path: Path) -> None:
    settings, told = config(tmp_path, execution={"executor": "ray", "ray_address": "here"}), list[Event]()

    with pytest.raises(ClusterError):
        await profile(FakeProvider(answers_three)).run(settings, observers=[told.append])

    assert not list(tmp_path.iterdir())
    assert not told


async def test_without_the_extra_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _name: None)

    with pytest.raises(extras.MissingExtraError, match=r"needs the extra 'ray': install it with `.* 'ray<3,>=2.52'`"):
        await open_and_leave("auto")


def test_the_configuration_says_where_cells_run() -> None:
    on_ray: Any = executor_of(Execution(executor="ray", ray_address="auto", max_concurrency=7))

    assert executor_of(Execution(max_concurrency=3)) == LocalExecutor(3)
    assert on_ray == RayExecutor(address="auto", max_concurrency=7)
    assert executor_of(Execution(ray_address="auto", max_concurrency=7)) == on_ray
    assert sends_spec(on_ray)


def test_an_address_that_is_not_used_is_noted() -> None:
    config = ProfileConfig.model_validate(
        {"modes": ["plain"], "execution": {"executor": "local", "ray_address": "auto"}}
    )

    assert any("execution.ray_address is not used" in note for note in config.notes())
