"""Write the tables of docs/configuration.md: every setting of `eval.config.yaml`, its default and its flag.

    python scripts/configuration_docs.py           write the page again
    python scripts/configuration_docs.py --check   say whether it is up to date

Everything between `<!-- generated: settings -->` and `<!-- end -->` comes from the code; the rest is written by hand.
"""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ghx_base.documents.section import settings_in
from ghx_bench.cli.flags import EvaluationFlags, GateFlags, MeasuringFlags
from ghx_bench.project.config import EvalConfig

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
SECTION = re.compile(r"(<!-- generated: settings -->\n).*?(<!-- end -->)", re.DOTALL)
HEAD = ("| setting | what it says | default | flag |", "|---|---|---|---|")
REQUIRED = "required"
UNSAID = (None, [], {}, [{"id": "none", "label": None}])
OFFERED = [each.name for kind in (MeasuringFlags, EvaluationFlags, GateFlags) for each in fields(kind)]
FLAGS_OF_RUN = {f"--{name.replace('_', '-')}" for name in OFFERED}
FLAGS = {each.place: each.set_by.flag for each in settings_in(EvalConfig) if each.set_by is not None}


def main() -> None:
    """Write or check the page."""
    written = PAGE.read_text(encoding="utf-8")
    wanted = SECTION.sub(lambda found: f"{found[1]}\n{settings()}\n\n{found[2]}", written)
    if sys.argv[1:] == ["--check"]:
        sys.exit(None if written == wanted else f"{PAGE} is out of date: run python scripts/configuration_docs.py")
    PAGE.write_text(wanted, encoding="utf-8")


def settings() -> str:
    """Return the tables: what stands alone, then a table for each section."""
    schema = EvalConfig.model_json_schema(by_alias=True)
    return "\n".join(_tables(schema, (), schema["$defs"]))


def _tables(schema: Mapping[str, Any], place: tuple[str, ...], known: Mapping[str, Any]) -> list[str]:
    """Return the table of what stands alone in a section, and then those of its own sections."""
    alone, sections = list[str](), list[str]()
    for name, described in schema["properties"].items():
        path, section = (*place, name), known.get(described.get("$ref", "").rpartition("/")[2], {})
        if "properties" in section:
            # Left out of the schema where it is the section's own.
            purpose = _sentence(described.get("description") or section.get("description", ""))
            sections += ["", f"**`{'.'.join(path)}`**: {purpose}", *_tables(section, path, known)]
        else:
            required = name in schema.get("required", ()) and not place
            alone.append(_row(path, {"default": REQUIRED, **described} if required else described))
    return [*(["", *HEAD, *alone] if place and alone else [*HEAD, *alone] if alone else []), *sections]


def _row(path: tuple[str, ...], described: Mapping[str, Any]) -> str:
    given, flag = described.get("default"), FLAGS.get(path)
    default = given if given is REQUIRED else "" if given in UNSAID else f"`{json.dumps(given)}`"
    offered = f"`{flag}`" if flag in FLAGS_OF_RUN else ""
    return f"| `{path[-1]}` | {described.get('description', '')} | {default} | {offered} |"


def _sentence(text: str) -> str:
    return text[:1].lower() + text[1:]


if __name__ == "__main__":
    main()
