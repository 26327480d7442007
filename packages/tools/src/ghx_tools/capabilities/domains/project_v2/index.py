"""Index of the domain `project_v2`."""

from ghx_tools.capabilities.entries import ANYTHING, Entry, deletion, mutation, query

_PAGES = "[first] [after]"

ENTRIES: tuple[Entry, ...] = (
    query(
        "project_v2.fields.list",
        "fields",
        f"owner projectNumber {_PAGES}",
        "List the fields of a project, with the options of those that have some.",
    ),
    mutation(
        "project_v2.items.field.update",
        "fields",
        "projectId itemId fieldId [valueText] [valueNumber] [valueDate] [valueSingleSelectOptionId] [valueIterationId] "
        "[clear]",
        "Set what an item of a project holds in one field, or clear it.",
        reach=ANYTHING,
    ),
    mutation(
        "project_v2.items.issue.add",
        "items",
        "owner projectNumber issueUrl",
        "Put an issue or pull request on a project.",
        reach=ANYTHING,
    ),
    deletion(
        "project_v2.items.issue.remove",
        "items",
        "owner projectNumber itemId",
        "Take an item off a project; the issue itself stays.",
    ),
    query(
        "project_v2.items.list",
        "items",
        f"owner projectNumber {_PAGES}",
        "List the items of a project: issues, pull requests and draft issues.",
    ),
    query("project_v2.org.view", "view", "org projectNumber", "Read basic facts about a project of an organization."),
    query("project_v2.user.view", "view", "user projectNumber", "Read basic facts about a project of a user."),
)
