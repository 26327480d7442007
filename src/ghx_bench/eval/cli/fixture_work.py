"""What the commands of `ghx-bench fixture` do once their command lines are read."""

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import anyio

from ghx_bench._base.errors import InputError
from ghx_bench.eval.config import EvalConfig, load_eval_config
from ghx_bench.eval.fixtures.identities import live_clients
from ghx_bench.eval.fixtures.library import BUILT_IN, FixtureLibrary, load_fixtures
from ghx_bench.eval.fixtures.manager import Cleaned, FixtureManager, FixtureStatus
from ghx_bench.eval.folders import CONFIG_FILE, FIXTURES_FOLDER
from ghx_bench.eval.manifest import FixtureManifest, load_fixture_manifest, write_fixture_manifest

T = TypeVar("T")

_ANY_MODE = "baseline"  # a configuration has modes, which do not matter here


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the fixtures are, as far as the command line says."""

    config: Path | None = None
    repo: str | None = None
    manifest: Path | None = None
    author_token_env: str | None = None

    def settings(self) -> EvalConfig:
        """Return the configuration with the flags applied; without a file, the flags alone."""
        file = self.config or Path(CONFIG_FILE)
        is_there = self.config is not None or file.is_file()
        config = load_eval_config(file) if is_there else EvalConfig(modes=(_ANY_MODE,))
        return config.with_overrides(
            {
                "--repo": self.repo,
                "--manifest": None if self.manifest is None else str(self.manifest),
                "--author-token-env": self.author_token_env,
            }
        )


def show_fixtures(place: Place, *, as_json: bool) -> int:
    """Print the fixtures there are."""
    library = _library(place.settings())
    if as_json:
        _print(
            [
                {
                    "name": name,
                    "description": library.get(name).description,
                    "builtIn": library.shelved(name).path.parent == BUILT_IN,
                    "file": str(library.shelved(name).path),
                }
                for name in library.names
            ]
        )
        return 0
    width = max(map(len, library.names))
    for name in library.names:
        print(f"{name:{width}}  {library.get(name).description}")  # noqa: T201 - this command's output
    return 0


def seed_fixtures(place: Place, names: Sequence[str] | None, *, as_json: bool) -> int:
    """Make fixtures, and write down where they are."""
    return _make(place, lambda manager: manager.seed(names), as_json=as_json)


def reset_fixtures(place: Place, names: Sequence[str] | None, *, as_json: bool) -> int:
    """Put fixtures back, and write down where they are now."""
    config = place.settings()
    if names is None and not config.fixtures.manifest.is_file():
        raise InputError(f"{config.fixtures.manifest}: there is no manifest; name the fixtures to put back")
    return _make(place, lambda manager: manager.reset(names), as_json=as_json)


def show_status(place: Place, names: Sequence[str] | None, *, as_json: bool) -> int:
    """Print what has become of fixtures."""
    found = _work(place.settings(), lambda manager: manager.status(names))
    if as_json:
        _print([asdict(each) for each in found])
        return 0
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        print(_line(each, width))  # noqa: T201 - this command's output
    return 0


def clean_up(place: Place, *, dry_run: bool, as_json: bool) -> int:
    """Close and remove what fixtures have left."""
    cleaned = _work(place.settings(), lambda manager: manager.cleanup(everything=True, dry_run=dry_run))
    if as_json:
        _print(asdict(cleaned))
    else:
        print(_told(cleaned, dry_run=dry_run))  # noqa: T201 - this command's output
    return 0


def _make(place: Place, work: Callable[[FixtureManager], Awaitable[FixtureManifest]], *, as_json: bool) -> int:
    config = place.settings()
    manifest = _work(config, work)
    write_fixture_manifest(config.fixtures.manifest, manifest)
    if as_json:
        _print(manifest.to_wire())
        return 0
    width = max((len(name) for name in manifest.fixtures), default=0)
    for name, each in manifest.fixtures.items():
        print(f"{name:{width}}  {each.type} #{each.number}")  # noqa: T201 - this command's output
    print(f"in {manifest.repo}; written to {config.fixtures.manifest}")  # noqa: T201 - the same
    return 0


def _work(config: EvalConfig, work: Callable[[FixtureManager], Awaitable[T]]) -> T:
    """Do something with the fixtures of the configured repository."""
    repo, path = config.fixtures.repo, config.fixtures.manifest
    if repo is None:
        raise InputError("no repository is named; give --repo owner/name, or fixtures.repo in the configuration")
    library = _library(config)
    known = load_fixture_manifest(path) if path.is_file() else None

    async def run() -> T:
        async with live_clients(os.environ, config.fixtures) as clients:
            return await work(FixtureManager(repo, clients, library, known=known))

    return anyio.run(run)


def _library(config: EvalConfig) -> FixtureLibrary:
    own = Path(FIXTURES_FOLDER)
    return load_fixtures(config.fixtures.folders or ([own] if own.is_dir() else []))


def _line(status: FixtureStatus, width: int) -> str:
    number = "" if status.number is None else f" #{status.number}"
    told = f": {'; '.join(status.differences)}" if status.state == "changed" else ""
    return f"{status.name:{width}}  {status.state}{number}{told}"


def _told(cleaned: Cleaned, *, dry_run: bool) -> str:
    parts = [
        *(f"issue #{number}" for number in cleaned.issues),
        *(f"pull request #{number}" for number in cleaned.pulls),
        *(f"branch {name}" for name in cleaned.branches),
    ]
    if not parts:
        return "nothing to clean up"
    return f"{'would close and remove' if dry_run else 'closed and removed'}: {', '.join(parts)}"


def _print(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))  # noqa: T201 - this command's output
