"""Every install line of README and docs works in a clean environment, and so does every one that a command prints."""

import json
import re
from pathlib import Path

import pytest
from install_lines import ADDRESS, INSTALL_PAGE, ROOT, asks_an_index, documented_install_lines, find_install_lines
from installations import Machine, copy_repository
from nightly import mostly_nightly
from once import once

TEXTS = sorted(
    [
        *ROOT.glob("*.md"),
        ROOT / "action.yml",
        *(ROOT / "docs").rglob("*.md"),
        *(path for path in (ROOT / "examples").rglob("*") if path.suffix in {".md", ".py", ".yaml", ".yml", ".sh"}),
        *(ROOT / "packages").glob("*/src/**/*.py"),
    ]
)
ALL = {"report", "agents", "loop", "tokens"}
TOOLS = {"tools": [{"name": "get_issue", "description": "Get an issue.", "inputSchema": {"type": "object"}}]}
INSTALLED = {
    "pip": "uv pip install .",
    "pip, editable": "uv pip install --editable .",
    "pip, wheel": "uv pip install ../wheel/*.whl",
    "pip, git address": 'uv pip install "ghx-bench @ git+$GHX_BENCH@main"',
    "pipx": "pipx install .",
    "uv pip": "uv pip install .",
    "uv tool": "uv tool install .",
    "uv tool, editable": "uv tool install --editable .",
    "uv tool, wheel": "uv tool install ../wheel/*.whl",
    "uv tool, git address": 'uv tool install "ghx-bench @ git+$GHX_BENCH@main"',
    "uvx": "uvx --from . ghx-bench --version",
}
"""How an environment without extras is made; "pip" means that pip is in it."""
QUICK = ("pip", "pipx", "uv tool")


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a checkout, a project that has it as a submodule, and a wheel."""
    return once(tmp_path_factory, "repository-to-install", copy_repository)


@pytest.fixture
def machine(repository: Path, tmp_path: Path) -> Machine:
    return Machine(tmp_path, origin=repository / "origin")


def test_no_text_asks_an_index_for_this_project() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in TEXTS
        if (lines := [line for line in find_install_lines(path.read_text()) if asks_an_index(line)])
    }

    assert found == {}


def test_one_page_says_where_the_project_is() -> None:
    address = ADDRESS.removeprefix("https://github.com/")
    found = {path: count for path in TEXTS if (count := path.read_text().count(address))}

    assert found == {INSTALL_PAGE: 1}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("$ pip install '.[all]'   # here", ["pip install '.[all]'"]),
        ("      - run: pip install './.ghx-bench[all]'", ["pip install './.ghx-bench[all]'"]),
        ("RUN uv pip install /src && rm -r /src", ["uv pip install /src"]),
        ("| `uvx --from . ghx` | `pipx install .`; `pip` |", ["uvx --from . ghx", "pipx install ."]),
        ("with `uvx` or `pip`; pip compiles, uv installs", []),
    ],
)
def test_install_lines_are_found_in_code_and_prose(text: str, lines: list[str]) -> None:
    assert list(find_install_lines(text)) == lines


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("pip install ghx-bench", True),
        ("pip install 'ghx-bench[all]'", True),
        ("pip install ghx_bench==0.1.0", True),
        ("uvx ghx-bench --help", True),
        ("uvx --from 'ghx-bench[all]' ghx run", True),
        ("uvx --from '.[all]' ghx-bench --help", False),
        ('pip install "ghx-base @ git+$GHX_BENCH@main" ghx-twin', True),
        ("pip install ./packages/base ./packages/twin", False),
        ("pip install '.[all]'", False),
        ("pip install './.ghx-bench[all]'", False),
        ("pip install /src/ghx-bench", False),
        ("pip install dist/ghx_bench-0.1.0-py3-none-any.whl", False),
        ('pip install "ghx-bench[all] @ git+$GHX_BENCH@main"', False),
        ("uv tool install 'git+https://example.invalid/ghx-bench'", False),
    ],
)
def test_a_name_without_a_path_or_an_address_asks_an_index(line: str, asks: bool) -> None:
    assert asks_an_index(line) is asks


# pip takes half a minute to install all extras.
LINES = [
    pytest.param(line, marks=[pytest.mark.agents] if line.startswith("pip install") else [])
    for line in documented_install_lines()
]


@pytest.mark.parametrize("line", mostly_nightly(LINES, keep=[pytest.param("uv pip install '.[all]'", marks=[])]))
def test_an_install_line_of_the_pages_works(line: str, repository: Path, machine: Machine, tmp_path: Path) -> None:
    machine.make_environment(with_pip=line.startswith("pip "))
    if line.startswith("pipx "):
        machine.install_pipx()
    folder = repository / ("project" if "./.ghx-bench" in line else "ghx-bench")

    printed = machine.shell(line, cwd=folder)

    if line.startswith("uvx "):
        assert "Usage: ghx-bench" in printed
    elif line.startswith("pip wheel "):
        assert list(folder.glob("ghx_bench-*.whl"))
    elif "packages/twin" in line:
        assert machine.shell("ghx-twin exec -- git --version", cwd=tmp_path).startswith("git version")
        machine.shell("python -c 'import ghx_bench'", cwd=tmp_path, code=1)
    else:
        needs = json.loads(machine.shell("ghx-bench doctor --json", cwd=tmp_path))
        installed = {each["name"].removeprefix("extra ") for each in needs if each["state"] == "ok"}
        assert extras_of(line) <= installed


def extras_of(line: str) -> set[str]:
    """Return the extras that an install line names, those of `all` too."""
    found = re.search(r"\[(.*?)\]", line)
    names = set(found[1].split(",")) if found else set[str]()
    return (names | ALL if "all" in names else names) - {"all"}


@pytest.mark.parametrize(
    "how",
    mostly_nightly(
        [pytest.param(how, marks=[] if how in QUICK else [pytest.mark.agents]) for how in INSTALLED],
        keep=[pytest.param("uv tool", marks=[])],
    ),
)
def test_the_install_lines_that_commands_print_work(
    how: str, repository: Path, machine: Machine, tmp_path: Path
) -> None:
    checkout = repository / "ghx-bench"
    if how == "pipx":
        machine.install_pipx()
    elif how.startswith(("pip", "uv pip")):
        machine.make_environment(with_pip=how.startswith("pip"))
    start = "uvx --from . " if how == "uvx" else ""
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS))
    surface, plan = f"{start}ghx-bench surface --tools {tools}", f"{start}ghx-bench plan --effect 20"
    machine.shell(INSTALLED[how], cwd=checkout)

    (for_tokens,) = re.findall(r"^to count tokens: (.*)$", machine.shell(surface, cwd=checkout), re.MULTILINE)
    machine.shell(for_tokens, cwd=tmp_path)

    assert "estimate" not in machine.shell(surface, cwd=checkout)
    assert not any(map(asks_an_index, find_install_lines(for_tokens)))
    if how.startswith("uv"):
        (for_plan,) = re.findall(r"needs the extra 'report': .* `(.*)`", machine.shell(plan, cwd=checkout, code=2))
        machine.shell(for_plan, cwd=tmp_path)

        machine.shell(plan, cwd=checkout)
        assert "estimate" not in machine.shell(surface, cwd=checkout)  # the second extra has not removed the first
