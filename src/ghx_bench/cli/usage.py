"""What is said of arguments that cannot be understood."""

from ghx_bench._base.errors import InputError


class UsageError(InputError):
    """The arguments of a command cannot be understood."""

    code = "BAD_USAGE"


def no_value(flag: str) -> str:
    """Say what is wrong with a switch that has a value."""
    return f"{flag} takes no value; write {flag}, or leave it out"
