"""Errors as GitHub writes them into the `errors` of an answer."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from graphql import (
    FieldNode,
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLSyntaxError,
    Lexer,
    Source,
    Token,
    TokenKind,
    VariableDefinitionNode,
    parse,
    print_ast,
    type_from_ast,  # pyright: ignore[reportUnknownVariableType] - its overloads leave lists open
)
from graphql.language import SourceLocation, get_location

from ghx_twin.graphql.scopes import before_lookup
from ghx_twin.refusals import NotImplementedRefusal, Refusal, RoleRefusal
from ghx_twin.viewer import Viewer

LACKS = "is not implemented by the twin"


def syntax_failure(query: str, error: GraphQLSyntaxError) -> dict[str, Any]:
    """Return the error of a document that is no GraphQL."""
    message, place = describe_syntax_error(query, error)
    return {"message": message, **({"locations": [{"line": place.line, "column": place.column}]} if place else {})}


def validation_failure(error: GraphQLError) -> dict[str, Any]:
    """Return the error of a document that does not fit the schema."""
    written: dict[str, Any] = {}
    if error.path:
        written["path"] = list(error.path)
    if error.extensions:
        written["extensions"] = {key: value for key, value in error.extensions.items() if not key.startswith("_")}
    return {**written, **_locations(error), "message": error.message}


def variable_failures(
    schema: GraphQLSchema, errors: Sequence[GraphQLError], variables: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return one error for each variable whose value does not fit its type, with all that is wrong with it."""
    failures: dict[str, dict[str, Any]] = {}
    for error in errors:
        definition = next((node for node in error.nodes or () if isinstance(node, VariableDefinitionNode)), None)
        if definition is None:
            failures[error.message] = {"message": error.message, **_locations(error)}
            continue
        name, kind = definition.variable.name.value, print_ast(definition.type)
        value = variables.get(name)
        problems = list(find_problems(value, type_from_ast(schema, definition.type)))
        places = [f"{'.'.join(map(str, path))} ({explanation})" for path, explanation in problems if path]
        where = f" for {', '.join(places)}" if places else ""
        failures[name] = {
            "message": f"Variable ${name} of type {kind} was provided invalid value{where}",
            **_locations(error),
            "extensions": {
                "value": value,
                "problems": [{"path": path, "explanation": explanation} for path, explanation in problems],
            },
        }
    return list(failures.values())


def execution_failure(error: GraphQLError, viewer: Viewer) -> dict[str, Any]:
    """Return the error of a field that was refused; a failure of our own is raised instead."""
    cause = error.original_error
    if cause is not None and not isinstance(cause, (Refusal, GraphQLError)):
        raise cause
    written: dict[str, Any] = {}
    message = error.message
    if isinstance(cause, Refusal):
        sentence = cause.graphql_message
        if isinstance(cause, RoleRefusal):  # GraphQL names the mutation, where REST says what the role cannot do
            field = next(node.name.value for node in error.nodes or () if isinstance(node, FieldNode))
            mutation = f"{field[0].upper()}{field[1:]}"
            sentence = f"{viewer.user.login} does not have the correct permissions to execute `{mutation}`"
        written["type"], message = before_lookup(cause, error, viewer) or (cause.graphql_type, sentence)
    if error.path:
        written["path"] = list(error.path)
    return {**written, **_locations(error), "message": message}


def lacks_in(errors: list[GraphQLError]) -> str | None:
    """Return what a refused field needed that GitHub has and the emulator lacks."""
    causes = (error.original_error for error in errors)
    return next((cause.message for cause in causes if isinstance(cause, NotImplementedRefusal)), None)


def _locations(error: GraphQLError) -> dict[str, Any]:
    locations = [{"line": place.line, "column": place.column} for place in error.locations or ()]
    return {"locations": locations} if locations else {}


_DEFINITION = "one of SCHEMA, SCALAR, TYPE, ENUM, INPUT, UNION, INTERFACE"
_EXPECTED = re.compile(r"Syntax Error: Expected (Name|'.{1,3}'|\"\w+\"), found ")
_KINDS = {
    TokenKind.BANG: "BANG",
    TokenKind.DOLLAR: "VAR_SIGN",
    TokenKind.AMP: "AMP",
    TokenKind.PAREN_L: "LPAREN",
    TokenKind.PAREN_R: "RPAREN",
    TokenKind.SPREAD: "ELLIPSIS",
    TokenKind.COLON: "COLON",
    TokenKind.EQUALS: "EQUALS",
    TokenKind.AT: "DIR_SIGN",
    TokenKind.BRACKET_L: "LBRACKET",
    TokenKind.BRACKET_R: "RBRACKET",
    TokenKind.BRACE_L: "LCURLY",
    TokenKind.PIPE: "PIPE",
    TokenKind.BRACE_R: "RCURLY",
    TokenKind.INT: "INT",
    TokenKind.FLOAT: "FLOAT",
    TokenKind.STRING: "STRING",
    TokenKind.BLOCK_STRING: "STRING",
    TokenKind.EOF: "(none)",
}
_BY_SIGN = {f"'{kind.value}'": name for kind, name in _KINDS.items()}
_KEYWORDS = frozenset({
    "on", "fragment", "true", "false", "null", "query", "mutation", "subscription", "schema", "scalar", "type",
    "extend", "implements", "interface", "union", "enum", "input", "directive", "repeatable",
})  # fmt: skip
_OPENING = {TokenKind.PAREN_L, TokenKind.BRACE_L, TokenKind.BRACKET_L}
_CLOSING = {TokenKind.PAREN_R, TokenKind.BRACE_R, TokenKind.BRACKET_R}
_IGNORED = re.compile(r"(?:[\s,\ufeff]+|#[^\n\r]*)*")
_ZEROS = re.compile(r"-?0(?=\d)")
_FOREIGN_SIGN = "&"  # graphql-core reads it as a token, and expects it nowhere in an operation


