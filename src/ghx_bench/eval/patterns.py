"""Regular expressions whose search takes time linear in the text, whatever the pattern.

A scenario must not be able to hang a run, nor an agent by what it writes. Python's own engine backtracks, so the one
that pydantic brings is used: Rust's, which has everything but look-around and back-references.
"""

from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema


class PatternError(ValueError):
    """A pattern is no regular expression that can be used; the message says why."""


def matches(pattern: str, text: str) -> bool:
    """Say whether the pattern is found anywhere in the text."""
    return compiled(pattern).isinstance_python(text)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> SchemaValidator:
    """Compile a pattern, or raise `PatternError`."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))
    except SchemaError as error:
        raise PatternError(str(error).rpartition("rror: ")[2].rstrip(".")) from None
