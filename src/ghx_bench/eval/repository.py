"""The full name of a repository on GitHub: `owner/repo`."""

import re
from typing import Annotated

from pydantic import Field, Strict, StringConstraints

_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*/\.*[A-Za-z0-9_-][A-Za-z0-9._-]*$"
"""Owners of managed accounts have underscores; no repository is called `.` or `..`."""

RepositoryName = Annotated[str, Strict(), StringConstraints(pattern=_PATTERN), Field(examples=["octocat/hello-world"])]


def is_repository(value: object) -> bool:
    """Say whether this is the full name of a repository."""
    return isinstance(value, str) and re.fullmatch(_PATTERN, value) is not None
