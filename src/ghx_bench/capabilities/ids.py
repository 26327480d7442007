"""The capabilities by id, and the names of what they take, for whoever only needs to know that they exist.

Scenarios name capabilities long before one is called. This table lets a misspelling be found when the file is read,
without importing a single model.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_CAPITAL = re.compile(r"[A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The names of what a capability takes, in order."""

    required: tuple[str, ...]
    optional: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the required ones first."""
        return self.required + self.optional

    def name_of(self, key: str) -> str | None:
        """Return which input a key means, `pr_number` being `prNumber` and `repo` being `name`; `None` if no input."""
        if key in self.required or key in self.optional:
            return key
        spellings = {"repo": "name", **{_CAPITAL.sub(r"_\g<0>", name).lower(): name for name in self.names}}
        name = spellings.get(key)
        return name if name in self.names else None


def _read(table: str) -> Mapping[str, Signature]:
    """Read a table of ids and inputs; what may be left out is in brackets, an indented line continues the one above."""
    signatures: dict[str, Signature] = {}
    for line in re.sub(r"\n +", " ", table).split("\n"):
        if line:
            id_, *inputs = line.split()
            signatures[id_] = Signature(
                required=tuple(each for each in inputs if each[0] != "["),
                optional=tuple(each[1:-1] for each in inputs if each[0] == "["),
            )
    return MappingProxyType(signatures)


SIGNATURES: Mapping[str, Signature] = _read("""
issue.assignees.add owner name issueNumber assignees
issue.assignees.remove owner name issueNumber assignees
issue.assignees.set owner name issueNumber assignees
issue.close owner name issueNumber
issue.comments.create owner name issueNumber body
issue.comments.list owner name issueNumber [first] [after]
issue.create owner name title [body]
issue.delete owner name issueNumber
issue.labels.add owner name issueNumber labels
issue.labels.remove owner name issueNumber labels
issue.labels.set owner name issueNumber labels
issue.list owner name [state] [first] [after]
issue.milestone.clear owner name issueNumber
issue.milestone.set owner name issueNumber milestoneNumber
issue.relations.blocked_by.add issueId blockedByIssueId
issue.relations.blocked_by.remove issueId blockedByIssueId
issue.relations.parent.remove issueId
issue.relations.parent.set issueId parentIssueId
issue.relations.prs.list owner name issueNumber
issue.relations.view owner name issueNumber
issue.reopen owner name issueNumber
issue.update owner name issueNumber [title] [body]
issue.view owner name issueNumber

pr.assignees.add owner name prNumber assignees
pr.assignees.remove owner name prNumber assignees
pr.branch.update owner name prNumber
pr.checks.list owner name prNumber [state]
pr.checks.rerun.all owner name prNumber runId
pr.checks.rerun.failed owner name prNumber runId
pr.close owner name prNumber [deleteBranch] [comment]
pr.comments.create owner name prNumber body
pr.comments.reactions.list owner name prNumber [first] [after] [reactorLogin] [content]
pr.create owner name title [body] head base [draft]
pr.diff.files owner name prNumber [first] [after]
pr.diff.view owner name prNumber
pr.list owner name [state] [first] [after]
pr.merge.status owner name prNumber
pr.merge owner name prNumber [method] [deleteBranch] [admin] [auto]
pr.reactions.list owner name prNumber [reactorLogin] [content]
pr.reviews.list owner name prNumber [first] [after]
pr.reviews.request owner name prNumber reviewers
pr.reviews.submit owner name prNumber event [body] [comments]
pr.threads.list owner name prNumber [first] [after] [unresolvedOnly] [includeOutdated]
pr.threads.reply threadId body
pr.threads.resolve threadId
pr.threads.unresolve threadId
pr.update owner name prNumber [title] [body] [draft]
pr.view owner name prNumber [exclude]

project_v2.fields.list owner projectNumber [first] [after]
project_v2.items.field.update projectId itemId fieldId
    [valueText] [valueNumber] [valueDate] [valueSingleSelectOptionId] [valueIterationId] [clear]
project_v2.items.issue.add owner projectNumber issueUrl
project_v2.items.issue.remove owner projectNumber itemId
project_v2.items.list owner projectNumber [first] [after]
project_v2.org.view org projectNumber
project_v2.user.view user projectNumber

release.create owner name tagName [title] [notes] [targetCommitish] [prerelease]
release.list owner name [first] [after]
release.publish owner name releaseId [title] [notes] [prerelease]
release.update owner name releaseId [tagName] [title] [notes] [targetCommitish] [prerelease] [draft]
release.view owner name tagName

repo.issue_types.list owner name [first] [after]
repo.labels.list owner name [first] [after]
repo.view owner name

workflow.dispatch owner name workflowId ref [inputs]
workflow.job.logs.raw owner name jobId
workflow.job.logs.view owner name jobId
workflow.list owner name [first] [after]
workflow.run.artifacts.list owner name runId [first] [after]
workflow.run.cancel owner name runId
workflow.run.rerun.all owner name runId
workflow.run.rerun.failed owner name runId
workflow.run.view owner name runId
workflow.runs.list owner name [first] [after] [branch] [event] [status]
workflow.view owner name workflowId
""")
"""What is known of the capabilities that have settled inputs."""

_WITHOUT_SIGNATURE = """
issue.labels.list issue.timeline.list

pr.comments.list pr.commits.list pr.files.list pr.ready pr.reopen

repo.branches.list repo.commits.list repo.contents.get repo.contents.put repo.file.delete repo.tags.list

search.code search.issues search.prs
"""

CAPABILITY_IDS: tuple[str, ...] = tuple(sorted([*SIGNATURES, *_WITHOUT_SIGNATURE.split()]))
"""Every capability that a scenario may name."""
