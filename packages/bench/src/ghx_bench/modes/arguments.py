"""Arguments for tools that nobody has written a call for: from the schema of a tool, and what there is in a world."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import cast

from pydantic import JsonValue

MOST_VARIANTS = 16
"""Calls of one tool: one for each value of its first required argument that is a choice, up to so many."""

FILLER = "example"
"""What stands for a required text that a world has nothing for."""

_NAMES: Mapping[str, Sequence[str]] = {
    "owner": ("owner", "org", "organization", "account"),
    "repo": ("repo", "name", "repository", "reponame"),
    "full_name": ("fullname", "repofullname", "nwo", "ownerrepo"),
    "issue": ("issuenumber", "issue", "issueid", "number", "issueindex"),
    "pull": ("prnumber", "pullnumber", "pr", "pull", "pullrequestnumber", "pullrequest", "prid"),
    "path": ("path", "file", "filepath", "filename"),
    "branch": ("branch", "ref", "frombranch", "base", "head", "targetcommitish"),
    "sha": ("sha", "commit", "commitsha", "commitid", "treesha"),
    "tag": ("tag", "tagname"),
    "run": ("runid", "run", "workflowrunid", "resourceid"),
    "job": ("jobid", "job"),
    "workflow": ("workflowid", "workflow", "workflowfile"),
    "release": ("releaseid",),
    "login": ("login", "user", "username", "assignee", "author", "reactorlogin"),
    "query": ("query", "q", "searchquery", "search", "term"),
    "label": ("label", "labelname"),
    "milestone": ("milestone", "milestonenumber"),
    "thread": ("threadid",),
}
_KEYS = {name: key for key, names in _NAMES.items() for name in names}
_MANY = {"labels": "label", "assignees": "login", "reviewers": "login", "paths": "path", "files": "path"}


def argument_sets(schema: Mapping[str, JsonValue], values: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], ...]:
    """Return the arguments to call a tool with: those it requires, and those that `values` has something for.

    `values` names what there is in the world: `owner`, `repo`, `issue`, `pull`, `path`, `branch`, `sha`, `tag`, `run`,
    `job`, `workflow`, `login`, `query` and so on, each as far as it is there. A tool whose required argument is a
    choice (`method`) is called once for each of its values.
    """
    properties = cast("dict[str, dict[str, JsonValue]]", schema.get("properties") or {})
    required = [str(name) for name in cast("list[JsonValue]", schema.get("required") or [])]
    descriptions = {name: describe_argument(properties.get(name)) for name in dict.fromkeys((*required, *properties))}
    base: dict[str, JsonValue] = {}
    for name, part in descriptions.items():
        # Optional ones that narrow a list down would hide what the tool shows; those that say where it looks do not.
        if name in required or world_key(name) in {"owner", "repo"}:
            base[name] = _value(name, part, values)
    choice = next((name for name in required if len(_choices(descriptions[name])) > 1), None)
    if choice is None:
        return (base,)
    return tuple({**base, choice: each} for each in islice(_choices(descriptions[choice]), MOST_VARIANTS))


def describe_argument(part: object) -> Mapping[str, JsonValue]:
    """Return the schema of one argument; of alternatives, the first that is not null."""
    if not isinstance(part, dict):
        return {}
    schema = cast("dict[str, JsonValue]", part)
    for key in ("anyOf", "oneOf"):
        for each in cast("list[JsonValue]", schema.get(key) or []):
            if isinstance(each, dict) and each.get("type") != "null":
                return {**schema, **each}
    return schema


def _value(name: str, part: Mapping[str, JsonValue], values: Mapping[str, JsonValue]) -> JsonValue:
    if choices := _choices(part):
        return choices[0]
    if "default" in part and part["default"] is not None:
        return part["default"]
    type_ = _type_of(part)
    if type_ == "array":
        item = describe_argument(part.get("items"))
        key = _MANY.get(_plain(name), "") if _type_of(item) != "object" else ""
        return [_typed(values[key], _type_of(item)) if key in values else _value(name, item, values)]
    if type_ == "object":
        return _object(part, values)
    key = world_key(name)
    if key in values:
        return _typed(values[key], type_)
    return _plain_filler(type_, part)


def _object(part: Mapping[str, JsonValue], values: Mapping[str, JsonValue]) -> JsonValue:
    sets = argument_sets(part, values)
    return sets[0] if sets else {}


def _typed(value: JsonValue, type_: str) -> JsonValue:
    match type_:
        case "string":
            return str(value)
        case "integer" | "number":
            return value if isinstance(value, int | float) else 1
        case _:
            return value


def _plain_filler(type_: str, part: Mapping[str, JsonValue]) -> JsonValue:
    match type_:
        case "integer" | "number":
            least = part.get("minimum")
            return least if isinstance(least, int | float) and not isinstance(least, bool) else 1
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return FILLER


def _choices(part: Mapping[str, JsonValue]) -> list[JsonValue]:
    if "const" in part:
        return [part["const"]]
    choices = part.get("enum")
    return choices if isinstance(choices, list) else []


def _type_of(part: Mapping[str, JsonValue]) -> str:
    type_ = part.get("type")
    if isinstance(type_, list):
        return next((str(each) for each in type_ if each != "null"), "string")
    return type_ if isinstance(type_, str) else "object" if "properties" in part else "string"


def world_key(name: str) -> str:
    """Return the key of `values` that an argument of this name means; empty where it means none."""
    return _KEYS.get(_plain(name), "")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
