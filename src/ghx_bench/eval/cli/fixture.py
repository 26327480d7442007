"""`ghx-bench fixture`: what scenarios need on GitHub, made, looked at, put back and taken away."""

from ghx_bench.eval.cli.flags import Place, Switch

_AS_CONFIGURED = Place()


def seed(*names: str, place: Place = _AS_CONFIGURED) -> int:
    """Let fixtures be there on GitHub, and write down where: what is there already is kept and put right.

    GitHub is the one that GITHUB_API_URL or GH_HOST name, github.com unless they do. The agent is whoever GITHUB_TOKEN
    belongs to.

    Parameters
    ----------
    names
        Which fixtures; those that the configuration's scenarios require unless given, or all without a configuration.
    """
    from ghx_bench.eval.cli.fixture_work import seed_fixtures

    return seed_fixtures(place, names or None)


def status(*names: str, place: Place = _AS_CONFIGURED) -> int:
    """Say which fixtures are there, and how they are not as they were made; nothing is changed.

    Parameters
    ----------
    names
        Which fixtures; all unless given.
    """
    from ghx_bench.eval.cli.fixture_work import show_status

    return show_status(place, names or None)


def reset(*names: str, place: Place = _AS_CONFIGURED) -> int:
    """Put fixtures back to what they were when they were made: branches, texts, labels, comments, threads, state.

    What had to be made anew is written down in the manifest.

    Parameters
    ----------
    names
        Which fixtures; all that the manifest has unless given.
    """
    from ghx_bench.eval.cli.fixture_work import reset_fixtures

    return reset_fixtures(place, names or None)


def cleanup(*, place: Place = _AS_CONFIGURED, dry_run: Switch = False) -> int:
    """Close everything that has the label `bench-fixture`, and remove the branches that begin with `bench/`.

    As long as a run of this machine works in the repository, nothing is done: it needs its fixtures.

    Parameters
    ----------
    dry_run
        Only say what would be closed and removed.
    """
    from ghx_bench.eval.cli.fixture_work import clean_up

    return clean_up(place, dry_run=dry_run)
