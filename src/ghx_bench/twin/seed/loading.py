"""Reads and writes seed files."""

import os
import re
from typing import Any, cast

import yaml

from ghx_bench.documents import read_document, validate_document
from ghx_bench.twin.seed.document import WorldSeed

_PLAIN = re.compile(r"[A-Za-z][A-Za-z_ -]*[A-Za-z]")
_SHOWN = re.compile(
    r"\S[\n\x20-\x7e\xa1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*"
)  # a block keeps \n only: YAML folds other line ends
_MOST_BYTES = 256 * 1024 * 1024  # an exported world carries its history


def load_seed(path: str | os.PathLike[str]) -> WorldSeed:
    """Read a seed, YAML or JSON; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path, max_bytes=_MOST_BYTES), WorldSeed)


def seed_text(seed: WorldSeed) -> str:
    """Return a seed as YAML, without fields at their defaults."""
    content = seed.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return yaml.dump(
        {"version": seed.version, **content}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110
    )


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and quotes what a YAML reader might take for a number, date or bool."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if _PLAIN.fullmatch(text) else "|" if "\n" in text and _SHOWN.fullmatch(text) else '"'
    return cast("Any", dumper).represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
