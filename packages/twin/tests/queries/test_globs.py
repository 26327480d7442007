"""Patterns of rulesets and CODEOWNERS files match as on GitHub, and none of them can be made to hang."""

import pytest

from ghx_base.texts.patterns import PatternError
from ghx_twin.queries.repositories.globs import check_glob, matches_path, owns_path


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("refs/heads/*", ["refs/heads/a"], ["refs/heads/a/b"]),
        ("**/x", ["x", "a/b/x"], ["ax"]),
        ("v?", ["v1"], ["v", "v/"]),
        ("v[0-9]", ["v7"], ["va", "v[0-9]"]),
        ("v[!0-9]", ["va"], ["v7", "v/"]),
        ("[!]x", ["!x"], ["ax"]),
        ("a[b", ["a[b"], ["ab"]),
        ("[a&&b]", ["&", "a"], ["c"]),
        ("a.b #~", ["a.b #~"], ["axb #~"]),
        ("*", ["\udcff"], ["a/b"]),
        ("*a" * 200, [], ["a" * 4000 + "b"]),
    ],
)
def test_only_two_stars_reach_over_slashes(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [name for name in (*yes, *no) if matches_path(pattern, name)] == yes


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(PatternError, match="range"):
        check_glob("refs/heads/[z-a]")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*", ["a", "a/b"], []),
        ("docs/", ["docs/a", "x/docs/a"], ["docs"]),
        ("/docs/*", ["docs/a"], ["docs/a/b", "x/docs/a"]),
        ("[z-a]", ["[z-a]"], ["z"]),
        ("*a" * 200, [], ["a" * 4000 + "b"]),
        ("?" * 200_000, [], ["a"]),
    ],
)
def test_code_owners_have_the_patterns_of_gitignore(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in (*yes, *no) if owns_path(pattern, path)] == yes
