"""Opens the world of a seed or a data directory, and picks the user to work as."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.errors import InputError
from ghx_twin.commands import users
from ghx_twin.queries import lookup
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.clock import ClockPolicy
from ghx_twin.state.records import User
from ghx_twin.world import DATABASE, World

if TYPE_CHECKING:  # loads pydantic, which a world without a seed starts without
    from ghx_twin.seed.document import WorldSeed

OCTOCAT = "octocat"
WorldBuilder = Callable[[World], object]


def open_world(seed: Path | None, data_dir: Path | None = None, *, clock: ClockPolicy | None = None) -> World:
    """Return the world of a seed, of a data directory, or one with a single user; a kept world is not seeded again.

    `clock` is what moves the clock of the world once it is built: each act where it is left out, or what a kept world
    has stored.
    """
    if seed is not None and data_dir is not None and (data_dir / DATABASE).exists():
        raise InputError(f"{data_dir} holds a world already; leave the seed {seed} out or name a new folder")
    document = None if seed is None else _load(seed)
    builder = _world_builder(seed, document)
    if data_dir is not None and not (data_dir / DATABASE).exists():
        _create_in(builder, data_dir)
    world = _create(builder, None) if data_dir is None else World.create(data_dir)
    if data_dir is not None and document is not None:
        world.faults.add(*document.faults)  # of the world that was built, but not kept in its folder
    if clock is not None:
        world.set_clock(clock)
    return world


def add_faults(world: World, path: Path) -> None:
    """Script the faults of a file for a world."""
    from ghx_twin.seed.faults import load_faults, script_faults  # noqa: PLC0415 - a world without starts faster
    from ghx_twin.seed.mistakes import error_place  # noqa: PLC0415 - the same

    with error_place(str(path)):
        script_faults(world, load_faults(path))


def person(world: World, login: str | None) -> User:
    """Return the user to work as: the named one, or the first of the world."""
    if login is None:
        return _people(world)[0]
    try:
        return lookup.user(world, login)
    except NotFoundRefusal:
        logins = ", ".join(user.login for user in _people(world))
        raise InputError(f"this world has no {login}; it has {logins}") from None


def _load(seed: Path) -> "WorldSeed":
    from ghx_twin.seed.loading import load_seed  # noqa: PLC0415 - a world without a seed starts faster

    return load_seed(seed)


def _world_builder(seed: Path | None, document: "WorldSeed | None") -> WorldBuilder:
    """Return the function that fills a world."""
    if document is None:
        return lambda _: None
    from ghx_twin.seed.building import build_world  # noqa: PLC0415 - the same
    from ghx_twin.seed.mistakes import error_place  # noqa: PLC0415 - a world without a seed starts faster

    def builder(world: World) -> None:
        with error_place(str(seed)):
            build_world(world, document)

    return builder


def _create(builder: WorldBuilder, directory: Path | None) -> World:
    world = World.create(directory)
    try:
        builder(world)
        if not _people(world):
            with world.acting(None) as act:
                users.create_user(act, login=OCTOCAT, name="The Octocat")
    except BaseException:
        world.close()
        raise
    return world


def _create_in(builder: WorldBuilder, directory: Path) -> None:
    """Create a world in `directory`, whole or not at all."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}-") as growing:
            # Built next to its place and moved there: a seed refused midway must not leave a world that opens.
            whole = Path(growing) / "world"
            _create(builder, whole).close()
            whole.replace(directory)
    except OSError as error:
        problem = f"no world can be kept in {directory}: {error.strerror or error}; name an empty or a new folder"
        raise InputError(problem) from error


def _people(world: World) -> list[User]:
    return [user for user in world.database.all(User) if user.type != "Organization"]
