"""Index of the domain `release`."""

from ghx_tools.capabilities.entries import ANYTHING, Entry, deletion, mutation, query

_PAGES = "[first] [after]"

ENTRIES: tuple[Entry, ...] = (
    query(
        "release.assets.list",
        "assets",
        f"owner name releaseId {_PAGES}",
        "List the files of a release, with where to download them.",
    ),
    mutation(
        "release.create",
        "publication",
        "owner name tagName [title] [notes] [targetCommitish] [prerelease]",
        "Create a release as a draft.",
        reach=ANYTHING,
    ),
    deletion("release.delete", "publication", "owner name releaseId", "Delete a release; its tag stays."),
    query("release.list", "view", f"owner name {_PAGES}", "List the releases of a repository, newest first."),
    mutation(
        "release.publish",
        "publication",
        "owner name releaseId [title] [notes] [prerelease]",
        "Publish a draft release; its tag is made where there is none yet.",
        reach=ANYTHING,  # makes a tag, and another release is the latest one from then on
    ),
    mutation(
        "release.update",
        "publication",
        "owner name releaseId [tagName] [title] [notes] [targetCommitish] [prerelease] [draft]",
        "Change a release; a draft stays one unless told otherwise.",
        reach=ANYTHING,
    ),
    query("release.view", "view", "owner name tagName", "Read a release by its tag, a draft as well."),
)
