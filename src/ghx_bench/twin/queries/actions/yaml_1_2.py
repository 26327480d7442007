"""YAML as GitHub reads workflow files: version 1.2, in which `on` and `yes` are texts, and days are texts as well."""

import re
from typing import Any

import yaml

_BOOLEAN = "tag:yaml.org,2002:bool"
_PLAIN_TEXTS = frozenset({_BOOLEAN, "tag:yaml.org,2002:timestamp"})


def load(content: bytes) -> Any:
    """Return the value of a YAML text; raise `ValueError` where it is none."""
    try:
        return yaml.load(content, Loader=_Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error


class _Loader(yaml.SafeLoader):
    """PyYAML's own safe loader reads version 1.1."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _PLAIN_TEXTS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _first in "tTfF":
    _Loader.yaml_implicit_resolvers.setdefault(_first, []).append(
        (_BOOLEAN, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"))
    )
