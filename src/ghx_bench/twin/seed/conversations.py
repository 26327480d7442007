"""What people said in a seed's repository: issues and pull requests with comments, in the order of their numbers."""

from ghx_bench.twin.commands import comments, issues, restoring
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.plot import Plot
from ghx_bench.twin.seed.pulls import finish_pull, open_pull
from ghx_bench.twin.seed.talk import SeedComment, SeedConversation, SeedIssue, SeedPull
from ghx_bench.twin.state.records import Issue, Milestone
from ghx_bench.twin.world import Act


def plant_conversations(plot: Plot) -> None:
    """Open, discuss and close what the seed says, numbered ones in the order of their numbers."""
    for each in _in_order(plot):
        with within(repr(each.title)):
            _skip_to(plot, each)
            issue = _open(plot, each)
            _describe(plot, each, issue)
            _discuss(plot, each, issue)
            _close(plot, each, issue)
            plot.planted.append((each, issue))


def relate_issues(plot: Plot) -> None:
    """Make issues part of others and let them wait for others, now that all are there."""
    for each, issue in plot.planted:
        if isinstance(each, SeedIssue):
            with within(repr(each.title)), plot.world.acting(None, at=issue.created_at) as act:
                if each.parent is not None:
                    issues.add_child(act, _named(plot, each.parent), issue)
                for name in each.blocked_by:
                    issues.add_blocking(act, issue, _named(plot, name))


def date_conversations(plot: Plot) -> None:
    """Set when conversations changed last, where the seed says so; later ones move that by mentioning earlier ones."""
    for each, issue in plot.planted:
        if each.updated_at is not None:
            with plot.world.acting(None) as act:
                act.database.update(issue, updated_at=each.updated_at)


def _in_order(plot: Plot) -> list[SeedIssue | SeedPull]:
    """Put those with a number in the order of their numbers; the others follow in the order they are written."""
    every: list[SeedIssue | SeedPull] = [*plot.seed.issues, *plot.seed.pulls]
    numbers = [*(each.number for each in every if each.number is not None), *plot.seed.gone_numbers]
    twice = next((number for number in numbers if numbers.count(number) > 1), None)
    if twice is not None:
        raise InvalidRefusal(f"number {twice} is given twice; issues and pull requests share one row of numbers")
    numbered = sorted((each for each in every if each.number is not None), key=lambda each: each.number or 0)
    return numbered + [each for each in every if each.number is None]


def _skip_to(plot: Plot, each: SeedConversation) -> None:
    with plot.world.acting(None) as act:
        current, gone = plot.current(act), set(plot.seed.gone_numbers)
        number = current.next_number if each.number is None else each.number
        while number in gone:
            number += 1
        act.database.update(current, next_number=number)


def _open(plot: Plot, each: SeedIssue | SeedPull) -> Issue:
    with plot.speaking(each.author or plot.steward, at=each.at) as act:
        if isinstance(each, SeedPull):
            return lookup.issue_of(plot.world, open_pull(act, plot, each))
        return issues.create(act, plot.record, title=each.title, body=each.body)


def _describe(plot: Plot, each: SeedConversation, issue: Issue) -> None:
    """Give it labels, assignees and a milestone, as if it had been opened with them."""
    with plot.world.acting(None, at=issue.created_at) as act:
        if each.labels:
            names = issues.find_labels(act, plot.record, each.labels, create_missing=False)
            issues.add_labels(act, issue, names)
        people = [lookup.user(plot.world, login) for login in each.assignees]
        if plot.seed.exported:
            restoring.restore_assignees(act, issue, people)
        elif people:
            issues.set_assignees(act, issue, people)
        if each.milestone is not None:
            issues.update(act, issue, milestone=_milestone(act, plot, each.milestone))


def _discuss(plot: Plot, each: SeedConversation, issue: Issue) -> None:
    plot.react(issue, each.reactions)
    opener = lookup.user_by_id(plot.world, issue.author_id).login
    for index, comment in enumerate(each.comments, 1):
        with within(f"comment {index}"):
            _comment(plot, comment, issue, opener)


def _comment(plot: Plot, seed: SeedComment, issue: Issue, opener: str) -> None:
    with plot.speaking(seed.author or opener, at=seed.at) as act:
        made = comments.create(act, issue, seed.body)
    plot.react(made, seed.reactions)
    with plot.world.acting(None, at=made.created_at) as act:
        if seed.minimized_reason is not None:
            comments.minimize(act, made, seed.minimized_reason)
        if seed.updated_at is not None:
            act.database.update(made, updated_at=seed.updated_at)


def _close(plot: Plot, each: SeedIssue | SeedPull, issue: Issue) -> None:
    if isinstance(each, SeedPull):
        finish_pull(plot, each, lookup.pull(plot.world, plot.record, issue.number))
    elif each.state == "closed" or each.state_reason == "reopened":
        with plot.speaking(each.closed_by or plot.steward, at=each.closed_at) as act:
            issues.close(act, issue, reason="completed" if each.state == "open" else each.state_reason or "completed")
            if each.state == "open":
                issues.reopen(act, issue)
    with plot.world.acting(None) as act:
        if isinstance(each, SeedIssue) and each.pinned:
            issues.pin(act, issue)
        if each.locked:
            issues.lock(act, issue, each.lock_reason)


def _milestone(act: Act, plot: Plot, title: str) -> Milestone:
    found = act.database.one(Milestone, repository_id=plot.record.id, title=title)
    if found is None:
        raise InvalidRefusal(f"there is no milestone {title!r}; list it under milestones")
    return found


def _named(plot: Plot, name: str) -> Issue:
    """Return the issue that `#1` or `owner/name#1` names."""
    home, _, number = name.rpartition("#")
    repository = lookup.repository(plot.world, None, *home.split("/")) if home else plot.record
    return lookup.issue(plot.world, repository, int(number))
