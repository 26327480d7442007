"""The world that somebody wants to work in, and whom they work as."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from ghx_bench._base.errors import InputError
from ghx_bench.twin.commands import users
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.state.clock import ClockPolicy
from ghx_bench.twin.state.records import User
from ghx_bench.twin.world import DATABASE, World

OCTOCAT = "octocat"
Planting = Callable[[World], object]


def open_world(seed: Path | None, data_dir: Path | None = None, *, clock: ClockPolicy | None = None) -> World:
    """Return the world of a seed, of a data directory, or one with a single user; a kept world is not seeded again.

    `clock` is what moves the clock of the world once it is planted: each act where it is left out, or what a kept world
    has stored.
    """
    if seed is not None and data_dir is not None and (data_dir / DATABASE).exists():
        raise InputError(f"{data_dir} holds a world already; leave the seed {seed} out or name a new folder")
    planting = _planting(seed)
    if data_dir is not None and not (data_dir / DATABASE).exists():
        _keep(planting, data_dir)
    world = _made(planting, None) if data_dir is None else World.create(data_dir)
    if clock is not None:
        world.set_clock(clock)
    return world


def person(world: World, login: str | None) -> User:
    """Return the user to work as: the named one, or the first of the world."""
    if login is None:
        return _people(world)[0]
    try:
        return lookup.user(world, login)
    except NotFoundRefusal:
        known = ", ".join(user.login for user in _people(world))
        raise InputError(f"this world has no {login}; it has {known}") from None


def _planting(seed: Path | None) -> Planting:
    """Return what fills a world; a seed that is wrong is refused here, before there is any world."""
    if seed is None:
        return lambda _: None
    from ghx_bench.twin.seed.loading import load_seed  # noqa: PLC0415 - a world without a seed starts faster
    from ghx_bench.twin.seed.mistakes import within  # noqa: PLC0415 - the same
    from ghx_bench.twin.seed.planting import plant  # noqa: PLC0415 - the same

    document = load_seed(seed)

    def planting(world: World) -> None:
        with within(str(seed)):
            plant(world, document)

    return planting


def _made(planting: Planting, directory: Path | None) -> World:
    world = World.create(directory)
    try:
        planting(world)
        if not _people(world):
            with world.acting(None) as act:
                users.create_user(act, login=OCTOCAT, name="The Octocat")
    except BaseException:
        world.close()
        raise
    return world


def _keep(planting: Planting, directory: Path) -> None:
    """Make a world in a folder of its own and give it its place when it is whole, so that no half of one is kept."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}-") as growing:
            whole = Path(growing) / "world"
            _made(planting, whole).close()
            whole.replace(directory)
    except OSError as error:
        problem = f"no world can be kept in {directory}: {error.strerror or error}; name an empty or a new folder"
        raise InputError(problem) from error


def _people(world: World) -> list[User]:
    return [user for user in world.database.all(User) if user.type != "Organization"]
