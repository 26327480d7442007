"""Which GitHub, and as whom, a process works: variables first, then the settings of `gh`."""

from pathlib import Path

import pytest

from ghx_base.errors import InputError
from ghx_tools.capabilities.environment import Connection, client_from_environment, connection_from_environment

NOWHERE = {"GH_CONFIG_DIR": "/nowhere/at/all"}


def connect(tmp_path: Path | None = None, **environ: str) -> Connection:
    folder = NOWHERE if tmp_path is None else {"GH_CONFIG_DIR": str(tmp_path)}
    return connection_from_environment({**folder, **environ})


def test_github_com_is_meant_where_nothing_is_said() -> None:
    connection = connect()

    assert connection.api_url == "https://api.github.com"
    assert connection.graphql_url == "https://api.github.com/graphql"
    assert (connection.token, connection.socket_path) == (None, None)


def test_an_address_is_taken_as_it_is() -> None:
    connection = connect(GITHUB_API_URL="http://127.0.0.1:8000/")

    assert connection.api_url == "http://127.0.0.1:8000"
    assert connection.graphql_url == "http://127.0.0.1:8000/graphql"


def test_graphql_may_be_elsewhere() -> None:
    connection = connect(GITHUB_API_URL="http://a/api/v3", GITHUB_GRAPHQL_URL="http://a/other")

    assert connection.graphql_url == "http://a/other"


@pytest.mark.parametrize(
    ("host", "api"),
    [
        ("github.com", "https://api.github.com"),
        ("ghe.example.com", "https://ghe.example.com/api/v3"),
        ("acme.ghe.com", "https://api.acme.ghe.com"),
    ],
)
def test_a_host_has_its_api_where_github_puts_it(host: str, api: str) -> None:
    assert connect(GH_HOST=host).api_url == api


def test_a_unix_socket_needs_no_tls(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("version: 1\nhttp_unix_socket: /run/twin.sock\n")

    named, set_in_gh = connect(GHX_UNIX_SOCKET="/run/my.sock"), connect(tmp_path)

    assert (named.socket_path, named.api_url) == ("/run/my.sock", "https://api.github.com")
    assert (set_in_gh.socket_path, set_in_gh.api_url) == ("/run/twin.sock", "https://api.github.com")


def test_a_socket_that_is_named_wins_over_an_address_and_that_over_the_settings_of_gh(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("http_unix_socket: /run/twin.sock\n")

    assert connect(tmp_path, GITHUB_API_URL="http://127.0.0.1:1").socket_path is None
    assert connect(GITHUB_API_URL="http://127.0.0.1:1", GHX_UNIX_SOCKET="/s").socket_path == "/s"


def test_tokens_are_found_in_order(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(
        "github.com:\n  oauth_token: from-file\nghe.example.com:\n  oauth_token: other\n"
    )

    assert connect(tmp_path, GITHUB_TOKEN="a", GH_TOKEN="b").token == "b"
    assert connect(tmp_path, GH_TOKEN=" b\n").token == "b"
    assert connect(tmp_path, GITHUB_TOKEN="", GH_TOKEN=" ").token == "from-file"
    assert connect(tmp_path, GH_HOST="ghe.example.com").token == "other"
    assert connect(tmp_path, GH_HOST="unknown.example.com").token is None


@pytest.mark.parametrize("text", ["oauth_token: [", "- oauth_token", "github.com: oauth_token", "\tx: oauth_token"])
def test_settings_that_cannot_be_read_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "hosts.yml").write_text(text)

    assert connect(tmp_path).token is None


@pytest.mark.parametrize(
    "address",
    ["localhost:8000", "ftp://x", "http://a b", "http://", "http:///x", "https://[::1", "http://x:99999", "http://x:y"],
)
def test_what_is_no_address_is_refused_with_its_variable(address: str) -> None:
    with pytest.raises(InputError, match="GITHUB_API_URL"):
        connect(GITHUB_API_URL=address)
    with pytest.raises(InputError, match="GITHUB_GRAPHQL_URL"):
        connect(GITHUB_GRAPHQL_URL=address)


@pytest.mark.parametrize("host", ["https://ghe.example.com", "a b", "a/../b", "a?b", "a:99999", "[::1", ":1"])
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="GH_HOST"):
        connect(GH_HOST=host)


@pytest.mark.parametrize("variable", ["GH_HOST", "GITHUB_API_URL"])
def test_a_password_has_no_place_in_an_address_and_is_not_shown(variable: str) -> None:
    given = {variable: "octo:s3cret@ghe.example.com" if variable == "GH_HOST" else "https://octo:s3cret@example.com"}

    with pytest.raises(InputError, match=variable) as caught:
        connect(**given)

    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("token", ["two words", "s3cret\r\nX-Evil: 1", "s3crét"])
def test_a_token_that_cannot_be_one_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(InputError) as caught:
        connect(GITHUB_TOKEN=token)

    assert "GITHUB_TOKEN" in str(caught.value)
    assert token.split(maxsplit=1)[0] not in str(caught.value)


def test_the_token_is_in_no_representation() -> None:
    environ = {**NOWHERE, "GITHUB_TOKEN": "s3cret", "GITHUB_API_URL": "http://127.0.0.1:1"}

    assert "s3cret" not in repr(connection_from_environment(environ))
    assert "s3cret" not in repr(client_from_environment(environ))
