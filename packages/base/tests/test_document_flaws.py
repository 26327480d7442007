from pathlib import Path

import pytest
import yaml

from ghx_base.documents import (
    Document,
    DocumentError,
    parse_document,
    yamlflaws,
    yamltext,
)

JSON = Path("a.json")
YAML = Path("a.yaml")


def parse(text: str | bytes, path: Path = YAML) -> Document:
    return parse_document(text.encode() if isinstance(text, str) else text, path=path)


def complaints(text: str | bytes, path: Path = YAML) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        parse(text, path)
    return str(caught.value).splitlines()


BROKEN_JSON = [
    ('{"a": 1,}', "1:8: a comma before a closing bracket; remove the comma"),
    ("[1,\n 2,\n]", "2:3: a comma before a closing bracket; remove the comma"),
    ('{"a": 1\n "b": 2}', "2:2: expected ',' or a closing bracket; put a comma between two values"),
    ("{'a': 1}", '1:2: a string in single quotes; write it in "double quotes"'),
    ("{a: 1}", "1:2: unexpected 'a'; write text in \"double quotes\""),
    ('{"a" 1}', "1:6: expected ':' after the key"),
    ('{"a": }', "1:7: expected a value"),
    ("{1: 2}", '1:2: expected a key; write it in "double quotes"'),
    ('{"a": True}', "1:7: True is not a JSON value; write true"),
    ('{"a": None}', "1:7: None is not a JSON value; write null"),
    ('{"a": yes}', "1:7: unexpected 'yes'; write text in \"double quotes\""),
    ('{"a": 007}', "1:8: a number cannot begin with 0; remove the 0, or put it in quotes if it is text"),
    ('{"a": 1} {"b": 2}', "1:10: text after the end of the document; keep one document to a file"),
    ('{"a": 1}\n{"b": 2}\n', "2:1: text after the end of the document; keep one document to a file"),
    ('{"a": "x', '1:7: this string is never closed; end it with "'),
    ('{"a": "x\ny"}', "1:9: a line break or control character inside a string; write \\n for a line break"),
    ('{"a": "C:\\dir"}', "1:10: unknown escape inside a string; write \\\\ for a backslash"),
    ("// note\n{}", "1:1: JSON has no comments; remove it, or write the file as YAML"),
    ('{"a": 1, # note\n}', "1:10: JSON has no comments; remove it, or write the file as YAML"),
    ('{"a": [1,\n 2', "2:3: the file ends before the '[' of line 1 is closed"),
    ('{"a": {"b": "}"}', "1:17: the file ends before the '{' of line 1 is closed"),
    ('{"a": NaN}', "1:7: NaN is not a JSON value; write null or a number"),
    ('{"a": -Infinity}', "1:7: -Infinity is not a JSON value; write null or a number"),
    ('{"a": -1e999}', "1:7: the number -1e999 is too large; put it in quotes if it is text"),
    ('{"a": ' + "1" * 5000 + "}", "1:7: a number of 5000 digits is too long; put it in quotes if it is text"),
    (
        '{"a": "\\ud83d"}',
        "1:7: half a character: a surrogate escape without its other half; write the character itself",
    ),
    ("[" * 101 + "]" * 101, "1:101: lists and objects are nested more than 100 deep; flatten the document"),
    ("[" * 100_000, "1:101: lists and objects are nested more than 100 deep; flatten the document"),
    ('{"a":\r\n{"b":1,\r"b":2}}', "3:1: key 'b' is given twice, first on line 2; keep one of them"),
    ('{"a": {"x": 1, "x": 2}, "b": [}', "1:31: expected a value"),
]

