"""The files of the repository: none forgotten, and none tells about the machine it was written on."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from markdown_pages import GENERATED

ROOT = Path(__file__).parents[2]

TELLTALE = re.compile(
    r"""
      /(?:home|Users)/(?!runner\b|user\b|agent\b)[A-Za-z]   # somebody's home; these three are nobody's
    | /ro{2}t/                                              # spelled so as not to find itself
    | /w[o]rk/(?:main|shared)
    | /opt/(?:pypi|wheels)
    | [A-Z]:\\Users\\
    | \b(?:pypi|pythonhosted|registry\.npmjs|crates|proxy\.golang|rubygems)\.(?:org|io)\b
    | \b(?:extra-)?index-url\s*[=:\s]\s*\S*://
    """,
    re.VERBOSE,
)


def git_files(*flags: str) -> list[Path] | None:
    """Return the files that git lists, or `None` in an unpacked archive, which has no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", *flags]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if listing.returncode else [ROOT / name for name in listing.stdout.split("\0") if name]


def files() -> Iterator[Path]:
    """Yield what is tracked, or would be; in an unpacked archive, what was not made later."""
    paths = git_files("--cached", "--others", "--exclude-standard")
    if paths is None:
        paths = [path for path in ROOT.rglob("*") if not {".venv", "site", "__pycache__"} & set(path.parts)]
    yield from (path for path in paths if path.is_file())


def telltales(path: Path) -> Iterator[str]:
    text = path.read_bytes().decode("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if found := TELLTALE.search(line):
            yield f"{path.relative_to(ROOT)}:{number}: {found.group()}"


def test_no_file_names_a_machine_or_a_package_registry() -> None:
    assert [found for path in files() for found in telltales(path)] == []


def test_no_source_is_ignored_and_so_left_out_of_commits_and_wheels() -> None:
    ignored = git_files("--others", "--ignored", "--exclude-standard", "packages", "tests", "docs", "examples") or []
    ignored = [path for path in ignored if path not in {ROOT / "docs" / name for name in GENERATED}]

    assert [path for path in ignored if path.suffix in {".py", ".md", ".json", ".yaml"}] == []


def test_the_search_finds_what_it_looks_for() -> None:
    lines = [
        "/home" + "/jane/project",
        "cd /root" + "/x",
        "https://files.python" + "hosted.org/packages/x.whl",
        "--extra-index" + "-url https://example.com/simple",
    ]

    assert [line for line in lines if not TELLTALE.search(line)] == []
    assert not TELLTALE.search("the home of /users/{user}/repos, POST /homepage, src/root.py")