def describe_syntax_error(query: str, error: GraphQLSyntaxError) -> tuple[str, SourceLocation | None]:
    """Return the message, with its place, and the place of what stopped the parser."""
    at = next(iter(error.positions or ()), 0)
    if error.message.endswith("Parsing aborted."):  # too many tokens, wherever they are
        return error.message.removeprefix("Syntax Error: "), None
    if _IGNORED.fullmatch(query):
        return "Unexpected end of document", None
    start = _end_of_tokens(query)
    if start is None or at < start:
        return _describe(query, error, at, _find_token(query, at))
    if zeros := _ZEROS.match(query, start):
        return _describe_number(query, zeros.end())
    # A character that begins no token: another sign in its place shows what the parser waits for there.
    marked = f"{query[:start]}{_FOREIGN_SIGN}{query[start + 1 :]}"
    return _describe(query, _complaint(marked) or error, start, ("UNKNOWN_CHAR", query[start : start + 1]), marked)


def _describe(
    query: str, error: GraphQLSyntaxError, at: int, actual: tuple[str, str], parsed: str | None = None
) -> tuple[str, SourceLocation]:
    place = get_location(Source(query), at)
    kind, text = actual
    expected = _expected(error, parsed or query, at)
    return f'Expected {expected}, actual: {kind} ("{text}") at [{place.line}, {place.column}]', place


def _describe_number(query: str, split: int) -> tuple[str, SourceLocation]:
    """Describe a number with zeros in front, which GitHub reads as two numbers: `0158` is `0` and `158`."""
    parted = f"{query[:split]} {query[split:]}"
    complaint = _complaint(parted)
    digits = re.match(r"\d*", query[split:])
    place = get_location(Source(query), split)
    expected = _expected(complaint, parted, split + 1) if complaint else "NAME"
    text = digits.group() if digits else ""
    return f'Expected {expected}, actual: INT ("{text}") at [{place.line}, {place.column}]', place


def _expected(error: GraphQLSyntaxError, query: str, at: int) -> str:
    if match := _EXPECTED.match(error.message):
        expected = match[1]
        return "NAME" if expected == "Name" else _BY_SIGN.get(expected) or expected.strip('"').upper()
    return "VALUE" if _depth(query, at) else _DEFINITION


def _complaint(query: str) -> GraphQLSyntaxError | None:
    try:
        parse(query)
    except GraphQLSyntaxError as error:
        return error
    except RecursionError:  # a few calls deeper than the first parse, which just held
        return None
    return None


def _tokens(query: str) -> Iterator[Token]:
    """Yield the tokens of a document up to the first that is none."""
    lexer = Lexer(Source(query))
    while True:
        try:
            token = lexer.advance()
        except GraphQLSyntaxError:
            return
        yield token
        if token.kind is TokenKind.EOF:
            return


def _end_of_tokens(query: str) -> int | None:
    """Return where the first character stands that begins no token; None where all of them do."""
    end = 0
    for token in _tokens(query):
        if token.kind is TokenKind.EOF:
            return None
        end = token.end
    ignored = _IGNORED.match(query, end)
    return ignored.end() if ignored else end


def _find_token(query: str, at: int) -> tuple[str, str]:
    for token in _tokens(query):
        if token.start >= at:
            value = token.value
            if token.kind is TokenKind.NAME:
                name = (value or "").upper() if value in _KEYWORDS else "IDENTIFIER"
                return name, value or ""
            text = "" if token.kind is TokenKind.EOF else token.kind.value if value is None else value
            return _KINDS.get(token.kind, "UNKNOWN_CHAR"), text
    return _KINDS[TokenKind.EOF], ""


def _depth(query: str, at: int) -> int:
    """Return how many brackets are open at a place."""
    depth = 0
    for token in _tokens(query):
        if token.start >= at:
            break
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
    return depth


Path = list[str | int]
NULL = "Expected value to not be null"


def find_problems(value: Any, kind: object) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with a value and where inside of it."""
    return _find(value, kind, [])


def _find(value: Any, kind: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(kind, GraphQLNonNull):
        kind = cast("object", kind.of_type)
        if value is None:
            yield path, NULL
    if value is None:
        return
    match kind:
        case GraphQLList():
            # A single value stands for a list of it.
            items = enumerate(cast("list[Any]", value)) if isinstance(value, list) else [(None, value)]
            for index, item in items:
                yield from _find(item, cast("object", kind.of_type), path if index is None else [*path, index])
        case GraphQLInputObjectType():
            yield from _find_in_object(value, kind, path)
        case GraphQLEnumType():
            if not isinstance(value, str) or value not in kind.values:
                yield path, f"Expected {_written(value)} to be one of: {', '.join(kind.values)}"
        case GraphQLScalarType():
            yield from _find_in_scalar(value, kind, path)
        case _:
            return


def _find_in_scalar(value: Any, kind: GraphQLScalarType, path: Path) -> Iterator[tuple[Path, str]]:
    try:
        kind.coerce_input_value(value)
    except (GraphQLError, ValueError, TypeError):
        yield path, f"Could not coerce value {_written(value)} to {kind.name}"


def _find_in_object(value: Any, kind: GraphQLInputObjectType, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        yield path, f"Expected {_written(value)} to be a key-value object."
        return
    fields = cast("dict[str, Any]", value)
    for name in fields:
        if name not in kind.fields:
            yield [*path, name], f"Field is not defined on {kind.name}"
    for name, field in kind.fields.items():
        yield from _find(fields.get(name), field.type, [*path, name])


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
