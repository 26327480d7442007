"""What tests draw is the same for one state of the repository."""

import subprocess

import pytest
from random_seed import ROOT, VARIABLE, random_for, random_seed


@pytest.fixture(autouse=True)
def forget_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("random_seed.random_seed", random_seed.__wrapped__)


def seed() -> int:
    return random_seed.__wrapped__()


def test_the_seed_is_the_hash_of_the_tree_at_head() -> None:
    command = ["git", "rev-parse", "HEAD^{tree}"]
    tree = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert seed() == seed() == int(tree, 16) % 2**32


def test_the_environment_sets_it_or_lets_it_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "5")
    assert seed() == 5
    first = random_for("a sample").sample(range(1000), 5)
    assert first == random_for("a sample").sample(range(1000), 5)
    assert first != random_for("another one").sample(range(1000), 5)

    monkeypatch.setenv(VARIABLE, "free")
    drawn = seed()
    assert seed() == drawn, "the workers of a run draw the same"
