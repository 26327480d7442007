"""From a document to a record: what a model refuses becomes problems with their places and what to write instead."""

import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, PydanticUserError, ValidationError
from pydantic_core import ErrorDetails

from ghx_base.documents.document import Document, problems_of
from ghx_base.documents.model_errors import (
    Complaint,
    Schema,
    Tokens,
    find,
    missing_key,
    of_wrong_kind,
    unknown_key,
)
from ghx_base.documents.text import MAX_FLAWS
from ghx_base.errors import DocumentError
from ghx_base.problems import plain

M = TypeVar("M", bound=BaseModel)

_KEY_ITSELF = "[key]"
_DEEPEST_HOME = 3
_ABOUT_KEYS = frozenset({"missing", "extra_forbidden", "unexpected_keyword_argument"})  # the last is of dataclasses


def validate_document(document: Document, model: type[M], *, context: object = None) -> M:
    """Return the record in a document, or raise `DocumentError` with everything that is wrong with it."""
    try:
        return model.model_validate(document.value, context=context)
    except ValidationError as error:
        raise DocumentError(problems_of(document, explain(error, model, document.value))) from None


def explain(error: ValidationError, model: type[BaseModel], value: object) -> list[Complaint]:
    """Return what a model refused about a value in words: one finding for each thing to correct."""
    errors = error.errors(include_url=False)[: MAX_FLAWS * 10]  # several errors can come down to one finding
    details = [_Detail(each["loc"], each) for each in errors if not _is_an_aftermath(each, errors)]
    root = _schema_of(model)
    findings = _Explainer(root, value).explain(details, root, value, ())
    # A misspelt key is also a missing one; the misspelling alone is the thing to correct.
    suggested_keys = {(finding.tokens[:-1], finding.suggested_key) for finding in findings if finding.suggested_key}
    return [each for each in findings if each.missing is None or (each.tokens, each.missing) not in suggested_keys]


def _is_an_aftermath(error: ErrorDetails, errors: Sequence[ErrorDetails]) -> bool:
    """Return whether a list is called too short only because some of its items were refused."""
    if error["type"] != "too_short" or len(error["input"]) < error.get("ctx", {}).get("min_length", 0):
        return False
    place = error["loc"]
    return any(len(each["loc"]) > len(place) and each["loc"][: len(place)] == place for each in errors)


@lru_cache(maxsize=64)
def _schema_of(model: type[BaseModel]) -> Schema:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic warns about defaults that are not JSON, which do not matter here
        try:
            return model.model_json_schema()
        except PydanticUserError:
            return {}  # Without a schema the value itself must lead the way.


class _Detail(NamedTuple):
    """An error, and the part of its location that is still to be walked."""

    rest: Tokens
    error: ErrorDetails

    @property
    def is_about_a_key(self) -> bool:
        """Whether the last step of the location is a key that is missing or unknown."""
        return len(self.rest) == 1 and self.error["type"] in _ABOUT_KEYS


