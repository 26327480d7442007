"""A call of every capability of the release domain that goes well in the world of the tests."""

from collections.abc import Callable, Mapping
from typing import Any

from capability_calls import NAME, OWNER, Call, Ghx

REPOSITORY = {"owner": OWNER, "name": NAME}


def with_release(tag_name: str, **more: Any) -> Callable[[Ghx], Mapping[str, Any]]:
    """Return an input that names a release by its id."""
    return lambda ghx: {**REPOSITORY, "releaseId": ghx.on_repo("release.view", tagName=tag_name)["id"], **more}


RELEASE_CALLS: Mapping[str, Call] = {
    "release.assets.list": with_release("v1.0.0"),
    "release.create": {**REPOSITORY, "tagName": "v3.0.0", "title": "Three", "notes": "New.", "prerelease": True},
    "release.delete": with_release("v1.0.0"),
    "release.list": REPOSITORY,
    "release.publish": with_release("v2.0.0", title="Two"),
    "release.update": with_release("v2.0.0", notes="Better.", targetCommitish="feature"),
    "release.view": {**REPOSITORY, "tagName": "v1.0.0"},
}
