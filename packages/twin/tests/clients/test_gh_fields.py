"""Every field that `gh` can put into its JSON is answered, in every command that has the flag."""

import re

import pytest
from gh_client import GhClient
from nightly import mostly_nightly

COMMANDS = {
    "issue list": [],
    "issue view": ["1"],
    "label list": [],
    "pr checks": ["7"],
    "pr list": [],
    "pr status": [],
    "pr view": ["7"],
    "repo list": ["acme"],
    "repo view": ["acme/widgets"],
    "search code": ["main", "--repo", "acme/widgets"],
    "search commits": ["fix", "--repo", "acme/widgets"],
    "search issues": ["crash"],
    "search prs": ["fix"],
    "search repos": ["widgets"],
}
UNKNOWN_TO_SOME = frozenset({"pr checks", "search code"})
"""Commands, or their flag for JSON, that gh 2.23 does not have."""
NEEDS_MORE = {
    "projects": "projects",
    "projectsV2": "projects",
}
"""Fields of parts that the twin does not have yet; it says so."""


def fields_of(gh: GhClient, command: str) -> list[str]:
    """Return the fields that this `gh` offers for a command; none where it has no such command or flag."""
    told = gh.run(*command.split(), *COMMANDS[command], "--json").err
    return re.findall(r"^  (\w+)$", told, re.MULTILINE) if "comma-separated" in told else []


@pytest.mark.parametrize("command", mostly_nightly(COMMANDS, keep=6))
def test_every_field_of_a_command_is_answered(gh: GhClient, command: str) -> None:
    fields = [field for field in fields_of(gh, command) if field not in NEEDS_MORE]
    if command in UNKNOWN_TO_SOME and not fields:
        return

    answered = gh.json(*command.split(), *COMMANDS[command], "--json", ",".join(fields))

    first = answered[0] if isinstance(answered, list) else answered
    assert sorted(first if command != "pr status" else fields) == sorted(fields)
