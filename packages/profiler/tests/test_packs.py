"""A run in one file: what is taken out of it, that it is always the same, and what is not opened."""

import json
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import a_row, write_run

from ghx_profiler.store import packs
from ghx_profiler.store.cleaning import Cleaner, copy_clean, homes_of
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.packs import PackError, PackRecord, run_folder, write_pack
from ghx_profiler.store.record import read_record
from ghx_profiler.store.rows import read_rows

HOME = "/home/user"
TOKEN = "gh" + "p_" + "a1B2" * 9
KEY = "correct horse battery staple"


def pack_of(run: Path, folder: Path, environ: dict[str, str] | None = None) -> tuple[Path, PackRecord]:
    folder.mkdir()
    record = copy_clean(run, folder, Cleaner.of(environ or {}, homes_of(run, Path("/home/agent"))))
    write_pack(folder, record, folder.with_suffix(".zip"))
    return folder.with_suffix(".zip"), record


def test_a_pack_is_opened_as_the_run_that_it_is_and_its_rows_are_the_same_bytes(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [a_row(model="vendor/m"), a_row(iteration=1, model="vendor/m")])

    file, record = pack_of(run, tmp_path / "packed")
    opened = run_folder(file)

    assert RunDirectory(opened).rows.read_bytes() == RunDirectory(run).rows.read_bytes()
    assert read_record(RunDirectory(opened).record) == read_record(RunDirectory(run).record)
    for row in read_rows(RunDirectory(run).rows):
        assert RunDirectory(opened).session(row.cell).read_bytes() == RunDirectory(run).session(row.cell).read_bytes()
    assert (record.rows, record.taken_out, record.left_out) == (2, (), ())
    assert run_folder(file) == opened, "unpacked once"
    assert run_folder(run) == run


def test_the_same_run_makes_the_same_bytes(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [a_row()])
    (run / "run.lock").touch()
    one, _ = pack_of(run, tmp_path / "one")
    for path in run.rglob("*"):
        path.touch()
    other, _ = pack_of(run, tmp_path / "other")

    assert one.read_bytes() == other.read_bytes()
    assert "run.lock" not in zipfile.ZipFile(one).namelist()


def test_secrets_and_home_folders_are_taken_out_and_everything_else_stays(tmp_path: Path) -> None:
    said = f"cat {HOME}/notes\n{HOME} {HOME}work /srv{HOME} file://{HOME}/x {TOKEN} {KEY}"
    rows = [a_row(), a_row(iteration=1, error=said, success=False), a_row(iteration=2)]
    run = write_run(tmp_path / "run", rows, says=said, started_in=f"{HOME}/project")

    file, record = pack_of(run, tmp_path / "packed", {"MY_API_KEY": KEY, "PATH": "/usr/bin"})
    opened = RunDirectory(run_folder(file))

    clean = f"cat ~/notes\n~ {HOME}work /srv{HOME} file://~/x *** ***"
    before, after = (RunDirectory(each).rows.read_bytes().splitlines() for each in (run, opened.path))
    assert (after[0], after[2]) == (before[0], before[2])
    assert json.loads(after[1]) == {**json.loads(before[1]), "error": clean}
    assert read_record(opened.record).started_in == "~/project"
    session = json.loads(opened.session(rows[0].cell).read_bytes())
    assert session["events"][0]["content"] == clean
    removed = {(each.file, each.what): (each.times, each.lines) for each in record.taken_out}
    assert removed["rows.jsonl", "secret"] == (2, (2,))
    assert removed["rows.jsonl", "home path"] == (3, (2,))
    assert removed["run.json", "home path"] == (1, ())
    everything = b"".join(path.read_bytes() for path in opened.path.rglob("*") if path.is_file()).decode()
    assert TOKEN not in everything
    assert KEY not in everything
    assert PackRecord.model_validate_json(zipfile.ZipFile(file).read("pack.json")) == record


