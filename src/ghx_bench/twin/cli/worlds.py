"""The world that a command works on, and whom it works as."""

import tempfile
from pathlib import Path

from ghx_bench._base.errors import FlagError
from ghx_bench.twin.commands import users
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.seed.document import WorldSeed
from ghx_bench.twin.seed.loading import load_seed
from ghx_bench.twin.seed.planting import plant
from ghx_bench.twin.state.records import User
from ghx_bench.twin.world import DATABASE, World

OCTOCAT = "octocat"


def open_world(seed: Path | None, data_dir: Path | None = None) -> World:
    """Return the world of a seed, of a data directory, or one with a single user; a kept world is not seeded again."""
    if seed is not None and data_dir is not None and (data_dir / DATABASE).exists():
        raise FlagError("--seed", f"{data_dir} holds a world already; leave the flag out or name a new folder")
    wanted = WorldSeed() if seed is None else load_seed(seed)
    if data_dir is None:
        return _made(wanted, None)
    if not (data_dir / DATABASE).exists():
        _keep(wanted, data_dir)
    return World.create(data_dir)


def _made(seed: WorldSeed, directory: Path | None) -> World:
    world = World.create(directory)
    try:
        plant(world, seed)
        if not _people(world):
            with world.acting(None) as act:
                users.create_user(act, login=OCTOCAT, name="The Octocat")
    except BaseException:
        world.close()
        raise
    return world


def _keep(seed: WorldSeed, directory: Path) -> None:
    """Make a world in a folder of its own and give it its place when it is whole, so that no half of one is kept."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}-") as growing:
            whole = Path(growing) / "world"
            _made(seed, whole).close()
            whole.replace(directory)
    except OSError as error:
        problem = f"{directory} cannot be used: {error.strerror or error}; name an empty or a new folder"
        raise FlagError("--data-dir", problem) from error


def person(world: World, login: str | None) -> User:
    """Return the user a command works as: the named one, or the first of the world."""
    if login is None:
        return _people(world)[0]
    try:
        return lookup.user(world, login)
    except NotFoundRefusal:
        known = ", ".join(user.login for user in _people(world))
        raise FlagError("--user", f"this world has no {login}; it has {known}") from None


def _people(world: World) -> list[User]:
    return [user for user in world.database.all(User) if user.type != "Organization"]
