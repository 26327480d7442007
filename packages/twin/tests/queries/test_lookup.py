"""Records are found by the names that clients and commits have for them."""

import pytest
from seeds import world_of

from ghx_twin.queries import lookup

PEOPLE = "users: [{login: octo, email: octo@corp.io}, {login: helper, type: Bot}, {login: plain}]"


@pytest.mark.parametrize(
    ("email", "login"),
    [
        ("octo@corp.io", "octo"),
        ("octo@users.noreply.github.com", "octo"),
        ("1+Octo@USERS.noreply.github.com", "octo"),
        ("7+helper[bot]@users.noreply.github.com", "helper"),
        ("plain[bot]@users.noreply.github.com", None),  # who is no bot
        ("stranger@corp.io", None),
        ("", None),
    ],
)
def test_a_commit_belongs_to_the_account_of_its_address(email: str, login: str | None) -> None:
    with world_of(PEOPLE) as world:
        found = lookup.user_by_email(world, email)
        assert (None if found is None else found.login) == login
