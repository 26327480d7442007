"""Who a client says made a commit."""

from ghx_bench.twin.git.objects import Signature
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.rest.body import Body
from ghx_bench.twin.rest.timestamps import parsed_time


def signature(person: Body | None, now: str) -> Signature | None:
    """Read `{name, email, date}`; None where nobody was named."""
    if person is None:
        return None
    name, email, date = person.required_text("name"), person.required_text("email"), person.text("date")
    moment = now if date is None else parsed_time(date)
    if moment is None:
        raise InvalidRefusal(f"Invalid request.\n\n{date} is not a valid date.")
    return Signature(name=name, email=email, at=moment)
