"""The records of a world: transactions, the memory of changes, bytes, files, threads and the clock."""

import sqlite3
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_twin.state.connection import NotAWorldError, empty_in_memory
from ghx_twin.state.database import Database
from ghx_twin.state.record_cache import RecordCache, weigh
from ghx_twin.state.records import Comment, Label, Protection, User

START = "2026-01-01T00:00:00Z"


@pytest.fixture(params=["memory", "file"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Database]:
    made = Database.in_memory() if request.param == "memory" else Database.in_file(tmp_path / "world.sqlite")
    yield made
    made.close()


class Stop(Exception):
    """Something that goes wrong in the middle."""


@contextmanager
def undone(database: Database, actor: int | None = None) -> Generator[str]:
    """Hold a transaction that fails at its end."""
    with suppress(Stop), database.transaction(actor) as now:
        yield now
        raise Stop


def add_user(database: Database, login: str) -> User:
    return database.insert(User, login=login, created_at=database.now(), updated_at=database.now())


def logins(database: Database) -> list[str]:
    return [user.login for user in database.all(User)]


def test_a_finished_transaction_is_there_and_a_failed_one_is_not(database: Database) -> None:
    with database.transaction(None):
        add_user(database, "octo")
    before = database.to_bytes()
    with undone(database, None):
        octo = database.one(User, login="octo")
        assert octo is not None
        database.update(octo, name="Octo")
        add_user(database, "hubot")
        database.delete(octo)
    assert logins(database) == ["octo"]
    assert database.to_bytes() == before


def test_a_failed_part_is_undone_where_the_whole_goes_on(database: Database) -> None:
    with database.transaction(7) as outer:
        add_user(database, "one")
        with undone(database, 8):
            add_user(database, "two")
            with database.transaction(9) as inner:
                assert inner == outer
                add_user(database, "three")
        with database.transaction(9):
            add_user(database, "four")
    assert logins(database) == ["one", "four"]
    assert {change.actor_id for change in database.changes()} == {7}
    assert len(database.changes()) == 2


def test_a_failed_whole_takes_its_finished_parts_with_it(database: Database) -> None:
    with undone(database, None), database.transaction(None):
        add_user(database, "octo")
    assert logins(database) == []
    assert database.now() == START


def test_writes_belong_into_a_transaction(database: Database) -> None:
    with pytest.raises(RuntimeError, match="inside Database"):
        add_user(database, "octo")


def test_another_thread_does_not_write_into_a_transaction(database: Database) -> None:
    with ThreadPoolExecutor(1) as pool, database.transaction(None):
        foreign = pool.submit(database.note, "refs", 1, "x", None, "y")
        with pytest.raises(RuntimeError, match="the thread that began it"):
            foreign.result(timeout=300)


def test_the_memory_of_changes_says_who_what_and_when(database: Database) -> None:
    with database.transaction(5):
        octo = add_user(database, "octo")
    with database.transaction(6):
        database.update(octo, name="Octo", login="octo")
        database.note("refs", 1, "refs/heads/main", "a", "b")
    with database.transaction(None):
        database.delete(octo)
    made, named, moved, gone = database.changes()
    assert (made.actor_id, made.table, made.object_id, made.field, made.before) == (5, "users", octo.id, None, None)
    assert '"login":"octo"' in str(made.after)
    assert (named.actor_id, named.field, named.before, named.after) == (6, "name", None, "Octo")
    assert (moved.table, moved.field, moved.before, moved.after) == ("refs", "refs/heads/main", "a", "b")
    assert (gone.actor_id, gone.field, gone.after) == (None, None, None)
    assert '"name":"Octo"' in str(gone.before)
    assert database.changes(after=made.seq) == [named, moved, gone]
    assert database.last_change() == gone.seq


def test_a_record_read_earlier_is_no_picture_of_the_present(database: Database) -> None:
    with database.transaction(None):
        stale = add_user(database, "octo")
        database.update(stale, name="New")
        back = database.update(stale, name=None, bio="Bio")
    assert (back.name, back.bio) == (None, "Bio")
    assert [(change.field, change.before, change.after) for change in database.changes()][1:] == [
        ("name", None, "New"),
        ("name", "New", None),
        ("bio", None, "Bio"),
    ]


def test_what_was_deleted_cannot_be_changed_and_its_id_is_not_used_again(database: Database) -> None:
    with database.transaction(None):
        octo = add_user(database, "octo")
        database.delete(octo)
        with pytest.raises(LookupError):
            database.update(octo, name="x")
        with pytest.raises(LookupError):
            database.delete(octo)
        assert add_user(database, "octo").id == octo.id + 1


def test_the_same_writes_give_the_same_bytes(database: Database) -> None:
    others = Database.in_memory()
    for each in (database, others):
        with each.transaction(1):
            octo = add_user(each, "octo")
        with each.transaction(2):
            each.update(octo, name="x" * 3000)
        with undone(each, 2):
            each.delete(octo)
    assert database.to_bytes() == others.to_bytes()
    others.close()


def test_bytes_make_an_independent_copy(database: Database) -> None:
    with database.transaction(None):
        add_user(database, "octo")
    content = database.to_bytes()
    copy = Database.from_bytes(content)
    assert copy.to_bytes() == content
    with copy.transaction(None):
        add_user(copy, "hubot")
    assert (logins(database), logins(copy)) == (["octo"], ["octo", "hubot"])
    assert database.to_bytes() == content
    copy.close()


def test_going_back_to_bytes_is_exact(database: Database) -> None:
    with database.transaction(None):
        first = add_user(database, "octo")
    content = database.to_bytes()
    with database.transaction(None):
        for number in range(200):
            add_user(database, f"user-{number}")
    database.replace_with(content)
    assert logins(database) == ["octo"]
    assert database.to_bytes() == content
    with database.transaction(None):
        assert add_user(database, "hubot").id == first.id + 1


def test_a_database_is_not_copied_or_replaced_in_the_middle_of_a_transaction(database: Database) -> None:
    content = database.to_bytes()
    with database.transaction(None):
        with pytest.raises(RuntimeError):
            database.to_bytes()
        with pytest.raises(RuntimeError):
            database.replace_with(content)


def test_writers_of_many_threads_come_one_after_the_other(database: Database) -> None:
    def write(number: int) -> str:
        with database.transaction(number) as now:
            one = add_user(database, f"a-{number}")
            two = add_user(database, f"b-{number}")
            assert two.id == one.id + 1
            return now

    with ThreadPoolExecutor(16) as pool:
        times = list(pool.map(write, range(200)))
    assert len(set(times)) == 200
    assert len(logins(database)) == 400
    actors = [change.actor_id for change in database.changes()]
    assert actors[::2] == actors[1::2]


def test_readers_see_no_half_of_a_transaction(database: Database) -> None:
    def read(_: int) -> int:
        return database.count(User)

    def write(number: int) -> None:
        with database.transaction(None):
            add_user(database, f"a-{number}")
            add_user(database, f"b-{number}")

    with ThreadPoolExecutor(8) as pool:
        writing = [pool.submit(write, number) for number in range(50)]
        seen = list(pool.map(read, range(200)))
        for each in writing:
            each.result()
    assert all(count % 2 == 0 for count in seen)


def test_the_clock_moves_a_second_for_each_transaction(database: Database) -> None:
    assert database.now() == START
    with database.transaction(None) as now:
        assert now == database.now() == "2026-01-01T00:00:01Z"
    with database.transaction(None) as now:
        assert now == "2026-01-01T00:00:02Z"


def test_a_given_time_holds_for_its_transaction_and_never_turns_the_clock_back(database: Database) -> None:
    with database.transaction(None, at="2030-01-01T00:00:00Z") as now:
        assert now == "2030-01-01T00:00:00Z"
    with database.transaction(None, at="2001-01-01T02:00:00+02:00") as now:
        assert now == database.now() == "2001-01-01T00:00:00Z"
    assert database.now() == "2030-01-01T00:00:00Z"
    with database.transaction(None) as now:
        assert now == "2030-01-01T00:00:01Z"


def test_a_time_without_a_zone_is_utc_and_one_that_is_none_changes_nothing(database: Database) -> None:
    with database.transaction(None, at="2027-01-01T00:00:00") as now:
        assert now == "2027-01-01T00:00:00Z"
    with pytest.raises(ValueError, match="Invalid isoformat"), database.transaction(None, at="soon"):
        raise AssertionError
    with database.transaction(None) as now:
        assert now == "2027-01-01T00:00:01Z"


def test_a_wall_clock_shows_the_real_time_and_never_goes_backwards() -> None:
    real = iter([100, 1_800_000_000, 1_800_000_005, 1_700_000_000, 1_800_000_007])
    database = Database.in_memory(wall=lambda: next(real))
    database.set_clock("wall")

    assert database.now() == START  # the real time is earlier than the world
    with database.transaction(None) as first:
        assert first == database.now() == "2027-01-15T08:00:00Z"
    with database.transaction(None, at="2020-01-01T00:00:00Z") as second:
        assert second == "2020-01-01T00:00:00Z"
    assert database.now() == "2027-01-15T08:00:05Z"
    with database.transaction(None) as third:
        assert third == first
    assert database.now() == "2027-01-15T08:00:07Z"
    database.set_clock("ticking")
    assert database.now() == first
    database.close()


def test_what_moves_the_clock_is_kept_and_copied(database: Database) -> None:
    assert database.clock == "ticking"
    database.set_clock("wall")
    with pytest.raises(ValueError, match="a clock is ticking or wall, not 'sundial'"):
        database.set_clock("sundial")

    copy = database.copy()
    again = Database.from_bytes(copy.to_bytes())

    assert (database.clock, copy.clock, again.clock) == ("wall", "wall", "wall")
    copy.close()
    again.close()


def test_a_name_that_is_taken_fails_whatever_its_case(database: Database) -> None:
    with database.transaction(None):
        octo = add_user(database, "octo")
    with pytest.raises(sqlite3.IntegrityError), database.transaction(None):
        add_user(database, "OCTO")
    assert database.one(User, login="oCtO") == octo


def test_what_no_column_can_hold_is_found_nowhere(database: Database) -> None:
    assert database.get(User, 2**80) is None
    assert database.one(User, login="\ud800") is None
    assert database.all(User, id=(2**70, -(2**70))) == []
    assert database.count(User, login=()) == 0


def test_values_of_every_kind_come_back(database: Database) -> None:
    with database.transaction(None):
        rule = database.insert(
            Protection, repository_id=1, pattern="a*", required_checks=("ü", "b"), required_approvals=None
        )
        label = database.insert(Label, repository_id=1, name="bug", default=True, created_at="a", updated_at="b")
    assert database.get(Protection, rule.id) == rule
    assert database.all(Label, repository_id=(1, 2), description=None) == [label]
    assert label.default is True


@given(text=st.text(st.characters(codec="utf-8")))
def test_any_text_comes_back(text: str) -> None:
    database = Database.in_memory()
    with database.transaction(None):
        made = database.insert(User, login="octo", name=text, created_at="a", updated_at="a")
    assert database.one(User, name=text) == made
    database.close()


def test_refs_are_stored_with_the_transaction(database: Database) -> None:
    with database.transaction(None):
        database.store_refs({1: {"HEAD": "ref: refs/heads/main", "refs/heads/main": "a"}, 2: {"HEAD": "x"}})
    with undone(database, None):
        database.store_refs({})
    with database.transaction(None):
        database.store_refs({1: {"HEAD": "ref: refs/heads/main", "refs/heads/main": "b"}})
    assert database.stored_refs() == {1: {"HEAD": "ref: refs/heads/main", "refs/heads/main": "b"}}


def test_a_file_is_read_again(tmp_path: Path) -> None:
    first = Database.in_file(tmp_path / "world.sqlite")
    with first.transaction(None):
        add_user(first, "octo")
    content = first.to_bytes()
    first.close()
    second = Database.in_file(tmp_path / "world.sqlite")
    assert second.to_bytes() == content
    second.close()


def test_a_file_that_holds_no_world_is_refused(tmp_path: Path) -> None:
    garbage, foreign, older = (tmp_path / name for name in ("garbage", "foreign", "older"))
    garbage.write_text("this is no database, but long enough to be taken for one" * 20, encoding="utf-8")
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    Database.in_file(older).close()
    connection = sqlite3.connect(older)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    reasons = {garbage: "not the database of a world", foreign: "not of a world", older: "another version"}
    for file, reason in reasons.items():
        with pytest.raises(NotAWorldError, match=reason):
            Database.in_file(file)


def test_records_are_weighed_with_their_long_texts(database: Database) -> None:
    with database.transaction(None) as now:
        author = add_user(database, "ann")
        for _ in range(3):
            values = {"author_id": author.id, "created_at": now, "updated_at": now}
            database.insert(Comment, issue_id=1, body="x" * 10_000, **values)

    assert weigh(database.all(User)) == 1
    assert weigh(database.all(Comment)) == 3 + 29
    assert weigh([]) == 0


def test_the_cache_drops_everything_before_it_holds_too_many_records() -> None:
    cache = RecordCache(25)
    for key in "abc":
        cache.keep("users", key, [key], 10)
    assert [cache.get("users", key) for key in "abc"] == [None, None, ["c"]]
    cache.keep("labels", "d", ["d"], 25)
    assert (cache.get("users", "c"), cache.get("labels", "d")) == (["c"], None)
    cache.forget("users")
    assert cache.get("users", "c") is None


def test_a_list_of_cached_records_is_the_caller_s_own(database: Database) -> None:
    with database.transaction(None):
        add_user(database, "octo")
    database.all(User).clear()
    assert logins(database) == ["octo"]


@pytest.mark.parametrize("most", [0, 3, 10_000])
def test_records_read_again_are_what_was_written_last(most: int) -> None:
    database = Database(empty_in_memory(), most_cached_kb=most)
    with database.transaction(None):
        octo = add_user(database, "octo")
        assert database.count(User, login="octo") == 1
        with undone(database):
            database.update(octo, name="x")
            assert database.one(User, name="x") is not None
        assert database.one(User, name="x") is None
    before = database.to_bytes()
    database.set_clock("wall")
    assert database.to_bytes() != before
    database.replace_with(before)
    assert (logins(database), database.to_bytes()) == (["octo"], before)
    database.close()
