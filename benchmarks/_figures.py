"""What benchmarks measure, with the budget next to it, as a table or as JSON."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The bound that a figure is to keep: at most (or, with `at_least`, at least) `value`."""

    value: float
    words: str
    at_least: bool = False

    def is_met_by(self, value: float) -> bool:
        return value >= self.value if self.at_least else value <= self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number; `spread` are the lowest and the highest of the runs it is the median of."""

    what: str
    value: float
    unit: str = ""
    spread: tuple[float, float] | None = None
    budget: Budget | None = None

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return ""
        return "met" if self.budget.is_met_by(self.value) else "not met"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What figures were measured on; `load` is how many processes wanted a core in the minute before."""

    date: str
    python: str
    system: str
    cores: int | None
    load: float
    packages: Mapping[str, str]

    @classmethod
    def here(cls, packages: Sequence[str]) -> "Machine":
        return cls(
            date=datetime.now(UTC).date().isoformat(),
            python=platform.python_version(),
            system=f"{platform.system()} {platform.machine()}",
            cores=os.cpu_count(),
            load=round(os.getloadavg()[0], 1),
            packages={name: version(name) for name in packages},
        )

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        return f"{self.date}, Python {self.python}, {self.system}, {self.cores} cores, load {self.load}; {versions}"


def show(figures: Sequence[Figure], *, packages: Sequence[str], as_json: bool) -> None:
    """Print the figures and what they were measured on."""
    machine = Machine.here(packages)
    if as_json:
        measured = [asdict(figure) | {"verdict": figure.verdict or None} for figure in figures]
        print(json.dumps({"machine": asdict(machine), "figures": measured}, indent=2))
        return
    print(f"{machine}\n")
    rows = [("", "median", "lowest .. highest", "budget", "")]
    rows += [
        (figure.what, _number(figure.value, figure.unit), _spread(figure), _words(figure), figure.verdict)
        for figure in figures
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _number(value: float, unit: str) -> str:
    return f"{short(value)} {unit}".rstrip()


def _spread(figure: Figure) -> str:
    if figure.spread is None:
        return ""
    lowest, highest = figure.spread
    return f"{short(lowest)} .. {short(highest)}"


def short(value: float) -> str:
    """Return a number with three digits, or whole where it has more."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _words(figure: Figure) -> str:
    return figure.budget.words if figure.budget else ""
