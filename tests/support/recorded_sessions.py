"""Recorded sessions of agents: the `gh` calls in them, and what GitHub answered."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_STATUS = re.compile(r"\(HTTP (\d{3})\)")
_PULL = re.compile(r"pulls/(\d+)/|(?:number|prNumber|pr)=(\d+)|gh pr \w+ (\d+)")
_IDS = frozenset({"id", "databaseId", "node_id", "fullDatabaseId"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One command line with `gh` in it, and the output it had."""

    command: str
    output: str

    @property
    def status(self) -> int | None:
        """Return the HTTP status that `gh` complained of; None where it was content."""
        found = _STATUS.search(self.output)
        return int(found[1]) if found else None


@dataclass(slots=True)
class Correspondence:
    """Which id of a world stands where the recording has which, learnt answer by answer."""

    ids: dict[str, str] = field(default_factory=dict[str, str])

    def learn(self, recorded: Any, ours: Any) -> None:
        """Pair the ids that stand at the same places of two answers."""
        match recorded, ours:
            case dict(), dict():
                for key in recorded.keys() & ours.keys():
                    if key in _IDS and isinstance(recorded[key], int | str):
                        self.ids[str(recorded[key])] = str(ours[key])
                    self.learn(recorded[key], ours[key])
            case list(), list():
                for left, right in zip(recorded, ours, strict=False):
                    self.learn(left, right)
            case _:
                pass

    def translated(self, command: str) -> str:
        """Return a recorded command with the ids of the world."""
        for recorded in sorted(self.ids, key=len, reverse=True):
            command = command.replace(recorded, self.ids[recorded])
        return command


def recorded_calls(path: Path) -> list[RecordedCall]:
    """Return the `gh` commands of a session in order."""
    events = json.loads(path.read_bytes())["events"]
    calls = [event for event in events if event["type"] == "tool_call" and event["name"] == "bash"]
    found = [RecordedCall(command=call["input"]["command"], output=call["output"]) for call in calls]
    return [call for call in found if re.search(r"\bgh (?!x)", call.command)]


def pull_number(calls: list[RecordedCall]) -> int:
    """Return the number of the pull request that a session is about."""
    found = next(match for call in calls if (match := _PULL.search(call.command)))
    return int(next(filter(None, found.groups())))


def leading_json(output: str) -> Any:
    """Return the JSON that an output starts with; None where it starts with none."""
    try:
        return json.JSONDecoder().raw_decode(output.lstrip())[0]
    except ValueError:
        return None


def differences(recorded: Any, ours: Any, place: str = "$") -> list[str]:
    """Return where two answers differ in their keys or in the kinds of their values; null goes with everything."""
    match recorded, ours:
        case dict(), dict():
            lacking = [f"{place}.{key} is missing" for key in recorded.keys() - ours.keys()]
            extra = [f"{place}.{key} is not GitHub's" for key in ours.keys() - recorded.keys()]
            common = [key for key in recorded if key in ours]
            inner = [line for key in common for line in differences(recorded[key], ours[key], f"{place}.{key}")]
            return sorted(lacking) + sorted(extra) + inner
        case list(), list():
            if not recorded or not ours:
                return [] if recorded == ours else [f"{place} is empty in one of them"]
            return differences(recorded[0], ours[0], f"{place}[0]")
        case (None, _) | (_, None):
            return []
        case _:
            return [] if type(recorded) is type(ours) else [f"{place} is {type(ours).__name__}"]
