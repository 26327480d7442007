"""What analyzers found, mode by mode: where the modes differ, and everything."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from ghx_profiler.analyzers.hallucinated_commands import ANALYZER as DESIRE_PATHS
from ghx_profiler.plan.cell import Arm, Cell
from ghx_profiler.records.analysis import (
    AnalysisResult,
    Finding,
    ListFinding,
    NumberFinding,
    RatioFinding,
    SessionAnalysisBundle,
    StringFinding,
    TableFinding,
)
from ghx_profiler.reports.data.tool_uses import HallucinatedCommands

_WORTH_TELLING = 0.1
_LONGEST = 80


@dataclass(slots=True)
class FindingTally:
    """One finding in one mode: numbers are averaged, words are counted, lists and tables by their length."""

    unit: str = ""
    n: int = 0
    total: float = 0.0
    words: Counter[str] = field(default_factory=Counter[str])

    def add(self, finding: Finding) -> None:
        """Count one session's finding; what is not known is not counted."""
        match finding:
            case NumberFinding(value=int() | float() as value, unit=unit):
                self._add_number(value, unit)
            case RatioFinding(value=int() | float() as value):
                self._add_number(value, "")
            case ListFinding(values=values):
                self._add_number(len(values), "entries")
            case TableFinding(rows=rows):
                self._add_number(len(rows), "lines")
            case StringFinding(value=str() as value):
                self.n += 1
                self.words[value[:_LONGEST]] += 1
            case NumberFinding() | RatioFinding() | StringFinding():
                return
            case _:
                assert_never(finding)

    def _add_number(self, value: float, unit: str) -> None:
        self.n += 1
        self.total += value
        self.unit = unit

    @property
    def mean(self) -> float:
        """The average; 0 for words."""
        return self.total / self.n if self.n else 0.0

    def __str__(self) -> str:
        if not self.n:
            return "unknown"
        if self.words:
            best = sorted(self.words.items(), key=lambda item: (-item[1], item[0]))[:3]
            return ", ".join(f"{word} {count}/{self.n}" for word, count in best)
        return f"{self.mean:.3g}{' ' + self.unit if self.unit else ''} (n {self.n})"


@dataclass(slots=True)
class Findings:
    """Everything analyzers found, by analyzer and key, then by mode."""

    sessions: Counter[Arm] = field(default_factory=Counter[Arm])
    tallies: dict[tuple[str, str], dict[Arm, FindingTally]] = field(
        default_factory=lambda: defaultdict[tuple[str, str], dict[Arm, FindingTally]](dict)
    )
    has_sessions: bool = False
    """Whether there are any sessions to find something in."""
    foreign: Counter[Arm] = field(default_factory=Counter[Arm])
    """Sessions by mode with findings of the older packages' analyzers only."""
    hallucinated_commands: HallucinatedCommands = field(default_factory=HallucinatedCommands)
    """What agents took to exist and does not."""
    commands: list[str] = field(default_factory=list[str])
    """What is to be run first where there are more sessions than a report analyzes."""

    def add(self, arm: Arm, cell: Cell, bundle: SessionAnalysisBundle, *, is_foreign: bool = False) -> None:
        """Count what was found in one session, by our analyzers or by those of the older packages."""
        self.hallucinated_commands.add(arm, cell, bundle.results.get(DESIRE_PATHS))
        self.sessions[arm] += 1
        self.foreign[arm] += is_foreign
        for analyzer, result in bundle.results.items():
            # An empty list next to only unknown values is unknown as well, and must not lower an average.
            tells_nothing = _is_empty(result)
            for key, finding in result.findings.items():
                tally = self.tallies[analyzer, key].setdefault(arm, FindingTally())
                if not (tells_nothing and isinstance(finding, ListFinding | TableFinding)):
                    tally.add(finding)

    def rename_arms(self, rename: Callable[[Arm], Arm]) -> None:
        """Give every arm another name; no two become one."""
        self.sessions = Counter({rename(arm): count for arm, count in self.sessions.items()})
        self.hallucinated_commands.rename_arms(rename)
        self.foreign = Counter({rename(arm): count for arm, count in self.foreign.items()})
        self.tallies = {
            name: {rename(arm): tally for arm, tally in tallies.items()} for name, tallies in self.tallies.items()
        }

    @property
    def origin(self) -> str:
        """Whose findings there are where not all are ours; empty where they are."""
        if not self.foreign.total():
            return ""
        by_arm = sorted((str(arm), count) for arm, count in (+self.foreign).items())
        counts = ", ".join(f"{count} of {arm}" for arm, count in by_arm)
        return (
            "Of some sessions there was no trace to read, and what the analyzers of the TypeScript packages wrote down "
            f"is counted instead: {counts}. These miss failures that only a call's output shows."
        )

    @property
    def gap(self) -> str:
        """Why there are no findings, or not of all sessions; empty where nothing is missing."""
        if self.commands:
            commands = " and ".join(f"`{command}`" for command in self.commands)
            return f"There are too many sessions to analyze them with every report: run {commands}, then report again."
        if self.sessions:
            return ""
        return "No session could be analyzed." if self.has_sessions else "No session lies beside the rows."

    def differing(self, arms: Sequence[Arm]) -> Iterator[tuple[str, ...]]:
        """Yield the findings in which these arms differ by a tenth or more, the largest difference first."""
        scored = [
            (_difference([tallies[arm] for arm in arms if arm in tallies]), name)
            for name, tallies in self.tallies.items()
        ]
        for difference, name in sorted(scored, key=lambda each: (-each[0], each[1])):
            if difference >= _WORTH_TELLING:
                yield self._line(name, arms)

    def everything(self, arms: Sequence[Arm]) -> Iterator[tuple[str, ...]]:
        """Yield every finding."""
        for name in sorted(self.tallies):
            yield self._line(name, arms)

    def _line(self, name: tuple[str, str], arms: Sequence[Arm]) -> tuple[str, ...]:
        tallies = self.tallies[name]
        return f"{name[0]}: {name[1].replace('_', ' ')}", *(str(tallies.get(arm, FindingTally())) for arm in arms)


def _is_empty(result: AnalysisResult) -> bool:
    """Return whether no number and no word is known, and every list is empty: then these are not known either."""
    listed = [each for each in result.findings.values() if isinstance(each, ListFinding | TableFinding)]
    others = [each for each in result.findings.values() if not isinstance(each, ListFinding | TableFinding)]
    are_empty = not any(each.values if isinstance(each, ListFinding) else each.rows for each in listed)
    return bool(others) and are_empty and all(each.value is None for each in others)


def _difference(tallies: Sequence[FindingTally]) -> float:
    """Return the difference of tallies, from 0 to 1: relative to the larger number, or between shares of a word."""
    known = [tally for tally in tallies if tally.n]
    if len(known) < _FEWEST:
        return 0.0
    words = {word for tally in known for word in tally.words}
    if words:
        shares = [[tally.words[word] / tally.n for tally in known] for word in words]
        return max(max(each) - min(each) for each in shares)
    means = [tally.mean for tally in known]
    largest = max(map(abs, means))
    return (max(means) - min(means)) / largest if largest else 0.0


_FEWEST = 2
