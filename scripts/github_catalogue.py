"""Write the names of everything GitHub has, which distinguish a gap of the emulator from a misspelling.

    python scripts/github_catalogue.py                   take in the newest descriptions that npm has
    python scripts/github_catalogue.py --check           write nothing; exit 1 if something would change
    python scripts/github_catalogue.py --rest 23.0.2 --graphql path/to/schema.graphql

`--rest` and `--graphql` name a version of the npm packages `@octokit/openapi` and `@octokit/graphql-schema`, or a file
from one (`api.github.com.json`; `schema.graphql`). What is added and removed is listed. Written are names only:
`rest/github-operations.txt` has a line for each operation (method, path template, page of the documentation), and
`graphql/published.json` the types with their fields, arguments, input fields and enum values. Both begin with the
package they were made of.
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from github_newer_names import NEWER
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
)

TWIN = Path(__file__).parents[1] / "packages" / "twin" / "src" / "ghx_twin"
OPERATIONS = TWIN / "rest/github-operations.txt"
NAMES = TWIN / "graphql/published.json"
OPENAPI, GRAPHQL = "@octokit/openapi", "@octokit/graphql-schema"
# The second has what GitHub serves to enterprises under the same address, and little next to it.
DESCRIPTIONS = ("api.github.com.json", "ghec.json")
METHODS = ("get", "post", "put", "patch", "delete")
DOCUMENTATION = "https://docs.github.com/rest/"


def main() -> int:
    """Write or check both lists and say what changed in them."""
    parser = argparse.ArgumentParser(description="Write the names of everything GitHub has.")
    parser.add_argument("--rest", metavar="VERSION|FILE", help="the newest version of npm if left out")
    parser.add_argument("--graphql", metavar="VERSION|FILE", help="the newest version of npm if left out")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something would change")
    flags = parser.parse_args()
    source, texts = obtain(OPENAPI, flags.rest, [f"generated/{name}" for name in DESCRIPTIONS])
    operations = operation_lines(source, [json.loads(text) for text in texts])
    source, (text, *_) = obtain(GRAPHQL, flags.graphql, ["schema.graphql"])
    names = names_text(source, schema_names(parse_schema(text)))
    changes = [*compare(OPERATIONS, operations, operation_set), *compare(NAMES, names, coordinate_set)]
    print("\n".join(changes or ["nothing has changed"]))  # noqa: T201 - a command line tool
    if flags.check:
        return 1 if changes else 0
    OPERATIONS.write_text(operations, encoding="utf-8")
    NAMES.write_text(names, encoding="utf-8")
    return 0


def obtain(package: str, wanted: str | None, members: list[str]) -> tuple[str, list[str]]:
    """Return what a list is made of, and its text: a file, or members of a version of a package."""
    if wanted is not None and Path(wanted).is_file():
        return Path(wanted).name, [Path(wanted).read_text(encoding="utf-8")]
    npm = shutil.which("npm", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    if npm is None:
        sys.exit("npm is not installed; name a file instead of a version")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", "--silent", "--pack-destination", folder, f"{package}@{wanted or 'latest'}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        packed = next(Path(folder).glob("*.tgz"), None)
        if done.returncode or packed is None:
            sys.exit(f"{package}: npm has no version {wanted or 'latest'}: {done.stderr.strip()[-300:]}")
        with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as opened:
            texts = [_read(opened, f"package/{member}") for member in ("package.json", *members)]
    return f"{package}@{json.loads(texts[0])['version']}", texts[1:]


def _read(package: tarfile.TarFile, member: str) -> str:
    found = package.extractfile(member)
    if found is None:
        sys.exit(f"{member} is not in the package")
    return found.read().decode()


def operation_lines(source: str, descriptions: Iterable[Mapping[str, Any]]) -> str:
    """Return the list of operations: one line for each, the first description's where two have it."""
    lines: dict[tuple[str, int], str] = {}
    for description in descriptions:
        for path, item in description["paths"].items():
            for method, operation in item.items():
                if method in METHODS and "}...{" not in path:  # the older spelling of {basehead}
                    page = operation.get("externalDocs", {}).get("url", "").removeprefix(DOCUMENTATION) or "-"
                    lines.setdefault((path, METHODS.index(method)), f"{method.upper()} {path} {page}")
    return "\n".join([f"# {source}", *(lines[key] for key in sorted(lines))]) + "\n"


def parse_schema(text: str) -> GraphQLSchema:
    """Return a schema; the published one is no valid SDL in every detail."""
    return build_schema(text, assume_valid=True, assume_valid_sdl=True)


def schema_names(published: GraphQLSchema) -> dict[str, Any]:
    """Return all names of a schema and the newer ones; `values` are those of enums and the fields of inputs."""
    kinds = {name: kind for name, kind in published.type_map.items() if name[:2] != "__"}
    fields = {
        name: {field: sorted(entry.args) for field, entry in sorted(kind.fields.items())}
        for name, kind in kinds.items()
        if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType)
    }
    values = {
        name: sorted(kind.fields if isinstance(kind, GraphQLInputObjectType) else kind.values)
        for name, kind in kinds.items()
        if isinstance(kind, GraphQLInputObjectType | GraphQLEnumType)
    }
    for owner, _, name in (coordinate.partition(".") for coordinate in NEWER):
        if name and owner in fields:
            field, _, argument = name.removesuffix(":)").partition("(")
            fields[owner][field] = sorted({*fields[owner].get(field, ()), argument} - {""})
        if name and owner in values and name not in values[owner]:
            values[owner] = sorted([*values[owner], name])
    types = {*kinds, *(name for name in NEWER if "." not in name)}
    return {"fields": fields, "types": sorted(types), "values": values}


def names_text(source: str, names: Mapping[str, Any]) -> str:
    """Return the names as JSON, a line for each type, so that differences can be read."""
    parts = [f'"source": {json.dumps(source)}', f'"types": {json.dumps(names["types"])}']
    for part in ("fields", "values"):
        lines = [f"{json.dumps(name)}: {_compact(names[part][name])}" for name in sorted(names[part])]
        parts.append(f'"{part}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def compare(path: Path, text: str, read: Any) -> list[str]:
    """Return what a new list adds and removes, and another source."""
    before = path.read_text(encoding="utf-8")
    if before == text:
        return []
    old, new = read(before), read(text)
    changes = [f"+ {each}" for each in sorted(new - old)] + [f"- {each}" for each in sorted(old - new)]
    return changes or [f"~ {path.name} is written otherwise"]


def operation_set(text: str) -> set[str]:
    """Return the operations in a list, and its source."""
    return {line if line.startswith("#") else line.rpartition(" ")[0] for line in text.splitlines()}


def coordinate_set(text: str) -> set[str]:
    """Return the schema coordinates in a list of names, and its source."""
    names = json.loads(text)
    found = {f"# {names.get('source')}", *names["types"]}
    for owner, fields in names["fields"].items():
        found |= {f"{owner}.{field}" for field in fields}
        found |= {f"{owner}.{field}({argument}:)" for field, arguments in fields.items() for argument in arguments}
    return found | {f"{owner}.{value}" for owner, values in names["values"].items() for value in values}


if __name__ == "__main__":
    sys.exit(main())
