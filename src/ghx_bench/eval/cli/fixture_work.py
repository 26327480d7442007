"""What the commands of `ghx-bench fixture` do once their command lines are read."""

import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import TypeVar

import anyio

from ghx_bench._base.errors import InputError
from ghx_bench.eval.cli.flags import Place
from ghx_bench.eval.fixtures.identities import live_clients
from ghx_bench.eval.fixtures.library import load_fixtures
from ghx_bench.eval.fixtures.manager import Cleaned, FixtureManager, FixtureStatus
from ghx_bench.eval.fixtures.repository_claims import require_unclaimed
from ghx_bench.eval.project.catalogue import Catalogue
from ghx_bench.eval.project.config import EvalConfig, project_config, project_file
from ghx_bench.eval.scenario.manifest import FixtureManifest, load_fixture_manifest, write_fixture_manifest
from ghx_bench.eval.stages.github_environment import with_host
from ghx_bench.eval.stages.twin_stage import required_fixtures
from ghx_bench.profiler.selection import select_scenarios

T = TypeVar("T")


def seed_fixtures(place: Place, names: Sequence[str] | None) -> int:
    """Make fixtures, and write down where they are; unless they are named, those that the scenarios require."""
    wanted = _required(place) if names is None else names
    return _make(place, lambda manager: manager.seed(wanted))


def reset_fixtures(place: Place, names: Sequence[str] | None) -> int:
    """Put fixtures back, and write down where they are now."""
    config = _settings(place)
    if names is None and not config.fixtures.manifest.is_file():
        raise InputError(f"{config.fixtures.manifest}: there is no manifest; name the fixtures to put back")
    return _make(place, lambda manager: manager.reset(names))


def show_status(place: Place, names: Sequence[str] | None) -> int:
    """Print what has become of fixtures."""
    found = _work(_settings(place), lambda manager: manager.status(names))
    if place.json:
        _print([asdict(each) for each in found])
        return 0
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        print(_line(each, width))  # noqa: T201 - this command's output
    return 0


def clean_up(place: Place, *, dry_run: bool) -> int:
    """Close and remove what fixtures have left."""
    config = _settings(place)
    if not dry_run:
        _require_free(config)
    cleaned = _work(config, lambda manager: manager.cleanup(everything=True, dry_run=dry_run))
    if place.json:
        _print(asdict(cleaned))
    else:
        print(_told(cleaned, dry_run=dry_run))  # noqa: T201 - this command's output
    return 0


def _make(place: Place, work: Callable[[FixtureManager], Awaitable[FixtureManifest]]) -> int:
    config = _settings(place)
    _require_free(config)
    manifest = _work(config, work)
    write_fixture_manifest(config.fixtures.manifest, manifest)
    if place.json:
        _print(manifest.to_wire())
        return 0
    width = max((len(name) for name in manifest.fixtures), default=0)
    for name, each in manifest.fixtures.items():
        print(f"{name:{width}}  {each.type} #{each.number}")  # noqa: T201 - this command's output
    print(f"in {manifest.repo}; written to {config.fixtures.manifest}")  # noqa: T201 - the same
    return 0


def _required(place: Place) -> Sequence[str] | None:
    """Return what the scenarios of the configuration require, and say so; None, for all, without a configuration."""
    file = project_file(place.config)
    if file is None:
        print("note: there is no configuration here; all fixtures are made", file=sys.stderr)  # noqa: T201 - the command line
        return None
    config = _settings(place)
    catalogue = Catalogue(config)
    with redirect_stdout(sys.stderr):  # what a project's own scorers print is not this command's output
        chosen = anyio.run(select_scenarios, config.scenarios, catalogue.load, catalogue.sets)
    names = required_fixtures(chosen)
    told = ", ".join(names) or "none"
    print(f"note: the scenarios of {file} require {told}; name fixtures to make others", file=sys.stderr)  # noqa: T201 - the same
    return names


def _require_free(config: EvalConfig) -> None:
    """Refuse to change fixtures that a run on this machine works with."""
    if config.fixtures.repo is not None:
        require_unclaimed(config.fixtures.repo)


def _settings(place: Place) -> EvalConfig:
    """Return the project's configuration with the flags applied; without a file, the flags alone."""
    return project_config(place.config).with_overrides(
        {
            "--repo": place.repo,
            "--manifest": None if place.manifest is None else str(place.manifest),
            "--author-token-env": place.author_token_env,
        }
    )


def _work(config: EvalConfig, work: Callable[[FixtureManager], Awaitable[T]]) -> T:
    """Do something with the fixtures of the configured repository."""
    repo, path = config.fixtures.repo, config.fixtures.manifest
    if repo is None:
        raise InputError("no repository is named; give --repo owner/name, or fixtures.repo in the configuration")
    library, environ = load_fixtures(config.fixtures.folders), with_host(os.environ)
    known = load_fixture_manifest(path) if path.is_file() else None

    async def run() -> T:
        async with live_clients(environ, config.fixtures) as clients:
            return await work(FixtureManager(repo, clients, library, known=known))

    return anyio.run(run)


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
