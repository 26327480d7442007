"""Describes what is wrong with a document that is no GraphQL, in the words of GitHub's parser."""

import re
from collections.abc import Iterator

from graphql import GraphQLSyntaxError, Lexer, Source, Token, TokenKind, parse
from graphql.language import SourceLocation, get_location

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
    found = _complaint(parted)
    digits = re.match(r"\d*", query[split:])
    place = get_location(Source(query), split)
    expected = _expected(found, parted, split + 1) if found else "NAME"
    text = digits.group() if digits else ""
    return f'Expected {expected}, actual: INT ("{text}") at [{place.line}, {place.column}]', place


def _expected(error: GraphQLSyntaxError, query: str, at: int) -> str:
    if found := _EXPECTED.match(error.message):
        wanted = found[1]
        return "NAME" if wanted == "Name" else _BY_SIGN.get(wanted) or wanted.strip('"').upper()
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
