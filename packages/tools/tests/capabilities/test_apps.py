"""A GitHub App: its signature opens its own doors, a token of its installation a part of the world."""

import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from ghx_base.errors import InputError
from ghx_tools.capabilities.app_installation import AppInstallation
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.environment import connection_from_environment
from ghx_twin.queries import lookup
from ghx_twin.seed.building import build_world
from ghx_twin.seed.document import WorldSeed
from ghx_twin.seed.exporting import export_seed
from ghx_twin.server.loopback import Server
from ghx_twin.state.records import CheckRun, Comment
from ghx_twin.world import World

R = "/repos/acme/widgets"


@pytest.fixture(scope="module")
def keys() -> tuple[str, str]:
    """A private key and its public half, in PEM."""
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = made.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    return private, made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def seed(public_key: str) -> WorldSeed:
    wanted = {"issues": "write", "checks": "write", "contents": "read"}
    return WorldSeed.model_validate(
        {
            "users": [{"login": "ann", "tokens": [{"token": "t-ann"}]}],
            "organizations": [{"login": "acme", "members": {"ann": "admin"}}],
            "apps": [
                {
                    "id": 77, "slug": "fixer", "owner": "acme", "public_key": public_key, "permissions": wanted,
                    "installations": [{"id": 78, "account": "acme", "tokens": ["ghs_of_the_seed"],
                                       "repositories": ["acme/widgets"]}],
                },
                {"slug": "other", "owner": "ann", "permissions": {"checks": "write"},
                 "installations": [{"account": "acme", "tokens": ["ghs_of_other"]}]},
            ],
            "repositories": [
                {
                    "name": "acme/widgets", "files": {"a": "1"}, "issues": [{"title": "One"}],
                    "checks": [{"commit": "main", "name": "lint", "conclusion": "failure", "creator": "other[bot]"}],
                },
                {"name": "acme/hidden", "visibility": "private", "files": {"a": "1"}},
            ],
        }
    )  # fmt: skip


@pytest.fixture
def world(keys: tuple[str, str]) -> Iterator[World]:
    with World.create() as made:
        build_world(made, seed(keys[1]))
        yield made


@pytest.fixture
def api(world: World) -> Iterator[str]:
    with Server() as server:
        server.add(world)
        yield server.url


def signed(private: str, **claims: object) -> str:
    now = int(time.time())
    return jwt.encode({"iat": now - 60, "exp": now + 300, "iss": "77", **claims}, private, algorithm="RS256")


def ask(url: str, token: str, method: str = "GET", body: object = None) -> httpx2.Response:
    return httpx2.request(method, url, headers={"Authorization": f"Bearer {token}"}, json=body)


def test_an_app_knows_itself_and_gets_tokens_that_act_as_its_bot(api: str, world: World, keys: tuple[str, str]) -> None:
    token = signed(keys[0])
    assert ask(f"{api}/app", token).json()["slug"] == "fixer"
    assert [one["id"] for one in ask(f"{api}/app/installations", token).json()] == [78]
    assert ask(f"{api}{R}/installation", token).json()["id"] == 78

    made = ask(f"{api}/app/installations/78/access_tokens", token, "POST", {"permissions": {"issues": "write"}}).json()

    assert made["token"].startswith("ghs_")
    seen = ask(f"{api}/installation/repositories", made["token"]).json()
    assert [one["full_name"] for one in seen["repositories"]] == ["acme/widgets"]
    said = ask(f"{api}{R}/issues/1/comments", made["token"], "POST", {"body": "Hello"}).json()
    assert (said["user"]["login"], said["user"]["type"]) == ("fixer[bot]", "Bot")
    assert world.database.count(Comment) == 1
    refused = ask(f"{api}{R}/check-runs", made["token"], "POST", {"name": "x", "head_sha": "main"})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    assert ask(f"{api}/installation/token", made["token"], "DELETE").status_code == 204
    assert ask(f"{api}{R}", made["token"]).status_code == 401


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": 1}, "'Expiration time' claim ('exp') must be a numeric value representing"),
        ({"exp": int(time.time()) + 9000}, "'Expiration time' claim ('exp') is too far in the future"),
        ({"iss": "1"}, "A JSON web token could not be decoded"),
    ],
)
def test_a_signature_is_for_now_and_for_a_known_app(
    api: str, keys: tuple[str, str], claims: dict[str, object], message: str
) -> None:
    reply = ask(f"{api}/app", signed(keys[0], **claims))

    assert reply.status_code == 401
    assert reply.json()["message"].startswith(message)


def test_nobody_else_can_sign_for_an_app(api: str) -> None:
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = stranger.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    unsigned = jwt.encode({"iss": "77", "exp": int(time.time()) + 300}, None, algorithm="none")

    for token in (signed(private), unsigned, "eyJ.eyJ.x", "t-ann"):
        assert ask(f"{api}/app", token).status_code == 401


