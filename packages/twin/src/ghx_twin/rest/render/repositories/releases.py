"""Releases and their files."""

from ghx_twin.queries.repositories.releases import untagged_name
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import Release, ReleaseAsset


def release(view: View, release: Release) -> JsonObject:
    """Render a release with its files."""
    repository = view.repository(release.repository_id)
    url = view.api(repository, f"/releases/{release.id}")
    uploads = f"{view.base.uploads}/repos/{view.full_name(repository)}/releases/{release.id}/assets"
    tag = quote_part(release.tag_name, safe="/")
    assets = view.database.all(ReleaseAsset, release_id=release.id)
    return {
        "url": url,
        "assets_url": f"{url}/assets",
        "upload_url": f"{uploads}{{?name,label}}",
        "html_url": view.html(repository, f"/releases/tag/{quote_part(untagged_name(release), safe='/')}"),
        "id": release.id,
        "author": simple_user(view, view.user(release.author_id)),
        "node_id": view.node(release),
        "tag_name": release.tag_name,
        "target_commitish": release.target_commitish,
        "name": release.name,
        "draft": release.draft,
        "immutable": False,
        "prerelease": release.prerelease,
        "created_at": release.created_at,
        "updated_at": release.updated_at,
        "published_at": release.published_at,
        "assets": [asset(view, release, each) for each in assets],
        "tarball_url": None if release.draft else view.api(repository, f"/tarball/{tag}"),
        "zipball_url": None if release.draft else view.api(repository, f"/zipball/{tag}"),
        "body": release.body,
    }


def asset(view: View, release: Release, asset: ReleaseAsset) -> JsonObject:
    """Render a file of a release."""
    repository = view.repository(release.repository_id)
    place = f"{quote_part(untagged_name(release), safe='/')}/{quote_part(asset.name)}"
    return {
        "url": view.api(repository, f"/releases/assets/{asset.id}"),
        "id": asset.id,
        "node_id": view.node(asset),
        "name": asset.name,
        "label": asset.label,
        "uploader": simple_user(view, view.user(asset.uploader_id)),
        "content_type": asset.content_type,
        "state": "uploaded",
        "size": asset.size,
        "digest": asset.digest,
        "download_count": 0,  # reading changes nothing in a world
        "created_at": asset.created_at,
        "updated_at": asset.updated_at,
        "browser_download_url": view.html(repository, f"/releases/download/{place}"),
    }
