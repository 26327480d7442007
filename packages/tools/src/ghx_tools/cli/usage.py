"""Errors in the arguments of a command; apart from the parser, since `ghx run` must not import `argparse`."""

from ghx_base.errors import InputError


class UsageError(InputError):
    """The arguments of a command cannot be understood."""

    code = "BAD_USAGE"


def no_value(flag: str) -> str:
    """Return the message for a switch that was given a value."""
    return f"{flag} takes no value; write {flag}, or leave it out"
