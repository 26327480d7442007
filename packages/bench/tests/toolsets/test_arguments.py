"""Arguments made from schemas and what there is in a world."""

from ghx_bench.modes.arguments import FILLER, argument_sets

VALUES = {"owner": "acme", "repo": "widgets", "issue": 7, "pull": 9, "label": "bug", "query": "turn"}


def test_required_arguments_are_taken_from_the_world_however_they_are_spelled() -> None:
    schema = {
        "properties": {
            "owner": {"type": "string"},
            "repo": {"type": "string"},
            "issue_number": {"type": "number"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "state": {"type": "string"},
        },
        "required": ["owner", "repo", "issue_number", "labels"],
    }

    assert argument_sets(schema, VALUES) == (
        {"owner": "acme", "repo": "widgets", "issue_number": 7, "labels": ["bug"]},
    )


def test_a_required_choice_gives_a_call_for_each_of_its_values() -> None:
    schema = {
        "properties": {"method": {"enum": ["get", "list"]}, "pullNumber": {"type": "string"}},
        "required": ["method", "pullNumber"],
    }

    assert argument_sets(schema, VALUES) == (
        {"method": "get", "pullNumber": "9"},
        {"method": "list", "pullNumber": "9"},
    )


def test_what_the_world_has_nothing_for_is_filled_by_type() -> None:
    schema = {
        "properties": {
            "color": {"type": "string"},
            "count": {"type": "integer", "minimum": 3},
            "draft": {"type": ["boolean", "null"]},
            "order": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
            "place": {"type": "object", "properties": {"owner": {"type": "string"}}, "required": ["owner"]},
            "size": {"type": "integer", "default": 30},
        },
        "required": ["color", "count", "draft", "order", "place", "size"],
    }

    assert argument_sets(schema, VALUES) == (
        {"color": FILLER, "count": 3, "draft": False, "order": 1, "place": {"owner": "acme"}, "size": 30},
    )


def test_a_tool_without_arguments_is_called_without_any() -> None:
    assert argument_sets({"type": "object"}, VALUES) == ({},)
