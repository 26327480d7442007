"""What an agent left behind in its world, in a form in which two sessions can be compared."""

import re

from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from ghx_bench.scenario.allowed_changes import REFS
from ghx_bench.stages.handles import StageHandles
from ghx_bench.stages.observation import changed_part, changes_by
from ghx_twin.difference import Difference
from ghx_twin.state.records import Repository
from ghx_twin.world import World

Footprint = frozenset[str]
"""What the agent changed, one text for each change, without what differs from session to session."""

# Two sessions that do the same do it at different times, and the names of commits hold these times.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?")
_SHA = re.compile(r"\b[0-9a-f]{40}\b")


def footprint_of(handles: StageHandles) -> Footprint:
    """Return what the agent changed in its world."""
    world, differences = handles.world, handles.differences()
    if world is None or differences is None:
        return frozenset()
    return frozenset(_describe(world, each) for each in changes_by(handles.agent, differences))


def _describe(world: World, difference: Difference) -> str:
    after: JsonValue = to_jsonable_python(difference.after, fallback=str)
    if difference.kind == REFS and isinstance(after, str):
        repository = world.database.get(Repository, difference.id)
        commit = None if repository is None else world.git(repository).commit(after)
        # Of a commit, its files and its message are what somebody made.
        after = after if commit is None else f"tree {commit.tree[:12]} {commit.message}"
    told = to_json([difference.change, changed_part(difference), difference.name, after]).decode()
    return _SHA.sub("SHA", _MOMENT.sub("MOMENT", told))
