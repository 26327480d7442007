"""The mode in which skipping fails, and the choice of async backends, tried on small test suites of their own."""

from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"

SUITE = """
import pytest

def test_that_passes(): pass

@pytest.mark.skip(reason="no time")
def test_skipped_by_a_mark(): pass

@pytest.mark.skipif(True, reason="not this system")
def test_skipped_by_a_condition(): pass

def test_skipped_while_it_runs():
    pytest.skip("no network")

@pytest.mark.parametrize("nothing", [])
def test_without_parameters(nothing): pass

@pytest.mark.xfail(strict=True)
def test_expected_to_fail():
    assert False

def test_of_shared_material(shared): pass
"""

SKIPPED_MODULE = 'import pytest\npytest.skip("no browser", allow_module_level=True)\n'

BACKENDS = """
import pytest, sniffio

pytestmark = pytest.mark.anyio

async def test_on_the_default():
    assert sniffio.current_async_library() == "asyncio"

@pytest.mark.both_backends
async def test_on_both(anyio_backend):
    assert sniffio.current_async_library() == anyio_backend
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A repository with our conftest, and no `shared` next to it."""
    monkeypatch.delenv("GHX_BENCH_NO_SKIPS", raising=False)
    tests = pytester.mkdir("repository") / "tests"
    tests.mkdir()
    (tests.parent / "conftest.py").write_text(CONFTEST.read_text())
    (tests / "test_suite.py").write_text(SUITE)
    return pytester


NIGHTLY = """
import pytest

@pytest.mark.parametrize("case", ["usual", pytest.param("variation", marks=pytest.mark.nightly)])
def test_that_passes(case): pass
"""


def run(suite: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    support = f"pythonpath={CONFTEST.parent / 'tests' / 'support'}"
    return suite.runpytest_subprocess("-p", "no:cacheprovider", "-o", support, "repository/tests", *arguments)


def test_skips_are_skips_unless_told_otherwise(suite: pytest.Pytester) -> None:
    run(suite).assert_outcomes(passed=1, skipped=5, xfailed=1)


def test_without_skips_every_skipped_test_fails_with_its_reason_and_only_shared_is_excused(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GHX_BENCH_NO_SKIPS", "1")

    result = run(suite)

    # What is skipped before it starts shows as an error, which fails a run just as well.
    result.assert_outcomes(passed=1, failed=1, errors=3, skipped=1, xfailed=1)
    for reason in ("no time", "not this system", "no network", "got empty parameter set"):
        result.stdout.fnmatch_lines([f"*skips are not allowed here: {reason}*"])


def test_shared_is_handed_out_where_it_is(suite: pytest.Pytester) -> None:
    suite.mkdir("shared")

    run(suite, "--no-skips", "-k", "shared or passes").assert_outcomes(passed=2)


def test_without_skips_a_skipped_module_fails_the_run(suite: pytest.Pytester) -> None:
    (suite.path / "repository" / "tests" / "test_module.py").write_text(SKIPPED_MODULE)

    result = run(suite, "--no-skips")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*skips are not allowed here: no browser*"])


def test_without_skips_workers_of_xdist_fail_skipped_tests_too(suite: pytest.Pytester) -> None:
    run(suite, "--no-skips", "-n", "1").assert_outcomes(passed=1, failed=1, errors=3, skipped=1, xfailed=1)


def test_async_tests_run_on_asyncio_and_on_both_backends_when_marked(suite: pytest.Pytester) -> None:
    (suite.path / "repository" / "tests" / "test_suite.py").write_text(BACKENDS)

    run(suite, "--strict-markers").assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("words", "passed"),
    [((), 1), (("-m", "nightly"), 1), (("repository/tests/test_nightly.py",), 2)],
)
def test_what_is_for_the_nights_runs_where_it_or_its_file_is_named(
    words: tuple[str, ...], passed: int, suite: pytest.Pytester
) -> None:
    folder = suite.path / "repository" / "tests"
    (folder / "test_suite.py").unlink()
    (folder / "test_nightly.py").write_text(NIGHTLY)

    result = run(suite, *words)

    result.assert_outcomes(passed=passed, deselected=2 - passed)
