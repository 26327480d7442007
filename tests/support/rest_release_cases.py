"""For every operation on releases, archives and comments on commits a request that is granted and one refused."""

from rest_calls import Call, call

_RELEASES, _RELEASE, _ASSET = "/repos/{owner}/{repo}/releases", "R/releases/{release}", "R/releases/assets/{asset}"
_REPOSITORY = "/repos/{owner}/{repo}"
RELEASE_CASES: dict[str, tuple[Call, Call]] = {
    f"GET {_REPOSITORY}/tarball/{{ref}}": (call("R/tarball/v1"), call("R/tarball/none")),
    f"GET {_REPOSITORY}/zipball/{{ref}}": (call("R/zipball/feature/x"), call("R/zipball/none")),
    f"GET {_REPOSITORY}/comments": (call("R/comments"), call("/repos/acme/none/comments")),
    f"GET {_REPOSITORY}/comments/{{comment_id}}": (call("R/comments/{commit_comment}"), call("R/comments/99")),
    f"PATCH {_REPOSITORY}/comments/{{comment_id}}": (
        call("R/comments/{commit_comment}", {"body": "Better"}),
        call("R/comments/99", {"body": "x"}),
    ),
    f"DELETE {_REPOSITORY}/comments/{{comment_id}}": (call("R/comments/{commit_comment}"), call("R/comments/99")),
    f"GET {_REPOSITORY}/commits/{{commit_sha}}/comments": (
        call("R/commits/{main}/comments"),
        call("R/commits/none/comments"),
    ),
    f"POST {_REPOSITORY}/commits/{{commit_sha}}/comments": (
        call("R/commits/{main}/comments", {"body": "x", "path": "src/app.py", "position": 3}, user="eve"),
        call("R/commits/{main}/comments", {"body": "x", "position": "3"}),
    ),
    f"GET {_RELEASES}": (call("R/releases"), call("/repos/acme/none/releases")),
    f"POST {_RELEASES}": (
        call("R/releases", {"tag_name": "v2", "generate_release_notes": True}),
        call("R/releases", {"tag_name": "v1"}),
    ),
    f"POST {_RELEASES}/generate-notes": (
        call("R/releases/generate-notes", {"tag_name": "v2"}),
        call("/repos/acme/none/releases/generate-notes", {"tag_name": "v2"}),
    ),
    f"GET {_RELEASES}/latest": (call("R/releases/latest"), call("/repos/ann/secret/releases/latest")),
    f"GET {_RELEASES}/tags/{{tag}}": (call("R/releases/tags/v1"), call("R/releases/tags/next")),
    f"GET {_RELEASES}/{{release_id}}": (call("R/releases/{draft}"), call("R/releases/{draft}", user="eve")),
    f"PATCH {_RELEASES}/{{release_id}}": (
        call("R/releases/{draft}", {"draft": False, "name": "Next"}),
        call("R/releases/{draft}", {"name": "Next"}, user="eve"),
    ),
    f"DELETE {_RELEASES}/{{release_id}}": (call(_RELEASE), call("R/releases/99")),
    f"GET {_RELEASES}/{{release_id}}/assets": (call(f"{_RELEASE}/assets"), call("R/releases/99/assets")),
    f"POST {_RELEASES}/{{release_id}}/assets": (
        call(f"{_RELEASE}/assets?name=more.json&label=More", {"any": "bytes"}),
        call(f"{_RELEASE}/assets?name=app.bin", {"any": "bytes"}),
    ),
    f"GET {_RELEASES}/assets/{{asset_id}}": (call(_ASSET), call("R/releases/assets/99")),
    f"PATCH {_RELEASES}/assets/{{asset_id}}": (
        call(_ASSET, {"name": "other.bin", "label": None}),
        call("R/releases/assets/99", {"name": "x"}),
    ),
    f"DELETE {_RELEASES}/assets/{{asset_id}}": (call(_ASSET), call("R/releases/assets/99")),
}
