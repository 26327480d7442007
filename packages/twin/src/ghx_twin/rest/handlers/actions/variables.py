"""Variables and secrets of GitHub Actions; repositories, environments and organizations have them alike."""

import base64
import hashlib

from ghx_twin.commands.actions import variables
from ghx_twin.commands.actions.variables import VISIBILITIES, Home
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import NEEDS_ADMIN
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.reply import Reply, json_reply, no_content
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import page_of
from ghx_twin.rest.render.actions import variables as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Repository, Secret, User, Variable

_FIRST_KEY_ID = 568250167242549743  # GitHub's have eighteen digits


def list_variables(request: RestRequest) -> Reply:
    """List variables."""
    records = request.world.database.all(Variable, order="name", **_home(request, "variables").columns)
    content, headers = page_of(request, records)
    items = [render.variable(request.view, one) for one in content]
    return json_reply({"total_count": len(records), "variables": items}, headers=headers)


def create_variable(request: RestRequest) -> Reply:
    """Create a variable."""
    home, body = _home(request, "variables"), request.body()
    name, value = body.required_text("name"), body.required_text("value")
    visibility = body.choice("visibility", VISIBILITIES)
    with request.acting() as act:
        variables.create_variable(
            act, home, name=name, value=value, visibility=visibility, selected=_selected(body) or ()
        )
    return json_reply({}, status=201)


def get_variable(request: RestRequest) -> Reply:
    """Get a variable."""
    return json_reply(render.variable(request.view, _variable(request)[1]))


def update_variable(request: RestRequest) -> Reply:
    """Update a variable."""
    home, variable = _variable(request)
    body = request.body()
    with request.acting() as act:
        variables.update_variable(
            act,
            home,
            variable,
            name=body.text("name"),
            value=body.text("value"),
            visibility=body.choice("visibility", VISIBILITIES),
            selected=_selected(body),
        )
    return no_content()


def delete_variable(request: RestRequest) -> Reply:
    """Delete a variable."""
    home, variable = _variable(request)
    with request.acting() as act:
        variables.delete(act, home, variable)
    return no_content()


def list_secrets(request: RestRequest) -> Reply:
    """List secrets."""
    secrets = request.world.database.all(Secret, order="name", **_home(request, "secrets").columns)
    content, headers = page_of(request, secrets)
    items = [render.secret(request.view, one) for one in content]
    return json_reply({"total_count": len(secrets), "secrets": items}, headers=headers)


def get_public_key(request: RestRequest) -> Reply:
    """Get a public key."""
    home = _home(request, "secrets")
    return json_reply({"key_id": _key_id(home), "key": _public_key(home)})


def get_secret(request: RestRequest) -> Reply:
    """Get a secret."""
    return json_reply(render.secret(request.view, _secret(request)[1]))


def put_secret(request: RestRequest) -> Reply:
    """Create or update a secret."""
    home, body = _home(request, "secrets"), request.body()
    encrypted, key = body.text("encrypted_value"), body.text("key_id")
    if isinstance(home.owner, Repository):
        body.require("encrypted_value", "key_id")
    if encrypted is not None and key != _key_id(home):
        raise InvalidRefusal("Validation Failed", errors=("key_id is not that of the public key",))
    with request.acting() as act:
        _, is_new = variables.put_secret(
            act,
            home,
            name=request.text("secret_name"),
            encrypted_value=encrypted,
            visibility=body.choice("visibility", VISIBILITIES),
            selected=_selected(body) or (),
        )
    return json_reply({}, status=201) if is_new else no_content()


def delete_secret(request: RestRequest) -> Reply:
    """Delete a secret."""
    home, result = _secret(request)
    with request.acting() as act:
        variables.delete(act, home, result)
    return no_content()


def _home(request: RestRequest, nouns: str) -> Home:
    """Return what the path names, if the viewer may see its variables and secrets."""
    if "org" in request.parameters:
        owner = lookup.organization(request.world, request.text("org"))
        variables.require_owner(request.world, request.viewer, owner, nouns)
        return Home(owner)
    app = request.viewer.app
    # An installation holds a permission for them: it got here, and the roles know none that only reads.
    is_for_app = app is not None and app.reaches(from_path.repository(request))
    repository = from_path.repository_for(request, "read" if is_for_app else "write", NEEDS_ADMIN)
    if "environment_name" not in request.parameters:
        return Home(repository)
    return Home(repository, from_path.environment(request, repository))


def _variable(request: RestRequest) -> tuple[Home, Variable]:
    home, name = _home(request, "variables"), request.text("name").upper()
    variable = request.world.database.one(Variable, **home.columns, name=name)
    if variable is None:
        raise NotFoundRefusal(f"Could not resolve to a Variable with the name '{name}'.")
    return home, variable


def _secret(request: RestRequest) -> tuple[Home, Secret]:
    home, name = _home(request, "secrets"), request.text("secret_name").upper()
    secret = request.world.database.one(Secret, **home.columns, name=name)
    if secret is None:
        raise NotFoundRefusal(f"Could not resolve to a Secret with the name '{name}'.")
    return home, secret


def _selected(body: Body) -> list[int] | None:
    """Return the repositories that may use it; gh sends their ids as numbers, GitHub's own clients also as text."""
    selected = body.items("selected_repository_ids")
    name = "selected_repository_ids/items"
    return None if selected is None else [Body({name: one}).integer_or_digits(name) or 0 for one in selected]


def _key_id(home: Home) -> str:
    return str(_FIRST_KEY_ID + (home.environment or home.owner).id)


def _public_key(home: Home) -> str:
    """Return a Curve25519 key that clients can seal values with; it follows from its id, and nobody opens them."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey  # noqa: PLC0415 - slow, seldom needed

    kind = "organization" if isinstance(home.owner, User) else "repository"
    seed = hashlib.sha256(f"{kind} {_key_id(home)}".encode()).digest()
    return base64.b64encode(X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()).decode()
