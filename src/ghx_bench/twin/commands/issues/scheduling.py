"""The milestone of an issue or pull request."""

from ghx_bench.twin.commands import kernel, timeline
from ghx_bench.twin.commands.texts import invalid
from ghx_bench.twin.state.records import Issue, Milestone
from ghx_bench.twin.world import Act


def set_milestone(act: Act, issue: Issue, milestone: Milestone | None) -> Issue:
    """Give an issue a milestone or take it away, past the question whether the viewer may."""
    current = kernel.reload(act, issue)
    if milestone is not None and milestone.repository_id != current.repository_id:
        raise invalid("Issue", "milestone", value=milestone.number)
    if current.milestone_id == (milestone.id if milestone else None):
        return current
    left = act.database.get(Milestone, current.milestone_id)
    if left:
        timeline.record_event(act, current, "demilestoned", {"milestone": {"id": left.id, "title": left.title}})
    if milestone:
        timeline.record_event(act, current, "milestoned", {"milestone": {"id": milestone.id, "title": milestone.title}})
    return kernel.touch(act, current, milestone_id=milestone.id if milestone else None)
