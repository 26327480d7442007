"""What all tests share: the `shared` folder, the async backends, hypothesis, and the mode in which skipping fails.

`GHX_BENCH_NO_SKIPS=1` (or `--no-skips`) turns every skipped test into a failed one that tells the reason. One reason
is excused: the `shared` fixture did not find its folder, which lies beside the repository and not in it.
"""

import gc
import os
import tempfile
from collections.abc import Callable, Generator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from programs import mark_of
from random_seed import VARIABLE, random_seed

pytest_plugins = ["pytester"]

SHARED = Path(__file__).parents[0].parent / "shared"
OLDER_TOOLS = [
    each for each in (Path(__file__).parent / "tests" / "data" / "older_tools", SHARED / "compat") if each.is_dir()
]
SERVING = {"bench", "capabilities", "cli", "eval", "mcp_server", "real_agents", "twin"}
"""The folders with tests in which a server runs beside the test."""
PLUGIN = "ghx-twin"
SHARED_IS_MISSING = "../shared is not there"
MARKS = {
    "both_backends": "run this async test on asyncio and on trio",
    "process": "starts programs of this project, or Python; found by what the test refers to, see `programs`",
    "client": "drives programs of others (gh, git over HTTP, Node, MCP servers); found like `process`",
    "browser": "drives a browser",
    "agents": "runs real agents or tools of others, installed for that, or takes long to install; only with --agents",
    "slow": "computes for seconds, though it starts nothing",
    "nightly": "a variation, or long: only at night, with -m nightly, or where its file is named",
}
SLOW = ("agents", "process", "client", "browser", "slow", "nightly")
MEMORY, LEAST_MEMORY = Path("/dev/shm"), 4 << 30
"""Where temporary files are if there is room for those of a run, up to 1 GB. Tests make and remove thousands of small
ones: on a disk this took a quarter more CPU, and they had to wait for it."""
UNHURRIED_S = 900
"""How long a test may take that waits for other programs: on a busy machine, ten times as long as on a quiet one."""

# Millions of objects are made while tests are collected, and stay: looking for garbage among them took a quarter of
# that time, and up to a second each time that it was done later.
gc.disable()

if MEMORY.is_dir() and "TMPDIR" not in os.environ:
    room = os.statvfs(MEMORY)
    # Programs that tests write are run where they are, which the memory of many containers does not allow.
    if room.f_bavail * room.f_frsize > LEAST_MEMORY and not room.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

settings.register_profile("local", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), database=None, print_blob=True)
settings.register_profile("quick", settings.get_profile("local"), max_examples=10)
settings.register_profile("nightly", settings.get_profile("ci"), max_examples=100)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference material beside the repository; the test is skipped where there is none."""
    if not SHARED.is_dir():
        pytest.skip(SHARED_IS_MISSING)
    return SHARED


@pytest.fixture
def usual_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have temporary files where most users have them, for tests of what is done with /tmp."""
    monkeypatch.setenv("TMPDIR", "/tmp")
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture(scope="session", params=OLDER_TOOLS, ids=lambda folder: folder.name)
def older_tools(request: pytest.FixtureRequest) -> Path:
    """A folder with files of the TypeScript packages: samples of our own, and real ones where they are beside us."""
    return request.param


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """asyncio for every `@pytest.mark.anyio` test; `@pytest.mark.both_backends` adds trio."""
    return "asyncio"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--agents", action="store_true", help="run the tests that install and run real agents, too")
    parser.addoption("--no-skips", action="store_true", help="fail tests that would be skipped")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = random_seed()
    # Not by its name in the settings: tests of a package also run where the emulator is not installed.
    if find_spec("ghx_twin") and not config.pluginmanager.has_plugin(PLUGIN):
        config.pluginmanager.register(import_module("ghx_twin.pytest_plugin"), PLUGIN)
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    if config.getoption("no_skips") or os.environ.get("GHX_BENCH_NO_SKIPS", "0") not in {"", "0"}:
        config.pluginmanager.register(NoSkips(), "no-skips")


def pytest_report_header() -> str:
    return f"random seed: {random_seed()} (set {VARIABLE} to draw with another one)"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker("both_backends"):
        metafunc.parametrize("anyio_backend", ["asyncio", "trio"], scope="module")


def _wants_nightly(config: pytest.Config) -> bool:
    """Return whether tests for the nights are asked for, or files by their names."""
    return "nightly" in config.option.markexpr or any(each.partition("::")[0].endswith(".py") for each in config.args)


_WANTED: dict[str, Callable[[pytest.Config], object]] = {
    "agents": lambda config: config.getoption("agents"),
    "nightly": _wants_nightly,
}
"""When tests with a mark are not left out."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that start programs, before any of them is deselected by its mark."""
    left_out = [name for name, wanted in _WANTED.items() if not wanted(config)]
    others = [item for item in items if any(item.get_closest_marker(name) for name in left_out)]
    config.hook.pytest_deselected(items=others)
    gone = set(others)
    items[:] = [item for item in items if item not in gone]
    for item in items:
        mark = mark_of(item)
        if mark is not None:
            item.add_marker(mark)
        if any(item.get_closest_marker(name) for name in SLOW):
            item.add_marker(pytest.mark.timeout(UNHURRIED_S))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Load the emulator's GraphQL before any server does so in a thread; see `graphql.load`."""
    root = session.config.rootpath
    if any(
        SERVING.intersection(item.path.relative_to(root).parts) for item in session.items if root in item.path.parents
    ):
        from ghx_twin.server import graphql

        graphql.load()
    gc.freeze()
    gc.enable()


class NoSkips:
    """Turns skips into failures, of single tests and of whole modules."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        # An expected failure also reports as skipped, but it ran.
        if not hasattr(report, "wasxfail"):
            _refuse_skip(report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        _refuse_skip(report)
        return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped:
        return
    _, _, message = report.longrepr
    reason = message.removeprefix("Skipped: ")
    if reason != SHARED_IS_MISSING:
        report.outcome = "failed"
        report.longrepr = f"skipped, and skips are not allowed here: {reason}"
