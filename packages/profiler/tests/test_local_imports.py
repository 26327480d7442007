"""What a file imports of a user's own, read from its text."""

from pathlib import Path

import pytest

from ghx_profiler.store.provenance import find_local_imports

FILES = {
    "agents/main.py": "import json, beside\nfrom pkg.inner import x\nfrom shared import tool\nimport pkg.other as y\n",
    "agents/beside.py": "def later():\n    from later import x\n",
    "agents/later.py": "import beside\n",  # in a circle
    "agents/pkg/__init__.py": "",
    "agents/pkg/inner.py": "from . import sibling\nfrom ..beside import later\n",
    "agents/pkg/other.py": "from .sub.deep import y\n",
    "agents/pkg/sibling.py": "",
    "agents/pkg/sub/deep.py": "this is no Python\n",
    "agents/unused.py": "",
    "shared/tool.py": "import agents.unused_by_name\n",
    "shared.py": "",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def names_of(folder: Path, file: str, *roots: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in find_local_imports(folder / file, roots)}


BESIDE = {
    "agents/beside.py", "agents/later.py", "agents/pkg/__init__.py", "agents/pkg/inner.py", "agents/pkg/other.py",
    "agents/pkg/sibling.py", "agents/pkg/sub/deep.py",
}  # fmt: skip


def test_imports_are_followed_wherever_they_stand(folder: Path) -> None:
    assert names_of(folder, "agents/main.py") == BESIDE


def test_the_project_is_looked_in_too(folder: Path) -> None:
    assert names_of(folder, "agents/main.py", folder) == BESIDE | {"shared/tool.py", "shared.py"}


@pytest.mark.parametrize("text", ["import ", "\0", "from .......... import x\n", "(" * 5000])
def test_a_file_that_cannot_be_read_imports_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.py").write_text(text)

    assert find_local_imports(tmp_path / "odd.py") == set()
    assert find_local_imports(tmp_path / "none.py") == set()
