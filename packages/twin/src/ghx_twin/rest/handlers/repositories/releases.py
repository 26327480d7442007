"""Releases, their notes and their files."""

from contextlib import suppress

from ghx_twin.commands import releases
from ghx_twin.commands.kernel import UNSET
from ghx_twin.queries.permissions import may
from ghx_twin.queries.repositories import releases as queries
from ghx_twin.queries.repositories.release_notes import NotesRequest
from ghx_twin.queries.repositories.release_notes import generate_notes as generate
from ghx_twin.refusals import NotFoundRefusal, NotImplementedRefusal, Refusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body
from ghx_twin.rest.errors import BadRequestRefusal
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.repositories import releases as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Release, ReleaseAsset
from ghx_twin.state.rows import Rows

BYTES = "application/octet-stream"
_MAKE_LATEST = ("true", "false", "legacy")


def list_releases(request: RestRequest) -> Reply:
    """List releases."""
    home = from_path.repository(request)
    drafts = "" if may(request.world, request.viewer, home, "write") else " AND draft = 0"
    rest = f"WHERE repository_id = ?{drafts} ORDER BY draft DESC, created_at DESC, id DESC"
    rows = Rows(request.world.database, Release, rest, (home.id,))
    return list_reply(request, rows, lambda one: render.release(request.view, one))


def create_release(request: RestRequest) -> Reply:
    """Create a release."""
    home, body = from_path.repository(request), request.body()
    tag, target = body.required_text("tag_name"), body.text("target_commitish")
    _refuse_discussion(body)
    name, text = body.text("name"), body.text("body")
    if body.flag("generate_release_notes") and may(request.world, request.viewer, home, "write"):
        notes_request = NotesRequest(tag_name=tag, target_commitish=target, html=request.base.html)
        with suppress(Refusal):  # a target that is not there is refused below, in the words for releases
            notes = generate(request.world, home, notes_request)
            name, text = name or tag, f"{text}\n\n{notes}" if text else notes
    with request.acting() as act:
        record = releases.create(
            act,
            home,
            tag_name=tag,
            target_commitish=target,
            name=name,
            body=text,
            draft=body.flag("draft") or False,
            prerelease=body.flag("prerelease") or False,
            make_latest=body.choice("make_latest", _MAKE_LATEST),
        )
    release = render.release(request.view, record)
    return created(release, release["url"])


def generate_notes(request: RestRequest) -> Reply:
    """Generate release notes content for a release."""
    home, body = from_path.repository_for(request, "write"), request.body()
    notes_request = NotesRequest(
        tag_name=body.required_text("tag_name"),
        target_commitish=body.text("target_commitish"),
        previous_tag_name=body.text("previous_tag_name"),
        configuration_file_path=body.text("configuration_file_path"),
        html=request.base.html,
    )
    return json_reply({"name": notes_request.tag_name, "body": generate(request.world, home, notes_request)})


def get_latest_release(request: RestRequest) -> Reply:
    """Get the latest release."""
    latest_release = queries.latest_release(request.world, from_path.repository(request))
    if latest_release is None:
        raise NotFoundRefusal("Could not resolve to a Release.")
    return json_reply(render.release(request.view, latest_release))


def get_release_by_tag(request: RestRequest) -> Reply:
    """Get a release by tag name."""
    tag = request.text("tag")
    release = queries.release_by_tag(request.world, from_path.repository(request), tag)
    if release is None:
        raise NotFoundRefusal(f"Could not resolve to a Release with the tag name '{tag}'.")
    return json_reply(render.release(request.view, release))


def get_release(request: RestRequest) -> Reply:
    """Get a release."""
    return json_reply(render.release(request.view, _release(request)))


def update_release(request: RestRequest) -> Reply:
    """Update a release."""
    release, body = _release(request), request.body()
    _refuse_discussion(body)
    tag, target = body.text("tag_name"), body.text("target_commitish")
    draft, prerelease = body.flag("draft"), body.flag("prerelease")
    with request.acting() as act:
        changed = releases.update(
            act,
            release,
            tag_name=UNSET if tag is None else tag,
            target_commitish=target or UNSET,
            name=body.text("name") if "name" in body else UNSET,
            body=body.text("body") if "body" in body else UNSET,
            draft=UNSET if draft is None else draft,
            prerelease=UNSET if prerelease is None else prerelease,
            make_latest=body.choice("make_latest", _MAKE_LATEST),
        )
    return json_reply(render.release(request.view, changed))


def delete_release(request: RestRequest) -> Reply:
    """Delete a release."""
    release = _release(request)
    with request.acting() as act:
        releases.delete(act, release)
    return no_content()


def list_assets(request: RestRequest) -> Reply:
    """List release assets."""
    release = _release(request)
    rest = "WHERE release_id = ? ORDER BY id"
    rows = Rows(request.world.database, ReleaseAsset, rest, (release.id,))
    return list_reply(request, rows, lambda one: render.asset(request.view, release, one))


def upload_asset(request: RestRequest) -> Reply:
    """Upload a release asset."""
    release = _release(request)
    if not request.content and "content-length" not in request.headers:
        raise BadRequestRefusal("Bad Content-Length: ")
    with request.acting() as act:
        record = releases.upload_asset(
            act,
            release,
            name=request.query.get("name", ""),
            label=request.query.get("label"),
            content=request.content,
            content_type=request.headers.get("content-type") or BYTES,
        )
    asset = render.asset(request.view, release, record)
    return created(asset, asset["url"])


def get_asset(request: RestRequest) -> Reply:
    """Get a release asset."""
    home = from_path.repository(request)
    release, asset = queries.asset(request.world, request.viewer, home, request.number("asset_id"))
    if BYTES not in request.headers.get("accept", "").lower():
        return json_reply(render.asset(request.view, release, asset))
    return asset_reply(request.world.git(home).blob(asset.blob_sha) or b"", asset)


def asset_reply(content: bytes, asset: ReleaseAsset) -> Reply:
    """Return the bytes of a file, for a client that saves them."""
    headers = {"Content-Disposition": f"attachment; filename={asset.name}"}
    return Reply(content=content, media_type=BYTES, headers=headers)


def update_asset(request: RestRequest) -> Reply:
    """Update a release asset."""
    home, body = from_path.repository(request), request.body()
    release, asset = queries.asset(request.world, request.viewer, home, request.number("asset_id"))
    name, label = body.text("name"), body.text("label") if "label" in body else UNSET
    with request.acting() as act:
        changed = releases.update_asset(act, asset, name=UNSET if name is None else name, label=label)
    return json_reply(render.asset(request.view, release, changed))


def delete_asset(request: RestRequest) -> Reply:
    """Delete a release asset."""
    home = from_path.repository(request)
    _, asset = queries.asset(request.world, request.viewer, home, request.number("asset_id"))
    with request.acting() as act:
        releases.delete_asset(act, asset)
    return no_content()


def _release(request: RestRequest) -> Release:
    home = from_path.repository(request)
    return queries.release(request.world, request.viewer, home, request.number("release_id"))


def _refuse_discussion(body: Body) -> None:
    if body.text("discussion_category_name"):
        raise NotImplementedRefusal("discussion_category_name is not implemented by the twin: it has no discussions.")
