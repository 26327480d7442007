"""The wheel in an environment of its own, without extras: light, and a run in it ends with its table."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_MEGABYTES = 120
HEAVY = ("altair", "numpy", "scipy", "vl_convert")


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of programs of an environment with the wheel and what it needs, and nothing else."""
    uv = shutil.which("uv") or shutil.which("uv", path=sysconfig.get_path("scripts"))
    if uv is None:
        pytest.skip("uv is not there")
    folder = tmp_path_factory.mktemp("light")
    source = folder / "source"
    names = ("src", "pyproject.toml", "README.md", "LICENSE", "requirements.lock")
    source.mkdir()
    for name in names:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    python = folder / "venv" / "bin" / "python"
    for arguments in (
        ("build", "--wheel", "--build-constraints", "requirements.lock", "--out-dir", str(folder / "dist"), "."),
        ("venv", "--python", sys.executable, str(folder / "venv")),
    ):
        subprocess.run([uv, *arguments], cwd=source, capture_output=True, check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    install = ("pip", "install", "--python", str(python), "--constraint", "requirements.lock", str(wheel))
    result = subprocess.run([uv, *install], cwd=source, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"the wheel cannot be installed here: {result.stderr.strip().splitlines()[-1]}")
    return python.parent


def run(light: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{light}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
    command = [str(light / arguments[0]), *arguments[1:]]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_installation_is_light(light: Path) -> None:
    files = [each for each in light.parent.rglob("*") if each.is_file() and not each.is_symlink()]
    # Bytecode is written when something is used, and does not count.
    size = sum(each.stat().st_size for each in files if each.suffix != ".pyc")

    assert {each.name for each in light.parent.rglob("site-packages/*")}.isdisjoint(HEAVY)
    assert size < MOST_MEGABYTES * 1_000_000


def test_a_run_ends_with_its_table_and_says_what_to_install_for_more(light: Path, tmp_path: Path) -> None:
    assert run(light, "ghx-bench", "init", "mine", cwd=tmp_path).returncode == 0

    result = run(light, "ghx-bench", "run", "--repetitions", "1", cwd=tmp_path / "mine")

    assert result.returncode == 0, result.stderr
    directory = next((tmp_path / "mine" / "results").iterdir()).relative_to(tmp_path / "mine")
    *_, last = result.stdout.splitlines()
    assert "baseline  1/1" in result.stdout
    assert last == f"for verdicts and a report: pip install 'ghx-bench[report]', then ghx-bench report {directory}"
    # Everything else about a run works without the extra.
    for command in (["show", str(directory)], ["analyze", str(directory)], ["check"], ["list", "agents"]):
        assert run(light, "ghx-bench", *command, cwd=tmp_path / "mine").returncode == 0


@pytest.mark.parametrize("arguments", [("report", "."), ("plan", "--effect", "20")], ids=lambda each: each[0])
def test_what_needs_the_extra_says_so_in_one_line(light: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = run(light, "ghx-bench", *arguments, cwd=tmp_path)

    assert result.returncode == 2
    needs = "needs the extra 'report': install it with `pip install 'ghx-bench[report]'`"
    assert result.stderr == f"error: a {arguments[0]} {needs}\n"


def test_statistics_as_a_library_say_the_same(light: Path, tmp_path: Path) -> None:
    script = "from ghx_bench.profiler.stats import compare_modes"
    result = run(light, "python", "-c", script, cwd=tmp_path)

    assert "ghx_bench.profiler.stats.compare_modes needs the extra 'report'" in result.stderr


def test_the_twin_serves_gh(light: Path, tmp_path: Path) -> None:
    result = run(light, "ghx-twin", "exec", "--", "gh", "api", "user", "--jq", ".login", cwd=tmp_path)

    assert (result.returncode, result.stdout.strip()) == (0, "octocat"), result.stderr
