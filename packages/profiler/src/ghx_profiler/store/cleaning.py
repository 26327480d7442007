"""A run without what belongs to its owner alone: secrets and home folders, taken out of every text of it."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ghx_base.errors import OperationError
from ghx_base.problems import plural
from ghx_profiler.machine import versions_here
from ghx_profiler.runner.redaction import STAND_IN, Redaction
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.packs import FILES, FOLDERS, WORLDS, PackRecord, Removal
from ghx_profiler.store.record import read_record

_SECRET_NAME = re.compile(r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_SECRET = re.compile(
    r"""
      \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[A-Za-z0-9_-]{20,}
    | \bsk-[A-Za-z0-9_-]{20,} | \bAIza[0-9A-Za-z_-]{35} | \bAKIA[0-9A-Z]{16}\b | \bxox[abprs]-[A-Za-z0-9-]{10,}
    | \bhf_[A-Za-z0-9]{30,} | \bnpm_[A-Za-z0-9]{36}
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}
    | (?<=[Bb]earer\ )[A-Za-z0-9._~+/=-]{20,}
    | (?<=://)[^\s/:@"\\]{1,100}:[^\s/@"\\]{1,200}(?=@)
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[^"]*?-----END\ [A-Z ]*PRIVATE\ KEY-----
    """,
    re.VERBOSE,
)
"""What tokens and keys of the common services look like; those of a session were taken out when it was measured."""

_HOME = re.compile(r"/(?:home|Users)/[^/]+|/root(?=/|$)|[A-Za-z]:\\Users\\[^\\]+")

RemovedKind = Literal["secret", "home path"]


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Takes secrets and home folders out of texts; only these places of a text change, everything else stays."""

    _secrets: Redaction
    _homes: re.Pattern[str] | None

    @classmethod
    def of(cls, environ: Mapping[str, str], homes: Iterable[str]) -> "Cleaner":
        """Return what takes out these folders, secrets of this environment, and whatever looks like a token."""
        secrets = Redaction.of(value for name, value in environ.items() if _SECRET_NAME.search(name))
        spelled = {each for home in homes for each in (home, home.replace("\\", "\\\\"))} - {"", "/"}
        names = "|".join(re.escape(each) for each in sorted(spelled, key=lambda each: (-len(each), each)))
        # At the beginning of a path only; in JSON the end of an escape such as \n may stand before it.
        pattern = rf"(?:(?<=\\[nrt])|(?<=://)|(?<![\w./~-]))(?:{names})(?![\w.-])"
        return cls(secrets, re.compile(pattern) if names else None)

    def clean(self, text: str) -> tuple[str, Counter[RemovedKind]]:
        """Return a text without them, and how many of each were in it."""
        counts: Counter[RemovedKind] = Counter()
        clean = _SECRET.sub(STAND_IN, self._secrets.text(text))
        counts["secret"] = clean.count(STAND_IN) - text.count(STAND_IN)
        if self._homes is not None:
            clean, counts["home path"] = self._homes.subn("~", clean)
        return clean, +counts


def homes_of(run: Path, home: Path) -> set[str]:
    """Return the home folders that a run may name: this user's, and that in which it was started, here or elsewhere."""
    record = read_record(RunDirectory(run).record)
    match = _HOME.match(record.started_in or "")
    return {str(home), os.path.realpath(home), *([match.group()] if match else ())}


@dataclass(slots=True)
class _Findings:
    taken_out: list[Removal] = field(default_factory=list[Removal])
    left_out: list[str] = field(default_factory=list[str])

    def add(self, name: str, counts: Counter[RemovedKind], lines: Iterable[int] = ()) -> None:
        numbered = {"lines": tuple(lines)} if name == "rows.jsonl" else {}
        self.taken_out += [Removal(file=name, what=what, times=times, **numbered) for what, times in counts.items()]


def copy_clean(run: Path, folder: Path, cleaner: Cleaner) -> PackRecord:
    """Copy what a pack holds of a run into a folder, cleaned, and return the record of it; the report is made later."""
    record, findings = read_record(RunDirectory(run).record), _Findings()
    try:
        for name in sorted(_names(run, findings)):
            if name != "rows.jsonl":
                _copy_text(run / name, folder / name, name, cleaner, findings)
        rows, digest = _copy_rows(run, folder, cleaner, findings)
    except OSError as error:
        raise OperationError(f"{error.filename or run}: {error.strerror or error}; make it readable") from error
    return PackRecord(
        run_id=record.run_id,
        made_by=versions_here()["ghxBench"],
        rows=rows,
        rows_sha256=digest,
        taken_out=tuple(findings.taken_out),
        left_out=tuple(findings.left_out),
    )


def _names(run: Path, findings: _Findings) -> Iterator[str]:
    """Yield the files of a run that belong into a pack; what else lies among sessions is named as left out."""
    yield from (name for name in FILES if (run / name).is_file())
    if worlds := sum(path.is_file() for path in (run / WORLDS).rglob("*")):
        findings.left_out.append(f"{WORLDS} ({plural(worlds, 'file')}): the worlds that agents left")
    for folder in FOLDERS:
        if folder == "report":
            continue  # generated again from the content of the pack
        for path in sorted((run / folder).rglob("*")):
            name = path.relative_to(run).as_posix()
            if path.is_symlink() or (path.is_file() and path.suffix not in {".json", ".jsonl"}):
                findings.left_out.append(name)
            elif path.is_file():
                yield name


def _copy_text(source: Path, place: Path, name: str, cleaner: Cleaner, findings: _Findings) -> None:
    # Bytes that are not text stay unchanged, wherever they are.
    text, counts = cleaner.clean(source.read_bytes().decode("utf-8", "surrogateescape"))
    findings.add(name, counts)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode("utf-8", "surrogateescape"))


def _copy_rows(run: Path, folder: Path, cleaner: Cleaner, findings: _Findings) -> tuple[int, str]:
    """Copy rows line by line; return how many there are, and the digest of the file as it was."""
    digest, total, changed, number = hashlib.sha256(), Counter[RemovedKind](), list[int](), 0
    with RunDirectory(run).rows.open("rb") as source, (folder / "rows.jsonl").open("wb") as place:
        for number, line in enumerate(source, start=1):
            digest.update(line)
            text, counts = cleaner.clean(line.decode("utf-8", "surrogateescape"))
            place.write(text.encode("utf-8", "surrogateescape"))
            if counts:
                total += counts
                changed.append(number)
    findings.add("rows.jsonl", total, changed)
    return number, digest.hexdigest()
