"""Outputs that several capabilities of pull requests share."""

from ghx_tools.capabilities.models import OutputModel, Positive, Text

EXAMPLE = {"owner": "octocat", "name": "hello-world", "prNumber": 7}
"""The pull request of the examples."""

OUTLINE = "number url title state draft: isDraft"
"""Selection of the fields of a `PullOutline`."""


class PullSummary(OutputModel):
    """A pull request, without its body."""

    id: Text
    number: Positive
    title: str
    state: str
    url: Text


class PullOutline(OutputModel):
    """A pull request after it was made or changed."""

    number: Positive
    url: Text
    title: str
    state: str
    draft: bool
