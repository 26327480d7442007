"""`ghx-bench fixture`: what scenarios need on GitHub, made, looked at, put back and taken away."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Json = Annotated[bool, Parameter(negative="")]


def list_fixtures(*, config: Path | None = None, json: Json = False) -> int:
    """List the fixtures there are: those that come with the package, and the project's own.

    Parameters
    ----------
    config
        The configuration that names the project's folders; `eval.config.yaml` in the current folder unless given.
    json
        Print the list as JSON.
    """
    from ghx_bench.eval.cli.fixture_work import Place, show_fixtures

    return show_fixtures(Place(config=config), as_json=json)


def seed(
    *names: str,
    config: Path | None = None,
    repo: str | None = None,
    manifest: Path | None = None,
    author_token_env: str | None = None,
    json: Json = False,
) -> int:
    """Let fixtures be there on GitHub, and write down where: what is there already is kept and put right.

    GitHub is the one that GITHUB_API_URL or GH_HOST name, github.com unless they do. The agent is whoever GITHUB_TOKEN
    belongs to.

    Parameters
    ----------
    names
        Which fixtures; all unless given.
    config
        The configuration; `eval.config.yaml` in the current folder unless given. The flags below override it.
    repo
        The repository that holds the fixtures, as owner/name. No other is touched.
    manifest
        The file that says where each fixture is.
    author_token_env
        The environment variable with the token of a second identity, which authors what is reviewed.
    json
        Print where the fixtures are as JSON.
    """
    from ghx_bench.eval.cli.fixture_work import Place, seed_fixtures

    place = Place(config=config, repo=repo, manifest=manifest, author_token_env=author_token_env)
    return seed_fixtures(place, names or None, as_json=json)


def status(
    *names: str,
    config: Path | None = None,
    repo: str | None = None,
    manifest: Path | None = None,
    author_token_env: str | None = None,
    json: Json = False,
) -> int:
    """Say which fixtures are there, and how they are not as they were made; nothing is changed.

    Parameters
    ----------
    names
        Which fixtures; all unless given.
    config
        The configuration; `eval.config.yaml` in the current folder unless given. The flags below override it.
    repo
        The repository that holds the fixtures, as owner/name.
    manifest
        The file that says where each fixture is.
    author_token_env
        The environment variable with the token of a second identity, which authors what is reviewed.
    json
        Print what was found as JSON.
    """
    from ghx_bench.eval.cli.fixture_work import Place, show_status

    place = Place(config=config, repo=repo, manifest=manifest, author_token_env=author_token_env)
    return show_status(place, names or None, as_json=json)


def reset(
    *names: str,
    config: Path | None = None,
    repo: str | None = None,
    manifest: Path | None = None,
    author_token_env: str | None = None,
    json: Json = False,
) -> int:
    """Put fixtures back to what they were when they were made: branches, texts, labels, comments, threads, state.

    Parameters
    ----------
    names
        Which fixtures; all that the manifest has unless given.
    config
        The configuration; `eval.config.yaml` in the current folder unless given. The flags below override it.
    repo
        The repository that holds the fixtures, as owner/name. No other is touched.
    manifest
        The file that says where each fixture is; what had to be made anew is written down there.
    author_token_env
        The environment variable with the token of a second identity, which authors what is reviewed.
    json
        Print where the fixtures are as JSON.
    """
    from ghx_bench.eval.cli.fixture_work import Place, reset_fixtures

    place = Place(config=config, repo=repo, manifest=manifest, author_token_env=author_token_env)
    return reset_fixtures(place, names or None, as_json=json)


def cleanup(
    *,
    config: Path | None = None,
    repo: str | None = None,
    author_token_env: str | None = None,
    dry_run: Json = False,
    json: Json = False,
) -> int:
    """Close everything that has the label `bench-fixture`, and remove the branches that begin with `bench/`.

    Parameters
    ----------
    config
        The configuration; `eval.config.yaml` in the current folder unless given. The flags below override it.
    repo
        The repository that holds the fixtures, as owner/name. No other is touched.
    author_token_env
        The environment variable with the token of a second identity, which authors what is reviewed.
    dry_run
        Only say what would be closed and removed.
    json
        Print what was closed and removed as JSON.
    """
    from ghx_bench.eval.cli.fixture_work import Place, clean_up

    place = Place(config=config, repo=repo, author_token_env=author_token_env)
    return clean_up(place, dry_run=dry_run, as_json=json)
