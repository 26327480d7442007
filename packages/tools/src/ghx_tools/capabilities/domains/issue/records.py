"""Outputs that several capabilities of issues share."""

from ghx_tools.capabilities.models import OutputModel, Positive, Text


class IssueSummary(OutputModel):
    """An issue, without its body."""

    id: Text
    number: Positive
    title: str
    state: str
    url: Text
