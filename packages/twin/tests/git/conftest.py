"""Repositories to work on."""

from collections.abc import Generator

import pytest

from ghx_twin.git.repository import GitRepository
from ghx_twin.git.storage import GitStorage


@pytest.fixture
def storage() -> Generator[GitStorage]:
    with_everything = GitStorage.temporary()
    yield with_everything
    with_everything.close()


@pytest.fixture
def repository(storage: GitStorage) -> GitRepository:
    """An empty repository."""
    return storage.create(1, "main")