class _Explainer:
    """Walks the errors of one validation down the model's JSON schema and the value at the same time.

    Pydantic's locations mix keys and indices with the names of the branches of unions. Only the schema distinguishes
    them from keys, and only it has the keys of the object with the unknown one.
    """

    def __init__(self, root: Schema, value: object) -> None:
        self._root = root
        self._value = value

    def explain(self, details: Sequence[_Detail], schema: Schema, value: object, tokens: Tokens) -> list[Complaint]:
        schema = self._resolve(schema)
        here = [each for each in details if not each.rest]
        findings = [find(each.error, schema, tokens) for each in here]
        deeper = [each for each in details if each.rest]
        if not deeper:
            return findings
        if "oneOf" in schema:
            return findings + self._explain_tagged(deeper, schema, value, tokens)
        if len(schema.get("anyOf", ())) > 1:
            return findings + self._explain_union(deeper, schema, value, tokens)
        return findings + self._explain_parts(deeper, schema, value, tokens)

    def _explain_tagged(
        self, details: Sequence[_Detail], schema: Schema, value: object, tokens: Tokens
    ) -> list[Complaint]:
        tagged: Schema = schema.get("discriminator", {}).get("mapping", {})
        complaints: list[Complaint] = []
        for tag, group in _grouped(details).items():
            branch = {"$ref": tagged[str(tag)]} if str(tag) in tagged else {}
            complaints += self.explain(group, branch, value, tokens)
        return complaints

    def _explain_union(
        self, details: Sequence[_Detail], schema: Schema, value: object, tokens: Tokens
    ) -> list[Complaint]:
        groups = list(_grouped(details).values())
        branches: list[Schema] = schema["anyOf"]
        if len(groups) != len(branches):
            branches = [{} for _ in groups]
        # A union fails only when every branch does, so its branches and their errors come in the same order.
        branch_findings = [
            self.explain(group, branch, value, tokens) for group, branch in zip(groups, branches, strict=True)
        ]
        return _most_likely(branch_findings, value, tokens)

    def _explain_parts(
        self, details: Sequence[_Detail], schema: Schema, value: object, tokens: Tokens
    ) -> list[Complaint]:
        complaints = [self._explain_key(each, schema, value, tokens) for each in details if each.is_about_a_key]
        deeper = [each for each in details if not each.is_about_a_key]
        for step, group in _grouped(deeper).items():
            if step == _KEY_ITSELF:
                for each in group:
                    complaint = find(each.error, schema, tokens)
                    complaints.append(
                        Complaint(
                            tokens=tokens,
                            reason=f"key {complaint.reason}",
                            suggestion=complaint.suggestion,
                            at_key=True,
                        )
                    )
            elif not _has(value, step):
                complaints += self.explain(
                    group, schema, value, tokens
                )  # the name of a branch, or of a step in between
            else:
                part = cast("Any", value)[step]
                complaints += self.explain(group, self._part_of(schema, step), part, (*tokens, step))
        return complaints

    def _explain_key(self, detail: _Detail, schema: Schema, value: object, tokens: Tokens) -> Complaint:
        step = detail.rest[0]
        if not isinstance(step, str):
            return find(detail.error, schema, tokens)
        if detail.error["type"] == "missing":
            return missing_key(tokens, step, self._part_of(schema, step))
        known = list[str](schema.get("properties", ()))
        present = cast("dict[str, object]", value) if isinstance(value, dict) else {}
        return unknown_key(tokens, step, known, present, self._home_of(step, tokens))

    def _resolve(self, schema: Schema) -> Schema:
        """Follow references, and look through "or null"; keys next to a reference are kept."""
        while True:
            if "$ref" in schema:
                siblings = {key: each for key, each in schema.items() if key != "$ref"}
                schema = {**self._root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {}), **siblings}
            elif "anyOf" in schema and any(each.get("type") == "null" for each in schema["anyOf"]):
                choices = [each for each in schema["anyOf"] if each.get("type") != "null"]
                siblings = {key: each for key, each in schema.items() if key != "anyOf"}
                schema = {**choices[0], **siblings} if len(choices) == 1 else {**siblings, "anyOf": choices}
            else:
                return schema

    def _part_of(self, schema: Schema, step: str | int) -> Schema:
        if isinstance(step, int):
            inner: Sequence[Schema] = schema.get("prefixItems", ())
            part = inner[step] if step < len(inner) else schema.get("items")
        else:
            properties: dict[str, Schema] = schema.get("properties", {})
            respelled = {plain(key): each for key, each in properties.items()}
            others = list(schema.get("patternProperties", {}).values())
            other = others[0] if others else schema.get("additionalProperties")
            part = properties.get(step) or respelled.get(plain(step)) or other
        return self._resolve(cast("Schema", part)) if isinstance(part, dict) else {}

    def _home_of(self, key: str, tokens: Tokens) -> Tokens | None:
        """Return another object that takes exactly this key and lacks it: the usual fault of a wrong indentation."""
        level: list[tuple[Tokens, Schema, object]] = [((), self._resolve(self._root), self._value)]
        for _ in range(_DEEPEST_HOME):
            for place, schema, value in level:
                if key in schema.get("properties", {}) and place != tokens and not _has(value, key):
                    return place
            level = [
                ((*place, name), self._resolve(part), cast("Any", value)[name] if _has(value, name) else None)
                for place, schema, value in level
                for name, part in schema.get("properties", {}).items()
            ]
        return None


def _grouped(details: Iterable[_Detail]) -> dict[str | int, list[_Detail]]:
    groups: dict[str | int, list[_Detail]] = {}
    for detail in details:
        groups.setdefault(detail.rest[0], []).append(_Detail(detail.rest[1:], detail.error))
    return groups


def _most_likely(branch_findings: Sequence[list[Complaint]], value: object, tokens: Tokens) -> list[Complaint]:
    """Return the findings of the branch that was probably meant; without one, the expectations of all."""
    misfits = [
        next((each.expected for each in findings if each.expected and each.tokens == tokens), None)
        for findings in branch_findings
    ]
    matching = [findings for findings, misfit in zip(branch_findings, misfits, strict=True) if misfit is None]
    if matching:
        return min(matching, key=len)
    expected = list(dict.fromkeys(misfit for misfit in misfits if misfit))
    if "a number" in expected and "an integer" in expected:
        expected.remove("an integer")
    return [of_wrong_kind(tokens, " or ".join(expected), value)]


def _has(value: object, step: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and step < len(cast("list[object]", value))
    return isinstance(value, dict) and step in value
