"""Files of the TypeScript packages that came before: samples of our own in their shape, and real ones where they are.

The samples in `tests/data/older_tools` and the real files in `../shared/compat` have one layout, and sessions that
went the same way: in mode `baseline` the third to fifth of eight calls got a 404, in `ghx` two calls did it all.
"""

from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "data" / "older_tools"
RECORDED = Path(__file__).parents[2].parent / "shared" / "compat"

METRICS = ("latency_wall_ms", "tokens_active", "tool_calls_total", "agent_turns")
MEDIANS = {
    SAMPLES: {"baseline": [17_400, 10_078, 9, 6], "mcp": [13_100, 11_678, 5, 4], "ghx": [9_750, 7_578, 2, 3]},
    RECORDED: {"baseline": [80_271, 26_673, 10, 8], "mcp": [34_747, 28_336, 5, 4], "ghx": [30_483, 21_667, 2, 3]},
}
"""The medians of `METRICS` in the five rows of each mode."""


def scenario_files(folder: Path) -> dict[str, Path]:
    """Return the files of the scenarios in a folder, by what is to be done: `threads`, `triage` and `lifecycle`."""
    found = {path.name: path for path in (folder / "scenarios").glob("*-001.json")}
    names = {
        "threads": ("pr-answer-reviewers-wf-001.json", "pr-reply-threads-wf-001.json"),
        "triage": ("issue-sort-in-wf-001.json", "issue-triage-and-assign-wf-001.json"),
        "lifecycle": ("issue-branch-to-pr-wf-001.json", "issue-to-pr-lifecycle-wf-001.json"),
    }
    return {task: next(found[name] for name in both if name in found) for task, both in names.items()}
