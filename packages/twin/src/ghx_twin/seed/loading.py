"""Reads and writes seed files."""

import os
import re
import uuid
from typing import Any, cast

import yaml

from ghx_base.documents import read_document, validate_document
from ghx_twin.seed.document import WorldSeed

_PLAIN = re.compile(r"[A-Za-z][A-Za-z_ -]*[A-Za-z]")
_SHOWN = re.compile(
    r"\S[\n\x20-\x7e\xa1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*"
)  # a block keeps \n only: YAML folds other line ends
MOST_BYTES = 256 * 1024 * 1024
"""How large a seed may be: an exported world carries its history."""

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_LONG = 10_000


def load_seed(path: str | os.PathLike[str]) -> WorldSeed:
    """Read a seed, YAML or JSON; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path, max_bytes=MOST_BYTES), WorldSeed)


def seed_text(seed: WorldSeed) -> str:
    """Return a seed as YAML, without fields at their defaults."""
    aside: dict[str, str] = {}
    content = _set_aside(seed.model_dump(mode="json", by_alias=True, exclude_defaults=True), aside)
    text = yaml.dump(
        {"version": seed.version, **content}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110
    )
    return re.sub(r'"(ghx-aside-[0-9a-f]{32})"', lambda found: f'"{aside.get(found[1], found[1])}"', text)


def _set_aside(value: Any, aside: dict[str, str]) -> Any:
    """Return content with names in place of long base64: writing those letter by letter takes 0.6 s for a megabyte."""
    if isinstance(value, dict):
        return {name: _set_aside(each, aside) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_set_aside(each, aside) for each in cast("list[Any]", value)]
    if not isinstance(value, str) or len(value) < _LONG or not _BASE64.fullmatch(value):
        return value
    name = f"ghx-aside-{uuid.uuid4().hex}"
    aside[name] = value
    return name


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and quotes what a YAML reader might take for a number, date or bool."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if _PLAIN.fullmatch(text) else "|" if "\n" in text and _SHOWN.fullmatch(text) else '"'
    return cast("Any", dumper).represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
