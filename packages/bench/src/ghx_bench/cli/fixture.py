"""`ghx-bench fixture`: what scenarios need on GitHub, made, looked at, put back and taken away."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

from ghx_base.errors import InputError
from ghx_bench.cli.flags import FixtureFlags, Switch

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.fixtures.manager import Cleaned, FixtureManager
    from ghx_bench.project.config import EvalConfig
    from ghx_bench.scenario.manifest import FixtureManifest

T = TypeVar("T")

_AS_CONFIGURED = FixtureFlags()


def seed(*names: str, flags: FixtureFlags = _AS_CONFIGURED) -> int:
    """Make fixtures on GitHub, and write down where they are: what is there already is kept and put right.

    GitHub is the one that GITHUB_API_URL or GH_HOST name, github.com unless they do. The agent is the owner
    of GITHUB_TOKEN.

    Parameters
    ----------
    names
        Which fixtures; those that the configuration's scenarios require unless given, or all without a configuration.
    """
    selected = names or _find_required(flags)
    return _make(flags, lambda manager: manager.seed(selected))


def status(*names: str, flags: FixtureFlags = _AS_CONFIGURED) -> int:
    """Say which fixtures are there, and how they are not as they were made; nothing is changed.

    Parameters
    ----------
    names
        Which fixtures; all unless given.
    """
    statuses = _work(_settings(flags), lambda manager: manager.status(names or None))
    if flags.json:
        _print([asdict(each) for each in statuses])
        return 0
    width = max((len(each.name) for each in statuses), default=0)
    for each in statuses:
        number = "" if each.number is None else f" #{each.number}"
        changes = f": {'; '.join(each.differences)}" if each.state == "changed" else ""
        print(f"{each.name:{width}}  {each.state}{number}{changes}")
    return 0


def reset(*names: str, flags: FixtureFlags = _AS_CONFIGURED) -> int:
    """Put fixtures back to what they were when they were made: branches, texts, labels, comments, threads, state.

    What had to be made anew is written down in the manifest.

    Parameters
    ----------
    names
        Which fixtures; all that the manifest has unless given.
    """
    config = _settings(flags)
    if not names and not config.fixtures.manifest.is_file():
        raise InputError(f"{config.fixtures.manifest}: there is no manifest; name the fixtures to put back")
    return _make(flags, lambda manager: manager.reset(names or None))


def cleanup(*, flags: FixtureFlags = _AS_CONFIGURED, dry_run: Switch = False) -> int:
    """Close everything that has the label `bench-fixture`, and remove the branches that begin with `bench/`.

    As long as a run of this machine works in the repository, nothing is done: it needs its fixtures.

    Parameters
    ----------
    dry_run
        Only say what would be closed and removed.
    """
    config = _settings(flags)
    if not dry_run:
        _require_free(config)
    cleaned = _work(config, lambda manager: manager.cleanup(everything=True, dry_run=dry_run))
    if flags.json:
        _print(asdict(cleaned))
    else:
        print(_in_words(cleaned, dry_run=dry_run))
    return 0


def _make(flags: FixtureFlags, work: Callable[[FixtureManager], Awaitable[FixtureManifest]]) -> int:
    from ghx_bench.scenario.manifest import write_fixture_manifest

    config = _settings(flags)
    _require_free(config)
    manifest = _work(config, work)
    write_fixture_manifest(config.fixtures.manifest, manifest)
    if flags.json:
        _print(manifest.to_wire())
        return 0
    width = max((len(name) for name in manifest.fixtures), default=0)
    for name, each in manifest.fixtures.items():
        print(f"{name:{width}}  {each.type} #{each.number}")
    print(f"in {manifest.repo}; written to {config.fixtures.manifest}")
    return 0


def _find_required(flags: FixtureFlags) -> Sequence[str] | None:
    """Return what the scenarios of the configuration require, and say so; None, for all, without a configuration."""
    import anyio

    from ghx_bench.catalogue import Catalogue
    from ghx_bench.project.config_file import project_file
    from ghx_bench.scenario.eval_scenario import required_fixtures
    from ghx_profiler.plan.selection import select_scenarios

    file = project_file(flags.config)
    if file is None:
        print("note: there is no configuration here; all fixtures are made", file=sys.stderr)
        return None
    config = _settings(flags)
    catalogue = Catalogue(config)
    with redirect_stdout(sys.stderr):  # what a project's own scorers print is not this command's output
        chosen = anyio.run(select_scenarios, config.scenarios, catalogue.load, catalogue.sets)
    names = required_fixtures(chosen)
    required = ", ".join(names) or "none"
    print(f"note: the scenarios of {file} require {required}; name fixtures to make others", file=sys.stderr)
    return names


def _require_free(config: EvalConfig) -> None:
    """Refuse to change fixtures that a run on this machine works with."""
    from ghx_bench.fixtures.repository_claims import require_unclaimed

    if config.fixtures.repo is not None:
        require_unclaimed(config.fixtures.repo)


def _settings(flags: FixtureFlags) -> EvalConfig:
    """Return the project's configuration with the flags applied; without a file, the flags alone."""
    from ghx_bench.project.config_file import project_config

    return project_config(flags.config).override(
        repo=flags.repo, manifest=flags.manifest, author_token_env=flags.author_token_env
    )


def _work(config: EvalConfig, work: Callable[[FixtureManager], Awaitable[T]]) -> T:
    """Do something with the fixtures of the configured repository."""
    import anyio

    from ghx_bench.fixtures.library import load_fixtures
    from ghx_bench.fixtures.manager import FixtureManager
    from ghx_bench.fixtures.repository_access import live_clients
    from ghx_bench.scenario.manifest import load_fixture_manifest
    from ghx_bench.stages.github_environment import with_host

    repo, path = config.fixtures.repo, config.fixtures.manifest
    if repo is None:
        raise InputError("no repository is named; give --repo owner/name, or fixtures.repo in the configuration")
    library, environ = load_fixtures(config.fixtures.folders), with_host(os.environ)
    manifest = load_fixture_manifest(path) if path.is_file() else None

    async def run() -> T:
        async with live_clients(environ, config.fixtures) as clients:
            return await work(FixtureManager(repo, clients, library, manifest=manifest))

    return anyio.run(run)


def _in_words(cleaned: Cleaned, *, dry_run: bool) -> str:
    parts = [
        *(f"issue #{number}" for number in cleaned.issues),
        *(f"pull request #{number}" for number in cleaned.pulls),
        *(f"branch {name}" for name in cleaned.branches),
    ]
    if not parts:
        return "nothing to clean up"
    return f"{'would close and remove' if dry_run else 'closed and removed'}: {', '.join(parts)}"


def _print(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
