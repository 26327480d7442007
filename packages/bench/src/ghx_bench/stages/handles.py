"""What every stage has, on the emulator or on github.com: handles for scorers, a private folder, the mode's path."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from ghx_base.files.scratch import ScratchFolder
from ghx_bench.modes.request_origins import RequestOrigins
from ghx_bench.stages.injection import CanaryWatches
from ghx_bench.stages.observation import observe
from ghx_profiler.evidence import Mode
from ghx_profiler.records.activity import SessionActivity
from ghx_profiler.records.tool_use import ToolUse
from ghx_profiler.records.trace import SessionTrace
from ghx_tools.capabilities.client import GitHubClient
from ghx_twin.difference import Difference, diff
from ghx_twin.journal import Entry
from ghx_twin.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class StageHandles:
    """What scorers and collectors may use while the stage stands."""

    agent: str
    """The login that the agent acts as."""
    observer: Callable[[], AbstractAsyncContextManager[GitHubClient]]
    """Opens the bench's own access to GitHub, with an identity that is not the agent's."""
    bindings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the variables of the scenario stand for."""
    world: World | None = None
    seeded: World | None = None
    """The world before the agent touched it; both are None on github.com."""
    origins: RequestOrigins | None = None
    """Tells the requests of the mode's tools from others; None on github.com, where requests are not seen."""
    watches: CanaryWatches | None = None
    """Where the canary of the scenario's threat was seen, if it has one."""
    injected: bool | None = None
    """Whether the text of the threat was there, where that is known from before; None where the world tells."""
    delivered: bool | None = None
    """Whether it was in an answer to the agent, where that is known from before; None where it is not, or the world
    tells."""
    finish_runs: Callable[[], None] | None = None
    """Plays the world's workflow runs to their end; None on github.com."""
    open_as: Callable[[str], AbstractAsyncContextManager[GitHubClient]] | None = None
    """Opens the world as one of its users; None on github.com."""
    fork: Callable[[], AbstractContextManager["StageHandles"]] | None = None
    """Opens the same for a copy of the world as it is now, without its faults; None on github.com."""
    _found: dict[int, tuple[Difference, ...]] = field(default_factory=dict[int, tuple[Difference, ...]])
    """What was different, by the number of the world's last change."""
    _in_session: dict[Literal["origins"], RequestOrigins] = field(
        default_factory=dict[Literal["origins"], RequestOrigins]
    )
    """Attribution of requests after the session: its trace has the servers that were called."""

    def differences(self) -> tuple[Difference, ...] | None:
        """Return what is not as it was before the agent; None where there is no world to look at.

        Compared once for the scorer and for the record, unless something has changed in between.
        """
        if self.world is None or self.seeded is None:
            return None
        moment = self.world.database.last_change()
        if moment not in self._found:
            self._found[moment] = diff(self.seeded, self.world)
        return self._found[moment]

    def observe(self) -> SessionActivity | None:
        """Return what the agent changed and asked for; None where the bench cannot see it."""
        differences = self.differences()
        return (
            None
            if self.world is None or differences is None
            else observe(
                self.world, differences, agent=self.agent, origins=self._in_session.get("origins", self.origins)
            )
        )

    @property
    def journal(self) -> Iterable[Entry] | None:
        """All requests to the world; None without a journal."""
        # Without its beginning it would give numbers that are too small, and no number is better than a wrong one.
        return None if self.world is None or self.world.journal.dropped else tuple(self.world.journal)

    def count_refused_hosts(self) -> Mapping[str, int] | None:
        """Return how often the agent asked for each host that its proxy does not lead to; None without a journal."""
        if (journal := self.journal) is None:
            return None
        hosts = (each.path for each in journal if each.surface == "proxy" and each.actor == self.agent)
        counts = Counter(_name_host(each) for each in hosts)
        return dict(counts.most_common(MOST_HOSTS))

    def count_not_implemented(self) -> Mapping[str, int] | None:
        """Return how often the agent asked for each thing that the emulator lacks; None without a journal."""
        return None if self.world is None else self.world.journal.count_not_implemented((self.agent, None))

    def measure_tool_use(self, trace: SessionTrace | None, prompted_at: datetime | None) -> ToolUse | None:
        """Return through which tools the agent's requests came; None without a journal."""
        if (journal := self.journal) is None or self.origins is None:
            return None
        origins = self.origins.in_session(trace, prompted_at)
        self._in_session["origins"] = origins
        requests = (each for each in journal if each.actor in (self.agent, None) and each.surface != "proxy")
        return origins.measure(requests)


MOST_HOSTS = 100
"""Hosts that a row names, those asked for most; there is no end to names that an agent can make up."""

_LONGEST_HOST = 260


def _name_host(place: str) -> str:
    """Return a host, with its port where that is not the usual one."""
    return place.removeprefix("http://").removesuffix(":443").removesuffix(":80")[:_LONGEST_HOST]


def path_of(mode: Mode) -> Mapping[str, str]:
    """Return the variable with the path of a mode; empty for a mode without programs."""
    return {name: value for name, value in mode.environment.items() if name == "PATH"}


def keep_path(home: Path, mode: Mode) -> None:
    """Write profiles that set the mode's path: in a login shell, the machine's own would put every tool on it."""
    for path in path_of(mode).values():
        for name in (".bash_profile", ".profile", ".zprofile"):
            (home / name).write_text(f"export PATH={shlex.quote(path)}\n", encoding="utf-8")


def private_folder() -> ScratchFolder:
    """Return a new folder of one attempt's own, with an empty one in it to work in."""
    folder = ScratchFolder()
    (folder.path / "work").mkdir()
    return folder
