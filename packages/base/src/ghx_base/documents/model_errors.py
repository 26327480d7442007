"""One complaint of pydantic in words for the author of a file: JSON's words, what to write, and no jargon."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import ErrorDetails

from ghx_base.problems import Tokens, describe_value, listed, nearest, plain, pointer_of, shortened

Schema = Mapping[str, Any]
"""A part of a model's JSON schema."""

_EXPECTED = {
    **dict.fromkeys(("string_type", "string_sub_type", "path_type", "url_type", "bytes_type"), "a string"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "an integer"),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "an object"),
    **dict.fromkeys(("dataclass_type", "typed_dict_type"), "an object"),
    "none_required": "null",
}
_RANGE = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}
_BOOLEAN_WORDS = {
    **dict.fromkeys(("yes", "on", "true", "y", "1"), "true"),
    **dict.fromkeys(("no", "off", "false", "n", "0"), "false"),
}

_INTEGER = re.compile(r"-?\d+", re.ASCII)
_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)


class RefusedError(ValueError):
    """Raised by a validator with the invalid part of its value, and the fix.

    `at` leads from the validated value to that part. With `at_key` the key is shown and not the value, which may be a
    secret.
    """

    def __init__(self, reason: str, *, at: Tokens = (), suggestion: str | None = None, at_key: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.at, self.suggestion, self.at_key = reason, at, suggestion, at_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing a model refused.

    `expected` is set where a value is of the wrong kind altogether, `missing` where a key is not there, `meant` where
    a key is probably a misspelling of another.
    """

    tokens: Tokens
    reason: str
    suggestion: str | None = None
    at_key: bool = False
    expected: str | None = None
    missing: str | None = None
    suggested_key: str | None = None

    def __str__(self) -> str:
        return self.reason if self.suggestion is None else f"{self.reason}; {self.suggestion}"


def find(error: ErrorDetails, schema: Schema, tokens: Tokens) -> Complaint:
    """Return one error about the value at `tokens` in words; `schema` is what that value should be."""
    kind, value, context = error["type"], cast("object", error["input"]), error.get("ctx", {})
    if kind in _EXPECTED:
        return of_wrong_kind(tokens, _EXPECTED[kind], value)
    if kind in {"enum", "literal_error"}:
        return _not_a_choice(tokens, schema, value, context)
    if kind == "union_tag_invalid":
        return _unknown_tag(tokens, schema, context)
    if kind == "union_tag_not_found":
        return _missing_tag(tokens, schema, context)
    if "error" in context:
        return _refused(tokens, context["error"])
    message = error["msg"].replace("Input should be", "must be").replace("Input should", "should").rstrip(".")
    reason, suggestion = _describe_constraint(kind, value, schema, context) or (message, None)
    return Complaint(tokens=tokens, reason=reason, suggestion=suggestion)


def _refused(tokens: Tokens, error: object) -> Complaint:
    if isinstance(error, RefusedError):
        place = (*tokens, *error.at)
        return Complaint(tokens=place, reason=error.reason, suggestion=error.suggestion, at_key=error.at_key)
    return Complaint(tokens=tokens, reason=str(error))


def of_wrong_kind(tokens: Tokens, expected: str, value: object) -> Complaint:
    """Return that a value is of another kind than expected."""
    return Complaint(
        tokens=tokens,
        reason=f"expected {expected}, got {describe_value(value)}",
        suggestion=_suggest_kind(expected, value) if tokens else None,
        expected=expected,
    )


def missing_key(tokens: Tokens, key: str, schema: Schema) -> Complaint:
    """Return that an object lacks a key, and what the key is for; `schema` is that of the key."""
    purpose, example = cast("str", schema.get("description", "")), _example_of(schema)
    hints = [purpose[:1].lower() + purpose[1:].rstrip(".")] if purpose else []
    hints += [f"for example {example}"] if example else []
    if not hints and "enum" in schema:
        hints = [f"one of {listed([str(each) for each in schema['enum']])}"]
    suggestion = f"add it: {', '.join(hints)}" if hints else None
    return Complaint(tokens=tokens, reason=f"missing key {shortened(key)}", suggestion=suggestion, missing=key)


def unknown_key(
    tokens: Tokens, key: str, known: Sequence[str], present: Container[str], home: Tokens | None
) -> Complaint:
    """Return that an object has a key it should not have.

    `known` are the allowed keys, as far as known; `present` those it has; `home` is another object
    where the key would be right.
    """
    twin = next((each for each in known if plain(each) == plain(key) and each in present), None)
    suggested_key = nearest(key, [each for each in known if each not in present]) or nearest(key, known)
    reason, suggestion = f"unknown key {shortened(key)}", None
    if twin is not None:
        reason, suggestion = f"key {shortened(key)} says the same as {twin!r}", "keep one of them"
    elif home is not None:
        suggestion = f"it belongs into {pointer_of(home) or 'the top level'}"
    elif suggested_key is not None:
        suggestion = f"did you mean {suggested_key!r}?"
    elif known:
        suggestion = f"known keys: {listed(known)}"
    return Complaint(
        tokens=(*tokens, key), reason=reason, suggestion=suggestion, at_key=True, suggested_key=suggested_key
    )


def _suggest_kind(expected: str, value: object) -> str | None:
    replacement: str | None = None
    match expected, value:
        case _, None:
            return "give it a value, or remove it"
        case "a string", bool() | int() | float():
            return "put quotes around it"
        case "an integer", str():
            replacement = _number_in(value, _INTEGER)
        case "a number", str():
            replacement = _number_in(value, _NUMBER)
        case "an integer", float() if value.is_integer():
            replacement = f"{value:.0f}"
        case "true or false", str() | int():
            replacement = _BOOLEAN_WORDS.get(str(value).casefold())
        case "a list", str() | int() | float():
            replacement = f"[{shortened(value)}]"
        case _:
            pass
    return replacement and f"write {replacement}"


def _number_in(text: str, form: re.Pattern[str]) -> str | None:
    digits = text.strip().replace("_", "").replace(",", "")
    if not form.fullmatch(digits):
        return None
    return f"{digits}, without quotes" if digits == text else digits


def _not_a_choice(tokens: Tokens, schema: Schema, value: object, context: Mapping[str, Any]) -> Complaint:
    choices: list[object] = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    choice_list = ", ".join(map(shortened, choices)) or str(context.get("expected"))
    expected = choice_list if len(choices) == 1 else f"one of {choice_list}"
    suggested = nearest(value, [each for each in choices if isinstance(each, str)]) if isinstance(value, str) else None
    return Complaint(
        tokens=tokens,
        reason=f"expected {expected}, got {shortened(value) if isinstance(value, str) else describe_value(value)}",
        suggestion=f"did you mean {suggested!r}?" if suggested else None,
        expected=expected,
    )


def _unknown_tag(tokens: Tokens, schema: Schema, context: Mapping[str, Any]) -> Complaint:
    name, known = _tags_of(schema, context)
    tag = str(context.get("tag"))
    suggested = nearest(tag, known)
    hint = f"did you mean {suggested!r}? " if suggested else ""
    return Complaint(
        tokens=(*tokens, name), reason=f"unknown {name} {shortened(tag)}", suggestion=f"{hint}known: {listed(known)}"
    )


def _missing_tag(tokens: Tokens, schema: Schema, context: Mapping[str, Any]) -> Complaint:
    name, known = _tags_of(schema, context)
    suggestion = f"add it: one of {listed(known)}" if known else None
    return Complaint(tokens=tokens, reason=f"missing key {name!r}", suggestion=suggestion, missing=name)


def _tags_of(schema: Schema, context: Mapping[str, Any]) -> tuple[str, list[str]]:
    discriminator: Schema = schema.get("discriminator", {})
    name = discriminator.get("propertyName") or str(context.get("discriminator", "type")).strip("'")
    return name, list(discriminator.get("mapping", ()))


def _describe_constraint(
    kind: str, value: object, schema: Schema, context: Mapping[str, Any]
) -> tuple[str, str | None] | None:
    reason: str | None = None
    if kind == "string_pattern_mismatch":
        return _describe_format(value, schema, context)
    if kind in _RANGE:
        reason = f"must be {_describe_range(schema, context)}, not {shortened(value)}"
    elif kind in {"string_too_short", "too_short"}:
        minimum, length = int(context["min_length"]), context.get("actual_length")
        reason = f"must have at least {_counted(minimum, value)}, not {_length(value) if length is None else length}"
        reason = "must not be empty" if minimum == 1 else reason
    elif kind in {"string_too_long", "too_long"}:
        reason = f"must have at most {_counted(int(context['max_length']), value)}, not {_length(value)}"
    elif kind == "missing":  # in a list of fixed length
        reason = f"must have {_counted(schema.get('minItems', 0), value)}, not {_length(value)}"
    return (reason, None) if reason else None


def _describe_format(value: object, schema: Schema, context: Mapping[str, Any]) -> tuple[str, str | None]:
    pattern, example = context.get("pattern"), _example_of(schema)
    if example is None:
        return f"{shortened(value)} does not match the pattern {pattern}", None
    return f"{shortened(value)} does not have the form of {example}", f"the pattern is {pattern}"


def _describe_range(schema: Schema, context: Mapping[str, Any]) -> str:
    bounds = (
        ("at least", schema.get("minimum", context.get("ge"))),
        ("more than", schema.get("exclusiveMinimum", context.get("gt"))),
        ("at most", schema.get("maximum", context.get("le"))),
        ("less than", schema.get("exclusiveMaximum", context.get("lt"))),
    )
    return " and ".join(f"{word} {shortened(bound)}" for word, bound in bounds if bound is not None)


def _counted(number: int, value: object) -> str:
    unit = "character" if isinstance(value, str) else "key" if isinstance(value, dict) else "item"
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _length(value: object) -> int:
    return len(cast("Sequence[object]", value))


def _example_of(schema: Schema) -> str | None:
    examples: Sequence[object] = schema.get("examples", ())
    return shortened(examples[0]) if examples else None
