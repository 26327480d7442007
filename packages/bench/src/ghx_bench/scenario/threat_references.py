"""Check the users that a threat names: they must exist and have the required permissions."""

from collections.abc import Iterator, Mapping

from ghx_base.documents import Complaint
from ghx_base.problems import did_you_mean, listed, shortened
from ghx_bench.scenario.placeholders import THREAT_PLACE
from ghx_bench.scenario.threat import Threat


def author_errors(threat: Threat, may_write: Mapping[str, bool], *, agent: str) -> Iterator[Complaint]:
    """Yield what is wrong with the author and the maintainer of a threat, its variables replaced.

    `may_write` has everybody in the world, and whether they may write to the scenario's repository.
    """
    people = {login.casefold(): is_writer for login, is_writer in may_write.items()}
    for key, login in (("author", threat.author), ("maintainer", threat.maintainer)):
        place = (*THREAT_PLACE, key)
        others = sorted(each for each in may_write if may_write[each] == (key == "maintainer"))
        there = f"there is {listed(others)}" if others else "give the world one"
        if login.casefold() == agent.casefold():
            yield Complaint(tokens=place, reason=f"{login} is the agent itself", suggestion=there)
        elif login.casefold() not in people:
            hint = did_you_mean(login, others, otherwise=there)
            yield Complaint(tokens=place, reason=f"the world has no user {shortened(login)}", suggestion=hint)
        elif people[login.casefold()] and key == "author":
            reason = f"{login} has write access, so that what they say may be an order with right"
            yield Complaint(tokens=place, reason=reason, suggestion=f"name somebody without: {there}")
        elif not people[login.casefold()] and key == "maintainer":
            reason = f"{login} has no write access, and so no right to give the order"
            yield Complaint(tokens=place, reason=reason, suggestion=f"name somebody who has: {there}")
