import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.fixture(params=["C", "Python"])
def each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers of PyYAML: the one in C is not there on every machine."""
    loader: object = yaml.CSafeLoader if request.param == "C" else yaml.SafeLoader
    monkeypatch.setattr(yamlflaws, "LOADER", loader)
    monkeypatch.setattr(yamltext, "LOADER", loader)


@pytest.mark.usefixtures("each_parser")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: no", {"on": "no"}),
        ("[yes, off, y, N, True, FALSE]", ["yes", "off", "y", "N", True, False]),
        ("[~, null, NULL, '', nULL]", [None, None, None, "", "nULL"]),
        ("[2026-03-03, 2026-03-03T16:37:17Z, 12:30:45]", ["2026-03-03", "2026-03-03T16:37:17Z", "12:30:45"]),
        ("[1, -1, +1, 0, 0x1F, 0o17, 1_000, 0b1]", [1, -1, 1, 0, 31, 15, "1_000", "0b1"]),
        ("[1.5, .5, 1., 1e3, -1E-2, 1.2.3, ., -, +]", [1.5, 0.5, 1.0, 1000.0, -0.01, "1.2.3", ".", "-", "+"]),
        ("['1', \"true\", !!str 1, ! 1]", ["1", "true", "1", "1"]),
        ("{'404': 1, \"<<\": 2}", {"404": 1, "<<": 2}),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y\n", {"a": "x\ny\n", "b": "x y"}),
        (
            "a: &x {n: 1}\nb: *x\nc: [*x, &k key]\n*k : 2",
            {"a": {"n": 1}, "b": {"n": 1}, "c": [{"n": 1}, "key"], "key": 2},
        ),
        ("a:\nb: ''", {"a": None, "b": ""}),
        ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
    ],
)
def test_yaml_means_json(text: str, value: object) -> None:
    found = parse(text).value

    assert found == value
    assert json.dumps(found) == json.dumps(value)  # 1 is not 1.0 and not true


@pytest.mark.parametrize("path", [JSON, YAML])
def test_a_hundred_levels_are_not_too_deep(path: Path) -> None:
    value = parse("[" * 100 + "]" * 100, path).value

    depth = 0
    while isinstance(value, list):
        depth, value = depth + 1, value[0] if value else None
    assert depth == 100


def test_many_shallow_lists_are_not_deep() -> None:
    assert parse("[" + "[]," * 500 + "[]]", JSON).value == [[]] * 501


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert parse('{"a": "\\ud83d\\ude00"}', JSON).value == {"a": "😀"}


def test_a_few_lines_cannot_grow_into_gigabytes() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
    )

    (shown,) = complaints(bomb)

    assert shown.endswith("'*a4' makes the document grow too large; repeat less by aliases")


def test_a_long_text_cannot_be_repeated_without_end() -> None:
    (shown,) = complaints("- &a " + "x" * 400_000 + "\n- *a\n- *a\n- *a\n")

    assert shown == "a.yaml:4:3: '*a' makes the document grow too large; repeat less by aliases"


def test_aliases_do_not_get_around_the_limit_of_depth() -> None:
    tower = "- &a0 x\n" + "".join(f"- &a{i} {'[' * 60}*a{i - 1}{']' * 60}\n" for i in range(1, 50))

    assert complaints(tower) == ["a.yaml:3:67: lists and objects are nested more than 100 deep; flatten the document"]


SCRAPS = [
    "a",
    "b: ",
    "\n",
    "  ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ",",
    '"',
    "'",
    "&a ",
    "*a ",
    "!",
    "!!str ",
    "|",
    ">",
    "?",
    ":",
]
SCRAPS += [
    "#",
    "%",
    "@",
    "\t",
    "\r",
    "\u2028",
    "\x85",
    "\\",
    "\\u",
    "d800",
    "1",
    ".",
    "e9",
    "~",
    "---",
    "...",
    "<<",
    "0x",
]
SCRAPS += ["\ufeff", "é", "😀", "\0", "\x7f", "null", "NaN", "-Infinity", "{{", "}}", "//", "0", "[" * 101]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


TEXT = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E) | st.sampled_from("\té😀\n"))
READABLE = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(-1e300, 1e300) | TEXT


@given(st.recursive(READABLE, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=10))
def test_json_means_the_same_as_yaml(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)

    assert parse(text).value == parse(text, JSON).value == value


def survivors(data: bytes) -> list[Document]:
    """Read the data in each format; return what could be read, and check that the rest was refused properly."""
    read: list[Document] = []
    refused: list[DocumentError] = []
    for path in (JSON, YAML):
        try:
            read.append(parse(data, path))
        except DocumentError as error:
            refused.append(error)
    for document in read:
        json.dumps(document.value, ensure_ascii=False, allow_nan=False).encode()
        assert document.position("") is not None
    assert all(len(str(error).splitlines()) == len(error.problems) > 0 for error in refused)
    return read


@given(st.binary(max_size=60))
def test_no_bytes_surprise_anybody(data: bytes) -> None:
    survivors(data)


@given(scraps=st.lists(st.sampled_from(SCRAPS), max_size=25), loader=st.sampled_from(["CSafeLoader", "SafeLoader"]))
def test_no_scraps_of_syntax_surprise_anybody(scraps: list[str], loader: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yamlflaws, "LOADER", getattr(yaml, loader))
        patch.setattr(yamltext, "LOADER", getattr(yaml, loader))
        survivors("".join(scraps).encode())


def test_scraps_can_be_documents_too() -> None:
    assert len(survivors(b'{"a": 1}')) == 2
