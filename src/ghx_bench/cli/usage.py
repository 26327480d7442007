"""What is said of arguments that cannot be understood."""

from ghx_bench._base.errors import InputError


class UsageError(InputError):
    """The arguments of a command cannot be understood."""

    code = "BAD_USAGE"
