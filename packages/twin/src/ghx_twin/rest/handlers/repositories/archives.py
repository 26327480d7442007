"""Archives of the files of a commit."""

from ghx_twin.queries.repositories import archives
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.render.view import quote_part
from ghx_twin.rest.request import RestRequest


def get_tarball(request: RestRequest) -> Reply:
    """Download a repository archive (tar)."""
    return _redirect(request, "tar.gz")


def get_zipball(request: RestRequest) -> Reply:
    """Download a repository archive (zip)."""
    return _redirect(request, "zip")


def _redirect(request: RestRequest, kind: archives.ArchiveKind) -> Reply:
    home, text = from_path.repository(request), request.text("ref")
    ref = archives.full_ref(request.world, home, text)
    if ref is None:
        raise NotFoundRefusal(f"Could not resolve to a ref with the name '{text}'.")
    name, place = request.view.full_name(home), quote_part(ref, safe="/")
    address = f"{request.base.codeload}/{name}/legacy.{kind}/{place}"
    if home.visibility != "public":
        address += f"?token={archives.archive_token(home, ref)}"
    return Reply(status=302, headers={"Location": address})
