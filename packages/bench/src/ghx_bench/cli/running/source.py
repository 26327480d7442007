"""`ghx-bench scenario show` and `ghx-bench fixture show`: files as they stand, those of the package included."""

from pathlib import Path

from ghx_base.errors import InputError
from ghx_bench.cli.flags import Switch


def show_scenario(id: str, /, *, solution: Switch = False, config: Path | None = None) -> int:  # noqa: A002 - as users see it
    """Print the file of a scenario: one of the project, or one that comes with the package.

    Parameters
    ----------
    id
        The scenario, as `ghx-bench list` names it; of a variant, the file of its scenario.
    solution
        Print its solution instead.
    config
        The configuration with the project's folders; `eval.config.yaml` in the current folder unless given.
    """
    from ghx_bench.catalogue import Catalogue
    from ghx_bench.project.config_file import project_config
    from ghx_profiler.agents.controls.solution import SUFFIX
    from ghx_profiler.scenario import scenario_of

    path = Catalogue(project_config(config)).path_of(id)
    if solution:
        path = path.with_name(f"{scenario_of(id)}{SUFFIX}")
        if not path.is_file():
            raise InputError(f"{path}: scenario {scenario_of(id)} has no solution; write one there")
    print(path.read_text(encoding="utf-8"), end="")
    return 0


def show_fixture(name: str, /, *, seed: Switch = False, config: Path | None = None) -> int:
    """Print the file of a fixture: one of the project, or one that comes with the package.

    Parameters
    ----------
    name
        The fixture, as `ghx-bench list fixtures` names it.
    seed
        Print the seed of its world instead.
    config
        The configuration with the project's folders; `eval.config.yaml` in the current folder unless given.
    """
    from ghx_bench.fixtures.library import load_fixtures
    from ghx_bench.project.config_file import project_config

    entry = load_fixtures(project_config(config).fixtures.folders).entry(name)
    path = entry.path
    if seed:
        if entry.document.world is None:
            raise InputError(f"fixture {name} is no world, and has no seed; leave --seed out")
        path = path.parent / entry.document.world.seed
        if not path.is_file():
            raise InputError(f"{path}: there is no such file, which fixture {name} names as its seed")
    print(path.read_text(encoding="utf-8"), end="")
    return 0