BROKEN_YAML = [
    ("a: b: c", "1:5: a second ':' on one line; put quotes around a value that contains ': '"),
    (
        "a: 1\n b: 2",
        "2:3: a key cannot stand below a plain value; correct the indentation, or end the line above with ':'",
    ),
    ("a:\n\t- x", "2:1: a tab cannot indent; use spaces, not tabs"),
    ("a:\n  b: 1\n\tc: 2", "3:1: a tab cannot indent; use spaces, not tabs"),
    ("a: x\n\tb: 2", "2:1: a tab cannot indent; use spaces, not tabs"),
    ("a:\n  b: |\n    x\n\ty\nc: 1", "4:1: a tab cannot indent; use spaces, not tabs"),
    ("a: [1, 2\n", "1:4: this '[' is never closed; close it with ']'"),
    ("a: [", "1:4: this '[' is never closed; close it with ']'"),
    ("a: [{\n", "1:5: this '{' is never closed; close it with '}'"),
    ("a: [b:\n\n", "1:4: this '[' is never closed; close it with ']'"),
    ("a: {b: 1\n", "1:4: this '{' is never closed; close it with '}'"),
    ("a: [1,\n 2}\nb: 3", "2:3: expected ',' or ']' after the '[' of line 1"),
    ("[1] ]", "1:5: text after the end of the document; keep one document to a file"),
    ("a: 'x\nb: 1\n", "1:4: this quote is never closed; close it"),
    ("a: 'x\nb: 'y'\n", "1:4: this quote is closed only on line 2; close it here"),
    ('a: "x\nb: 1\nc: "{{y}}"\n', "1:4: this quote is closed only on line 3; close it here"),
    ('a:\n  - "x\n  - "y: z"\n', "2:5: this quote is closed only on line 3; close it here"),
    ("a: 'it's'\nb: 1", "1:8: text behind the closing quote; write '' for a quote inside"),
    ('a: "say "hi" now"', '1:10: text behind the closing quote; write \\" for a quote inside'),
    ("a: ['x' 'y']", "1:9: expected ',' or ']' after the '[' of line 1"),
    ("a: @x", "1:4: a value cannot begin with '@'; put quotes around it"),
    ("a: `x`", "1:4: a value cannot begin with '`'; put quotes around it"),
    ("a: }", "1:4: unexpected '}'; put quotes around it"),
    ("a: *x", "1:4: there is no anchor '&x' above; put quotes around text that begins with '*'"),
    ("a: !x", "1:4: the tag '!x' is not supported; write the plain value"),
    ("a: !!set {b}", "1:4: the tag '!!set' is not supported; write the plain value"),
    ("a: !!python/name:os.system x", "1:4: the tag '!!python/name:os.system' is not supported; write the plain value"),
    ("a: !b!c x", "1:4: a tag that cannot be read; put quotes around text that begins with '!'"),
    (
        "prompt: {{name}}",
        "1:10: a key must be a string, not an object; put quotes around a value that begins with '{{'",
    ),
    (
        "- {{name}} is late",
        "1:4: a key must be a string, not an object; put quotes around a value that begins with '{{'",
    ),
    ("? [a]\n: b", "1:3: a key must be a string, not a list"),
    ("- &a [x]\n- *a : 1", "2:3: a key must be a string, not a list"),
    ("404: x", '1:1: a key must be a string, not the number 404; write "404", in quotes'),
    ("a:\n  true: x", '2:3: a key must be a string, not true; write "true", in quotes'),
    ("<<: {a: 1}", "1:1: merging with '<<' is not supported; write the keys out, or use an alias alone"),
    ("- a\nb: 1", "2:1: this does not fit into the block that begins on line 1; correct the indentation"),
    ("a: 1\nfoo\nb: 1", "2:1: expected 'key: value'; add the ':', or indent what continues the line above"),
    ("a: - b", "1:4: a list cannot begin here; put its first '-' on a new line"),
    ("a: 1\n---\nb: 2", "2:1: a second document begins here; keep one document to a file"),
    ("# nothing but this", "1:1: the file is empty"),
    ("a: \x01", "1:4: U+0001 is not allowed in YAML; remove it, or escape it in double quotes"),
    ("a: .nan", "1:4: .nan is not a JSON value; write null or a number, or put it in quotes"),
    ("a: -.INF", "1:4: -.INF is not a JSON value; write null or a number, or put it in quotes"),
    ("sha: 1234e5678", "1:6: the number 1234e5678 is too large; put it in quotes if it is text"),
    ("sha: 0012345", "1:6: '0012345' begins with 0; remove the 0, or put it in quotes if it is text"),
    ("a: " + "9" * 5000, "1:4: a number of 5000 digits is too long; put it in quotes if it is text"),
    ("a: 0x" + "f" * 5000, "1:4: a number of 5002 digits is too long; put it in quotes if it is text"),
    ("- " * 101 + "x", "1:201: lists and objects are nested more than 100 deep; flatten the document"),
    ("a: 1\nb: 2\na: 3", "3:1: key 'a' is given twice, first on line 1; keep one of them"),
    ("- &a [*a]", "1:7: '*a' would contain itself; write the part out instead"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN_JSON)
def test_broken_json_is_told_in_one_line(text: str, message: str) -> None:
    assert complaints(text, JSON) == [f"a.json:{message}"]


@pytest.fixture(params=["C", "Python"])
def each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers of PyYAML: the one in C is not there on every machine."""
    loader: object = yaml.CSafeLoader if request.param == "C" else yaml.SafeLoader
    monkeypatch.setattr(yamlflaws, "LOADER", loader)
    monkeypatch.setattr(yamltext, "LOADER", loader)


@pytest.mark.usefixtures("each_parser")
@pytest.mark.parametrize(("text", "message"), BROKEN_YAML)
def test_broken_yaml_is_told_in_one_line_whichever_parser_reads_it(text: str, message: str) -> None:
    assert complaints(text) == [f"a.yaml:{message}"]


@pytest.mark.parametrize(
    ("text", "path"), [('{"a": 1,\n"a": NaN,\n"b": {"c": 1, "c": 2}}', JSON), ("a: 1\na: .nan\nb: {c: 1, c: 2}", YAML)]
)
def test_one_look_shows_everything_that_is_wrong(text: str, path: Path) -> None:
    reasons = [line.split(": ", 1)[1] for line in complaints(text, path)]

    assert [reason.split(",")[0].split(";")[0] for reason in reasons] == [
        "key 'a' is given twice",
        "NaN is not a JSON value" if path is JSON else ".nan is not a JSON value",
        "key 'c' is given twice",
    ]


@pytest.mark.parametrize(("text", "path"), [("[" + "NaN," * 5000 + "1]", JSON), ("a: 1\n" * 5000, YAML)])
def test_nobody_is_shown_thousands_of_lines(text: str, path: Path) -> None:
    shown = complaints(text, path)

    assert len(shown) == 101
    assert shown[-1] == f"{path}: only the first 100 problems are shown; correct these first"
