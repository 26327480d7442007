"""What the capabilities of releases read and write."""

from capability_calls import NAME, OWNER, Ghx


def tags(ghx: Ghx) -> set[str]:
    return {tag["name"] for tag in ghx.on_repo("repo.tags.list")["items"]}


def test_releases_are_listed_newest_first_with_what_they_tag(ghx: Ghx) -> None:
    listed = ghx.on_repo("release.list")["items"]

    assert [(each["tagName"], each["isDraft"], each["targetCommitish"]) for each in listed] == [
        ("v2.0.0", True, "main"),
        ("v1.0.0", False, "main"),
    ]
    page = ghx.on_repo("release.list", first=1)
    assert page["pageInfo"]["hasNextPage"]
    rest = ghx.on_repo("release.list", first=1, after=page["pageInfo"]["endCursor"])
    assert [each["tagName"] for each in rest["items"]] == ["v1.0.0"]


def test_a_release_is_viewed_with_its_notes_and_files(ghx: Ghx) -> None:
    viewed = ghx.on_repo("release.view", tagName="v1.0.0")

    assert (viewed["name"], viewed["notes"], viewed["isLatest"]) == ("One", "The first one.", True)
    (asset,) = ghx.on_repo("release.assets.list", releaseId=viewed["id"])["items"]
    assert (asset["name"], asset["size"], asset["contentType"]) == ("app.bin", 3, "application/octet-stream")
    assert asset["digest"].startswith("sha256:")
    assert asset["url"].endswith("/acme/widgets/releases/download/v1.0.0/app.bin")
    assert ghx.error("release.view", owner=OWNER, name=NAME, tagName="v9") == "NOT_FOUND"


def test_a_draft_is_made_changed_and_published(ghx: Ghx) -> None:
    made = ghx.on_repo("release.create", tagName="v3.0.0", title="Three", notes="n", targetCommitish="feature")
    assert (made["isDraft"], made["publishedAt"], made["targetCommitish"]) == (True, None, "feature")
    assert "v3.0.0" not in tags(ghx)

    changed = ghx.on_repo("release.update", releaseId=made["id"], notes="Better.", prerelease=True)
    assert (changed["isDraft"], changed["isPrerelease"], changed["name"]) == (True, True, "Three")
    published = ghx.on_repo("release.publish", releaseId=made["id"], prerelease=False)

    assert (published["isDraft"], published["isPrerelease"], published["wasDraft"]) == (False, False, True)
    assert "v3.0.0" in tags(ghx)
    viewed = ghx.on_repo("release.view", tagName="v3.0.0")
    assert (viewed["notes"], viewed["targetCommitish"], published["targetCommitish"]) == ("Better.", *["feature"] * 2)
    assert ghx.error("release.publish", owner=OWNER, name=NAME, releaseId=made["id"]) == "VALIDATION"


def test_a_published_release_stays_published_when_it_is_changed(ghx: Ghx) -> None:
    found = ghx.on_repo("release.view", tagName="v1.0.0")

    assert not ghx.on_repo("release.update", releaseId=found["id"], title="First")["isDraft"]
    assert ghx.on_repo("release.update", releaseId=found["id"], draft=True)["isDraft"]


def test_a_deleted_release_leaves_its_tag(ghx: Ghx) -> None:
    found = ghx.on_repo("release.view", tagName="v1.0.0")

    assert ghx.on_repo("release.delete", releaseId=found["id"]) == {"id": found["id"], "deleted": True}

    assert "v1.0.0" in tags(ghx)
    assert ghx.error("release.view", owner=OWNER, name=NAME, tagName="v1.0.0") == "NOT_FOUND"


def test_who_only_reads_sees_no_drafts_and_releases_nothing(ghx: Ghx) -> None:
    reader = ghx.as_user("reader")

    assert [each["tagName"] for each in reader.on_repo("release.list")["items"]] == ["v1.0.0"]
    assert reader.error("release.create", owner=OWNER, name=NAME, tagName="v3.0.0") == "AUTH"
