"""Global ids of git objects are GitHub's, and are read back only as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_twin.nodes import GitNode, git_node_id, parse_git_node_id

SHA = "0123456789abcdef0123456789abcdef01234567"
KINDS = st.sampled_from(["commit", "tree", "blob", "tag", "ref", "comparison"])


def test_ids_are_spelled_as_github_spells_them() -> None:
    assert git_node_id("ref", 1, "refs/heads/main") == "REF_kwDOAAAAAa9yZWZzL2hlYWRzL21haW4"
    assert git_node_id("commit", 1, SHA).startswith("C_kwDOAAAAAdoAKD")


@given(kind=KINDS, repository=st.integers(0, 2**32 - 1), name=st.text(st.characters(codec="utf-8"), max_size=120))
def test_an_id_is_read_back(kind: str, repository: int, name: str) -> None:
    node = GitNode(kind, repository, name)

    assert parse_git_node_id(str(node)) == node


@pytest.mark.parametrize("text", ["", "C", "C_", "C_!!!", "X_kwDO", "C_kwDOAAAAAQ", "C_" + "A" * 5000, "C_\u00e9"])
def test_anything_else_is_none(text: str) -> None:
    assert parse_git_node_id(text) is None


@given(st.text(max_size=60))
def test_no_text_is_a_fault(text: str) -> None:
    parsed = parse_git_node_id(f"REF_{text}")

    assert parsed is None or str(parsed) == f"REF_{text}"
