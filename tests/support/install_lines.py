"""Install lines: the commands of README and docs that install this project."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
INSTALL_PAGE = ROOT / "docs" / "install.md"
ADDRESS = "https://github.com/OWNER/ghx-bench"
"""Where the project is, as the page on installing writes it."""

_INSTALLER = r"(?:(?:uv )?pip3? (?:install|wheel|download)|pipx (?:install|run)|uv tool (?:install|run)|uv add|uvx)"
_LINE = re.compile(rf"(?<![\w-]){_INSTALLER}(?= )[^`\n]*")
_END = re.compile(r"\s+#\s.*|\s*(?:&&|;|\|).*")
_SOURCE = re.compile(r"--(?:from|spec)[ =]('[^']*'|\"[^\"]*\"|\S+)")
_OURS = r"ghx[-_.](?:base|bench|profiler|tools|twin)"
_NAME_ALONE = re.compile(rf"(?<![\w/.@-]){_OURS}(?:\[[^\]]*\])?(?=[\s'\"`),;=<>!~]|$)(?!\s*@)")


def find_install_lines(text: str) -> Iterator[str]:
    """Yield the commands in a text that install something, without comments and what follows."""
    yield from (_END.sub("", found[0]).rstrip() for found in _LINE.finditer(text))


def asks_an_index(line: str) -> bool:
    """Return whether an install line names this project without a path or an address."""
    source = _SOURCE.search(line)
    return _NAME_ALONE.search(source[1] if source else line) is not None


def documented_install_lines() -> list[str]:
    """Return every install line of README and docs once."""
    return sorted({line for page in PAGES for line in find_install_lines(page.read_text())})
