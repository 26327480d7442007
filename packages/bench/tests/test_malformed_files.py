"""What is said about malformed files: each gets exactly these lines, good enough to correct it without the docs."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ghx_base.errors import DocumentError
from ghx_bench import load_eval_scenarios, load_fixture_manifest, load_scenario_sets

TABLE: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "malformed_scenarios.yaml").read_text())

GOOD: dict[str, Any] = {
    "id": "pr-review-001",
    "name": "Review",
    "description": "Reviews a pull request.",
    "category": "pr",
    "difficulty": "basic",
    "prompt": "Review #{{pr_number}} in {{repo}}.",
    "timeoutMs": 1000,
    "fixture": {
        "repo": "{{fixture_repo}}",
        "requires": ["pr_with_changes"],
        "bindings": {"pr_number": "pr_with_changes.number", "repo": "pr_with_changes.repo"},
    },
    "assertions": {
        "checkpoints": [
            {
                "id": "first",
                "description": "It is there.",
                "task": "pr.view",
                "input": {"prNumber": "{{pr_number}}"},
                "condition": {"type": "non_empty"},
            },
            {
                "id": "second",
                "description": "It is there.",
                "task": "pr.reviews.list",
                "input": {"prNumber": "{{pr_number}}"},
                "condition": {"type": "count_gte", "value": 1},
            },
        ]
    },
}


def changed(case: dict[str, Any]) -> str:
    scenario = copy.deepcopy(GOOD)
    for pointer in case.get("drop", ()):
        *way, last = pointer[1:].split("/")
        del inside(scenario, way)[last]
    for pointer, value in case.get("change", {}).items():
        *way, last = pointer[1:].split("/")
        part = inside(scenario, way)
        part[int(last) if isinstance(part, list) else last] = value
    return json.dumps(scenario, indent=1, ensure_ascii=False)


def inside(value: Any, way: list[str]) -> Any:
    for step in way:
        value = value[int(step) if isinstance(value, list) else step]
    return value


def complaints(path: Path) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        load_eval_scenarios(path)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{path}:") for line in lines)
    return [line.removeprefix(f"{path}:").strip() for line in lines]


def test_the_scenario_that_is_changed_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(GOOD))

    assert [scenario.id for scenario in load_eval_scenarios(path)] == ["pr-review-001"]


def test_the_table_is_long_and_names_each_case_once() -> None:
    assert len(TABLE) + len(TEXTS) >= 60
    assert len({case["name"] for case in TABLE}) == len(TABLE)


@pytest.mark.parametrize("case", TABLE, ids=[case["name"] for case in TABLE])
def test_a_scenario_with(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(changed(case))

    assert complaints(path) == case["said"]


@pytest.mark.parametrize("case", TABLE[::6], ids=[case["name"] for case in TABLE[::6]])
def test_the_same_is_said_of_the_same_scenario_in_yaml(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump(json.loads(changed(case)), sort_keys=False, allow_unicode=True))

    assert [without_place(line) for line in complaints(path)] == [without_place(line) for line in case["said"]]


def without_place(line: str) -> str:
    line_number, column, rest = line.split(":", 2)
    assert line_number.isdigit()
    assert column.isdigit()
    return rest


BOMB = b"a0: &a0 [" + b"x, " * 50 + b"x]\n"
for level in range(1, 6):
    BOMB += b"a%d: &a%d [%s]\n" % (level, level, b", ".join([b"*a%d" % (level - 1)] * 50))

TEXTS: dict[str, tuple[str, bytes, str]] = {
    "nothing": ("a.json", b"", "the file is empty"),
    "nothing but blanks": ("a.yaml", b" \n\n", "the file is empty"),
    "nothing but comments": ("a.yaml", b"# nothing yet\n", "1:1: the file is empty"),
    "a list": ("a.json", b"[]", "1:1: expected an object, got a list"),
    "a number": ("a.yaml", b"7", "1:1: expected an object, got the number 7"),
    "JSON that was cut off": (
        "a.json",
        b'{"id": "pr-a-001",\n "name": "A"',
        "2:13: the file ends before the '{' of line 1 is closed",
    ),
    "JSON with a comma too many": (
        "a.json",
        b'{"id": "pr-a-001",}',
        "1:18: a comma before a closing bracket; remove the comma",
    ),
    "JSON with a comment": (
        "a.json",
        b'{\n // the id\n "id": "pr-a-001"}',
        "2:2: JSON has no comments; remove it, or write the file as YAML",
    ),
    "JSON in single quotes": (
        "a.json",
        b"{'id': 'pr-a-001'}",
        '1:2: a string in single quotes; write it in "double quotes"',
    ),
    "JSON with Python's None": ("a.json", b'{"fixture": None}', "1:13: None is not a JSON value; write null"),
    "JSON with NaN": ("a.json", b'{"timeoutMs": NaN}', "1:15: NaN is not a JSON value; write null or a number"),
    "two JSON values": ("a.json", b"{} {}", "1:4: text after the end of the document; keep one document to a file"),
    "JSON without a colon": ("a.json", b'{"id" "pr-a-001"}', "1:7: expected ':' after the key"),
    "JSON with a key twice": (
        "a.json",
        b'{"id": "pr-a-001",\n "id": "pr-b-001"}',
        "2:2: key 'id' is given twice, first on line 1; keep one of them",
    ),
    "JSON with a leading zero": (
        "a.json",
        b'{"timeoutMs": 010}',
        "1:16: a number cannot begin with 0; remove the 0, or put it in quotes if it is text",
    ),
    "JSON nested too deep": (
        "a.json",
        b"[" * 200 + b"]" * 200,
        "1:101: lists and objects are nested more than 100 deep; flatten the document",
    ),
    "JSON that never ends nesting": (
        "a.json",
        b"[" * 200_000,
        "1:101: lists and objects are nested more than 100 deep; flatten the document",
    ),
    "JSON with half a character": (
        "a.json",
        b'{"name": "\\ud83d"}',
        "1:10: half a character: a surrogate escape without its other half; write the character itself",
    ),
    "YAML with a key twice": (
        "a.yaml",
        b"id: pr-a-001\nname: a\nid: pr-b-001\n",
        "3:1: key 'id' is given twice, first on line 1; keep one of them",
    ),
    "YAML with an open bracket": (
        "a.yaml",
        b"tags: [pr, issue\nname: x\n",
        "2:5: expected ',' or ']' after the '[' of line 1",
    ),
    "YAML with a tab": ("a.yaml", b"fixture:\n\trepo: a/b\n", "2:1: a tab cannot indent; use spaces, not tabs"),
    "YAML with a placeholder out of quotes": (
        "a.yaml",
        b"prompt: {{pr_number}} is it\n",
        "1:10: a key must be a string, not an object; put quotes around a value that begins with '{{'",
    ),
    "YAML with nothing but a placeholder out of quotes": (
        "a.yaml",
        b"prompt: {{pr_number}}\n",
        "1:10: a key must be a string, not an object; put quotes around a value that begins with '{{'",
    ),
    "YAML with a second colon": (
        "a.yaml",
        b"name: Review: the hard part\n",
        "1:13: a second ':' on one line; put quotes around a value that contains ': '",
    ),
    "two YAML documents": (
        "a.yaml",
        b"id: pr-a-001\n---\nid: pr-b-001\n",
        "2:1: a second document begins here; keep one document to a file",
    ),
    "YAML with a tag that would run a program": (
        "a.yaml",
        b"name: !!python/object/apply:os.system ['true']\n",
        "1:7: the tag '!!python/object/apply:os.system' is not supported; write the plain value",
    ),
    "YAML with a merge": (
        "a.yaml",
        b"base: &b {a: 1}\nfixture:\n  <<: *b\n",
        "3:3: merging with '<<' is not supported; write the keys out, or use an alias alone",
    ),
    "YAML with an alias of nothing": (
        "a.yaml",
        b"name: *nobody\n",
        "1:7: there is no anchor '&nobody' above; put quotes around text that begins with '*'",
    ),
    "YAML that contains itself": (
        "a.yaml",
        b"extensions: &e\n  again: *e\n",
        "2:10: '*e' would contain itself; write the part out instead",
    ),
    "a YAML bomb": ("a.yaml", BOMB, "4:20: '*a2' makes the document grow too large; repeat less by aliases"),
    "a text that is not UTF-8": (
        "a.yaml",
        b"id: pr-a-001\nname: Caf\xe9\n",
        "2:10: this is not UTF-8: byte 0xe9 at offset 22; save it as UTF-8",
    ),
    "a text in UTF-16": (
        "a.json",
        '{"id": 1}'.encode("utf-16"),
        "1:1: this is not UTF-8: byte 0xff at offset 0; it looks like UTF-16; save it as UTF-8",
    ),
    "an image": (
        "a.json",
        b"\x89PNG\r\n\x1a\n\x00\x00",
        "1:1: this is not UTF-8: byte 0x89 at offset 0; save it as UTF-8",
    ),
    "50 MB": (
        "a.json",
        b'{"name": "' + b"x" * 50_000_000 + b'"}',
        "the file has 50.0 MB, more than the 5.0 MB allowed; split it",
    ),
    "a file of another kind": ("a.toml", b"id = 1", "a file name must end in one of '.json', '.yaml', '.yml'"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_file_that_is(case: str, tmp_path: Path) -> None:
    name, content, said = TEXTS[case]
    path = tmp_path / name
    path.write_bytes(content)

    assert complaints(path) == [said]


def test_a_file_that_is_not_there_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "pr-review-001.json").write_text("{}")

    meant = tmp_path / "pr-review-001.json"
    assert complaints(tmp_path / "pr-reveiw-001.json") == [f"there is no such file; did you mean {str(meant)!r}?"]


def test_everything_wrong_with_all_files_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(changed({"change": {"/timeoutMs": "1", "/category": "prs", "/id": "A"}}))
    (tmp_path / "b.yaml").write_text("id: [\n")
    (tmp_path / "c.json").write_text(changed({"change": {"/prompt": "{{x1}}"}}))

    with pytest.raises(DocumentError) as caught:
        load_eval_scenarios(tmp_path)

    places = [(Path(problem.file).name, problem.pointer) for problem in caught.value.problems]
    assert places == [
        ("a.json", "/id"),
        ("a.json", "/category"),
        ("a.json", "/timeoutMs"),
        ("b.yaml", ""),
        ("c.json", "/prompt"),
    ]


def test_two_files_with_one_id_are_both_named(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(GOOD, indent=1))

    with pytest.raises(DocumentError) as caught:
        load_eval_scenarios(tmp_path)

    assert str(caught.value) == (
        f"{tmp_path / 'b.json'}:2:8: /id: scenario id 'pr-review-001' is also that of {tmp_path / 'a.json'}; "
        "give each scenario an id of its own"
    )


SETS: dict[str, tuple[str, str]] = {
    "a list": ("[]", "1:1: expected an object, got a list"),
    "a set that is one id": (
        '{"quick": "pr-a-001"}',
        "1:11: /quick: expected a list, got the string 'pr-a-001'; write ['pr-a-001']",
    ),
    "an id that is a number": (
        '{"quick": [1]}',
        "1:12: /quick/0: expected a string, got the number 1; put quotes around it",
    ),
    "an empty id": ('{"quick": [""]}', "1:12: /quick/0: must not be empty"),
    "an id twice": (
        '{"quick": ["pr-a-001", "pr-a-001"]}',
        "1:24: /quick/1: scenario 'pr-a-001' is given twice in set 'quick'; name it once",
    ),
    "a set twice": ('{"a": [], "a": []}', "1:11: key 'a' is given twice, first on line 1; keep one of them"),
}


@pytest.mark.parametrize("case", SETS)
def test_sets_with(case: str, tmp_path: Path) -> None:
    text, said = SETS[case]
    path = tmp_path / "scenario-sets.json"
    path.write_text(text)

    with pytest.raises(DocumentError) as caught:
        load_scenario_sets(path)

    assert str(caught.value) == f"{path}:{said}"


RESOURCE = '{"type": "pr", "number": 7, "repo": "o/r"}'
MANIFESTS: dict[str, tuple[str, str]] = {
    "no fixtures": (
        '{"seedId": "s", "createdAt": "t", "repo": "o/r"}',
        "1:1: missing key 'fixtures'; add it: the fixtures by the names that scenarios require",
    ),
    "a repository without an owner": (
        f'{{"seedId": "s", "createdAt": "t", "repo": "r", "fixtures": {{"a": {RESOURCE}}}}}',
        "1:43: /repo: 'r' does not have the form of 'octocat/hello-world'; "
        "the pattern is ^[A-Za-z0-9][A-Za-z0-9_-]*/\\.*[A-Za-z0-9_-][A-Za-z0-9._-]*$",
    ),
    "a number in quotes": (
        '{"seedId": "s", "createdAt": "t", "repo": "o/r",\n'
        ' "fixtures": {"a": {"type": "pr", "repo": "o/r", "number": "7"}}}',
        "2:60: /fixtures/a/number: expected an integer, got the string '7'; write 7, without quotes",
    ),
    "a list of fixtures": (
        '{"seedId": "s", "createdAt": "t", "repo": "o/r", "fixtures": []}',
        "1:62: /fixtures: expected an object, got a list",
    ),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_with(case: str, tmp_path: Path) -> None:
    text, said = MANIFESTS[case]
    path = tmp_path / "manifest.json"
    path.write_text(text)

    with pytest.raises(DocumentError) as caught:
        load_fixture_manifest(path)

    assert str(caught.value) == f"{path}:{said}"
