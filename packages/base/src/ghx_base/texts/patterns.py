"""User-supplied regular expressions, in an engine whose time is linear in the text."""

from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema


class PatternError(ValueError):
    """A pattern is not a usable regular expression; the message has the reason."""


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> SchemaValidator:
    """Compile a pattern, or raise `PatternError`."""
    try:
        # Rust's engine, since Python's can be hung for good by a pattern, or by what an agent writes.
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))
    except (SchemaError, UnicodeEncodeError) as error:
        raise PatternError(str(error).rpartition("rror: ")[2].rstrip(".")) from None


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern is found anywhere in a text."""
    # Half of a surrogate pair, as in a file name that is not UTF-8, would match no pattern at all.
    return compile_pattern(pattern).isinstance_python(text.encode(errors="replace").decode())
