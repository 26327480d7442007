"""Save a world as files and load it again: its records, its refs, and the git objects that are new.

A world that was forked from another needs the files of that one next to its own. A saved world holds no tokens, and
none of the secrets that the caller names.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pygit2

from ghx_base.errors import OperationError
from ghx_twin.git import bare
from ghx_twin.git.storage import GitStorage, Refs
from ghx_twin.state import connection as connections
from ghx_twin.state.columns import Cell, canonical_json
from ghx_twin.state.database import Database
from ghx_twin.state.records import RECORDS
from ghx_twin.world import DATABASE, GIT, World

Redact = Callable[[str], str]
"""Returns a text without secrets."""

_OBJECT = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]+\.(?:pack|idx)")
_GONE = "***"


class SecretInWorldError(OperationError):
    """A world holds a secret where nothing can take its place: in what git or another record counts on."""

    code: ClassVar[str] = "SECRET_IN_WORLD"


def save_world(world: World, folder: Path, *, base: World | None = None, redact: Redact = str) -> None:
    """Write a world into an empty folder; of one that was forked from `base`, without the objects that are there.

    Raises `SecretInWorldError` where what `redact` finds is in a commit, a file or a name that others refer to.
    """
    with world.database.locked():  # records and refs must be of one moment; objects are never removed
        content, refs = world.database.to_bytes(), world.storage.refs()
    after = 0 if base is None else base.database.last_change()
    (folder / DATABASE).write_bytes(_without_secrets(content, refs, after=after, redact=redact))
    base_places = set[str]() if base is None else {each for places in base.storage.places().values() for each in places}
    places = {identity: result for identity, result in world.storage.places().items() if identity in refs}
    for place in {each for result in places.values() for each in result} - base_places:
        _copy_objects(Path(place), folder / GIT / _repository_of(place) / "objects", redact)
    for identity, result in places.items():
        others = [each for each in map(_repository_of, result) if each != f"{identity}.git"]
        if others:
            info = folder / GIT / f"{identity}.git/objects/info"
            info.mkdir(parents=True, exist_ok=True)
            lines = "".join(f"../../{each}/objects\n" for each in dict.fromkeys(others))
            (info / "alternates").write_text(lines, encoding="utf-8")


def load_world(folder: Path, *, base: Path | None = None) -> World:
    """Return a copy of a saved world, in memory and a temporary folder; `base` is the folder of its saved base.

    Both folders must stay until the world is closed, since git objects are read where they are.
    """
    database = Database.from_bytes(connections.read_image(folder / DATABASE))
    refs = database.stored_refs()
    return World(
        database, GitStorage.from_places(refs, {identity: _places(identity, folder, base) for identity in refs})
    )


def _without_secrets(content: bytes, refs: Mapping[int, Refs], *, after: int, redact: Redact) -> bytes:
    """Return a database without its tokens, in which the refs of git are kept.

    Secrets are looked for in what has changed since `after`.
    """
    connection = connections.from_image(content)

    def redact_value(value: Cell) -> Cell:
        return redact(value) if isinstance(value, str) else value

    connection.create_function("redacted", 1, redact_value)
    connection.execute("PRAGMA secure_delete = ON")  # what is replaced would else stay in the file, where no row is
    try:
        connection.execute("BEGIN")
        _remove_tokens(connection)
        _redact_changes(connection, after)
        for identity, each in refs.items():
            text = canonical_json(each)
            if redact(text) != text:
                raise SecretInWorldError("a secret of the session is the name of a branch or a tag")
            connection.execute("REPLACE INTO git_refs VALUES (?, ?)", (identity, text))
        connection.execute("COMMIT")
        return connections.image(connection)
    except sqlite3.IntegrityError as error:
        raise SecretInWorldError("a secret of the session is the name of several objects") from error
    finally:
        connection.close()


def _remove_tokens(connection: sqlite3.Connection) -> None:
    for (token,) in connection.execute("SELECT token FROM tokens").fetchall():
        # The memory of changes is compared row by row with that of the base, in which the same tokens are replaced.
        connection.execute(
            'UPDATE changes SET "before" = replace("before", ?1, ?2), "after" = replace("after", ?1, ?2) '
            "WHERE \"table\" = 'tokens'",
            (token, _GONE),
        )
    connection.execute("DELETE FROM tokens")


def _redact_changes(connection: sqlite3.Connection, after: int) -> None:
    connection.execute(
        'UPDATE changes SET field = redacted(field), "before" = redacted("before"), "after" = redacted("after") '
        "WHERE seq > ?",
        (after,),
    )
    for model in RECORDS:
        columns = [f'"{name}" = redacted("{name}")' for _, name, *_ in _columns(connection, model.table)]
        connection.execute(
            f'UPDATE "{model.table}" SET {", ".join(columns)} '  # noqa: S608 - names are ours
            'WHERE id IN (SELECT object_id FROM changes WHERE seq > ? AND "table" = ?)',
            (after, model.table),
        )


def _columns(connection: sqlite3.Connection, table: str) -> list[tuple[int, str, str]]:
    rows: list[tuple[int, str, str]] = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
    return [each for each in rows if each[1] != "id"]


def _copy_objects(source: Path, place: Path, redact: Redact) -> None:
    for name in _object_files(source):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, place / name)
    if not place.is_dir():
        return
    # Without the alternates of the source, so that only what was copied is looked at.
    objects = pygit2.Odb()
    objects.add_backend(pygit2.OdbBackendLoose(str(place), -1, False), 1)  # pyright: ignore[reportArgumentType] - as libgit2 has it
    objects.add_backend(pygit2.OdbBackendPack(str(place)), 1)
    for identity in objects:
        text = objects.read(identity)[1].decode("utf-8", "surrogateescape")
        if redact(text) != text:
            raise SecretInWorldError("a secret of the session is in what was committed")


def _object_files(folder: Path) -> Iterator[str]:
    """Yield the files that hold objects; what git is about to write, or has given up, is none of them."""
    for path in folder.glob("*/*"):
        name = path.relative_to(folder).as_posix()
        if _OBJECT.fullmatch(name):
            yield name


def _repository_of(place: str) -> str:
    """Return the folder of the repository (`7.git`) whose objects are in a place."""
    return Path(place).parent.name


def _places(identity: int, folder: Path, base: Path | None) -> tuple[str, ...]:
    """Return where a repository finds its objects: its own, and those of repositories that it shares some with."""
    own = f"{identity}.git"
    homes = [each / GIT for each in (base, folder) if each is not None]
    names = [Path(line).parent.name for home in homes for line in bare.read_alternates(home / own)]
    places = [home / name / "objects" for name in dict.fromkeys((*names, own)) for home in homes]
    return tuple(str(each.resolve()) for each in places if each.is_dir())