@pytest.mark.parametrize(
    "secret",
    [
        *(
            "gh" + "o_" + "x" * 36,
            "github" + "_pat_" + "x" * 40,
            "sk" + "-ant-api03-" + "x" * 30,
            "AK" + "IA" + "X" * 16,
        ),
        "ey" + "JhbGciOiJIUzI1" + ".ey" + "JzdWIiOiIxMjM0" + ".SflKxwRJSMeKKF2QT4",
        "-----BEGIN " + "PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_taken_out_wherever_it_comes_from(secret: str) -> None:
    assert Cleaner.of({}, ()).clean(f'{{"a": "{secret}"}}')[0] == '{"a": "***"}'


@pytest.mark.parametrize(
    "text", ["task-0123456789abcdef0123456789", "https://github.com/o/r", "the ghp_ prefix", "***"]
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Cleaner.of({"KEYBOARD": text, "SHORT_KEY": "ab"}, ()).clean(text) == (text, {})


@given(
    st.recursive(
        st.text() | st.sampled_from([HOME, TOKEN, KEY, f"{HOME}/x", f"a:{KEY}@b", "https://u:p@h/x", '"\\']), st.lists
    )
)
def test_what_is_json_stays_json(value: Any) -> None:
    cleaner = Cleaner.of({"API_KEY": KEY, "OTHER_TOKEN": 'with "quotes" and \\'}, [HOME, "C:\\Users\\user"])
    for is_ascii in (True, False):
        clean, _ = cleaner.clean(json.dumps(value, ensure_ascii=is_ascii))
        assert not [secret for secret in (TOKEN, KEY) if secret in json.dumps(json.loads(clean))]


def test_what_is_neither_text_nor_a_file_of_the_run_is_left_out_and_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [a_row()])
    (run / "sessions" / "core.bin").write_bytes(b"\0")
    (run / "sessions" / "link.json").symlink_to("/etc/hostname")

    file, record = pack_of(run, tmp_path / "packed")

    assert record.left_out == ("sessions/core.bin", "sessions/link.json")
    assert not [name for name in zipfile.ZipFile(file).namelist() if "core" in name or "link" in name]


def with_entry(file: Path, name: str, content: bytes = b"{}", mode: int = stat.S_IFREG | 0o644) -> Path:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(entry, content)
    return file


@pytest.mark.parametrize(
    ("name", "mode", "reason"),
    [
        ("../outside.json", 0, "leads out of the pack"),
        ("sessions/../../outside.json", 0, "leads out of the pack"),
        ("/etc/outside.json", 0, "leads out of the pack"),
        ("sessions//x.json", 0, "leads out of the pack"),
        ("sessions\\..\\x.json", 0, "leads out of the pack"),
        ("sessions/c:x.json", 0, "leads out of the pack"),
        ("sessions/link", stat.S_IFLNK | 0o777, "is no file"),
        ("run.lock", 0, "is no file of a run"),
        ("sessions", 0, "is no file of a run"),
        ("elsewhere/x.json", 0, "is no file of a run"),
        ("RUN.json", 0, "is no file of a run"),
        ("sessions/" + "x" * 1_000, 0, "has too long a name"),
    ],
)
def test_a_pack_with_anything_but_files_of_a_run_is_not_opened(
    name: str, mode: int, reason: str, tmp_path: Path
) -> None:
    file, _ = pack_of(write_run(tmp_path / "run", [a_row()]), tmp_path / "packed")

    with pytest.raises(PackError, match=re.escape(reason)) as refused:
        run_folder(with_entry(file, name, mode=mode))

    assert "\n" not in str(refused.value)
    assert not list(tmp_path.rglob("outside.json"))


def test_a_file_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    file, _ = pack_of(write_run(tmp_path / "run", [a_row()]), tmp_path / "packed")
    with pytest.warns(UserWarning, match="Duplicate"):
        with_entry(file, "rows.jsonl")

    with pytest.raises(PackError, match="is there twice"):
        run_folder(file)


def test_a_pack_that_would_fill_the_disk_is_refused_whatever_it_says_of_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, _ = pack_of(write_run(tmp_path / "run", [a_row()]), tmp_path / "packed")
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sessions/zeros.json", b"0" * 3_000_000)
    monkeypatch.setattr(packs, "MOST_BYTES", 1_000_000)
    with pytest.raises(PackError, match="unpack it by hand"):
        run_folder(file)

    def lie(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        for entry in archive.filelist:
            entry.file_size = min(entry.file_size, 10)
        return archive.filelist

    monkeypatch.setattr(zipfile.ZipFile, "infolist", lie)
    with pytest.raises(PackError, match="damaged"):
        run_folder(file)


def a_zip(file: Path, entries: dict[str, Any]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"run.json": "{}"}, "it holds no record of one"),
        ({"pack.json": '{"format": "ghx-bench-pack", "version": 9}'}, "its record is of another version"),
        ({"pack.json": "[]"}, "its record is of another version"),
    ],
)
def test_any_other_zip_is_told_from_a_pack(entries: dict[str, str], reason: str, tmp_path: Path) -> None:
    with pytest.raises(PackError, match=reason):
        run_folder(a_zip(tmp_path / "any.zip", entries))


def test_a_pack_without_rows_and_a_damaged_one_are_refused(tmp_path: Path) -> None:
    file, record = pack_of(write_run(tmp_path / "run", [a_row()]), tmp_path / "packed")
    with pytest.raises(PackError, match="holds no run"):
        run_folder(a_zip(tmp_path / "any.zip", {"pack.json": record.to_bytes()}))

    content = bytearray(file.read_bytes())
    middle = zipfile.ZipFile(file).getinfo("rows.jsonl").header_offset + 60
    content[middle : middle + 20] = bytes(20)
    file.write_bytes(content)
    with pytest.raises(PackError, match="a damaged pack"):
        run_folder(file)
