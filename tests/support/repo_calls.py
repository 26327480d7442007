"""A call of every capability of the repo domain that goes well in the world of the tests."""

from collections.abc import Mapping

from capability_calls import NAME, OWNER, Call

REPOSITORY = {"owner": OWNER, "name": NAME}

REPO_CALLS: Mapping[str, Call] = {
    "repo.branches.list": REPOSITORY,
    "repo.commits.list": {**REPOSITORY, "ref": "feature", "path": "src"},
    "repo.contents.get": {**REPOSITORY, "path": "README.md"},
    "repo.contents.put": {**REPOSITORY, "path": "docs/new.md", "content": "New\n", "message": "Add new"},
    "repo.file.delete": {**REPOSITORY, "path": "src/a.py", "message": "Drop a"},
    "repo.issue_types.list": REPOSITORY,
    "repo.labels.list": REPOSITORY,
    "repo.tags.list": REPOSITORY,
    "repo.view": REPOSITORY,
}