def test_an_app_reaches_what_it_is_installed_for_as_far_as_it_is_allowed(api: str, keys: tuple[str, str]) -> None:
    token = "ghs_of_the_seed"

    assert ask(f"{api}/repos/acme/hidden", token).status_code == 404  # it is installed on the other repository alone
    assert ask(f"{api}/user", token).status_code == 403
    content = {"message": "M", "content": "eA=="}
    assert ask(f"{api}{R}/contents/b", token, "PUT", content).status_code == 403
    mutation = 'mutation { updateRef(input: {refId: "x", oid: "%s"}) { clientMutationId } }' % ("0" * 40)
    said = ask(f"{api}/graphql", token, "POST", {"query": mutation}).json()
    assert said["errors"][0]["message"] == "Resource not accessible by integration"
    assert "x-oauth-scopes" not in ask(f"{api}{R}", token).headers
    assert ask(f"{api}{R}/issues", signed(keys[0])).status_code == 403  # a signature is for the app's own affairs
    assert ask(f"{api}/graphql", signed(keys[0]), "POST", {"query": "{ viewer { login } }"}).status_code == 403


def test_a_check_run_is_for_the_app_that_made_it(api: str, world: World) -> None:
    head = world.git(lookup.repository(world, None, "acme", "widgets")).ref("refs/heads/main")
    (lint,) = world.database.all(CheckRun)
    made = ask(f"{api}{R}/check-runs", "ghs_of_the_seed", "POST", {"name": "x", "head_sha": head}).json()
    change = {"conclusion": "success"}

    assert made["app"]["slug"] == "fixer"
    assert ask(f"{api}{R}/check-runs/{made['id']}", "ghs_of_the_seed", "PATCH", change).status_code == 200
    for identity, token in ((made["id"], "ghs_of_other"), (lint.id, "ghs_of_the_seed")):
        refused = ask(f"{api}{R}/check-runs/{identity}", token, "PATCH", change)
        assert refused.status_code == 403
        assert "can only be modified by the GitHub App that created it" in refused.json()["message"]
    person = ask(f"{api}{R}/check-runs/{lint.id}", "t-ann", "PATCH", change)
    assert (person.status_code, person.json()["message"]) == (403, "You must authenticate via a GitHub App.")
    assert ask(f"{api}{R}/check-runs/{lint.id}", "ghs_of_other", "PATCH", change).status_code == 200


def test_a_world_with_apps_is_exported_and_planted_again(world: World) -> None:
    exported = export_seed(world)

    with World.create() as again:
        build_world(again, exported)
        assert export_seed(again) == exported
    assert [app.slug for app in exported.apps] == ["fixer", "other"]


@pytest.mark.anyio
async def test_the_capabilities_act_for_an_installation(
    api: str, world: World, keys: tuple[str, str], tmp_path: Path
) -> None:
    key = tmp_path / "key.pem"
    key.write_text(keys[0])
    app = AppInstallation(app_id="77", private_key_file=key, installation_id=78)

    async with GitHubClient(api, None, app=app) as client:
        for text in ("From an app", "Again"):
            await client.post(f"{R}/issues/1/comments", {"body": text})

    assert {one.author_id for one in world.database.all(Comment)} == {lookup.account(world, "fixer[bot]").id}
    asked = [entry.operation for entry in world.journal]
    assert asked.count("POST /app/installations/{installation_id}/access_tokens") == 1


def test_an_app_in_the_environment_is_named_whole_and_its_key_is_one(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    named = {"GHX_APP_ID": "77", "GHX_APP_PRIVATE_KEY_FILE": str(key), "GHX_APP_INSTALLATION_ID": "78", "HOME": "/"}

    app = connection_from_environment({**named, "GITHUB_TOKEN": "t-ann"}).app

    assert app == AppInstallation(app_id="77", private_key_file=key, installation_id=78)
    for missing in ("GHX_APP_ID", "GHX_APP_PRIVATE_KEY_FILE", "GHX_APP_INSTALLATION_ID"):
        with pytest.raises(InputError, match=f"{missing} is not set"):
            connection_from_environment({name: value for name, value in named.items() if name != missing})
    with pytest.raises(InputError, match="GHX_APP_PRIVATE_KEY_FILE and GHX_APP_INSTALLATION_ID are not set"):
        connection_from_environment({"GHX_APP_ID": "77", "HOME": "/"})
    with pytest.raises(InputError, match="no number"):
        connection_from_environment({**named, "GHX_APP_INSTALLATION_ID": "x"})
    for content in (None, "no key"):
        if content is not None:
            key.write_text(content)
        with pytest.raises(InputError, match=r"key\.pem"):
            app.sign(datetime.now(UTC))


def test_git_reads_with_the_token_of_an_installation_and_pushes_only_with_its_permission(
    api: str, tmp_path: Path
) -> None:
    address = api.replace("://", "://x-access-token:ghs_of_the_seed@") + "/acme/widgets.git"
    folder = tmp_path / "widgets"
    subprocess.run(["git", "clone", "--quiet", address, str(folder)], check=True)

    pushed = subprocess.run(
        ["git", "push", "origin", "main:other"], cwd=folder, capture_output=True, text=True, check=False
    )

    assert (folder / "a").read_text() == "1"
    assert pushed.returncode != 0
    assert "denied to fixer[bot]" in pushed.stderr
