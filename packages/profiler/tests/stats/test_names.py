import subprocess
import sys

import pytest

from ghx_profiler import stats


def test_importing_the_statistics_and_the_plan_does_not_import_numpy() -> None:
    code = (
        "import sys; import ghx_profiler, ghx_profiler.stats; "
        "from ghx_profiler.stats.plan import AnalysisPlan; from ghx_profiler.stats import AnalysisPlan; "
        "import ghx_profiler.stats.result_records; AnalysisPlan(); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy')))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_statistics_load_scipy_special_but_not_the_slow_scipy_stats() -> None:
    code = (
        "import sys; from ghx_profiler.stats import *; "
        "sys.exit('numpy' not in sys.modules or 'scipy.stats' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", stats.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(stats, name).__module__.startswith(stats.__name__)


def test_public_names_are_sorted_and_an_unknown_one_is_an_attribute_error() -> None:
    assert list(stats.__all__) == sorted(stats.__all__)
    assert set(stats.__all__) <= set(dir(stats))
    with pytest.raises(AttributeError, match="no attribute 'mean'"):
        stats.mean  # noqa: B018 - the access is the test
