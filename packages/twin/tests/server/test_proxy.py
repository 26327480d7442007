"""The proxy of a client: GitHub under its own names with TLS, and every other host refused and journalled."""

import contextlib
import json
import socket
import ssl
from collections.abc import Generator
from http.client import HTTPSConnection
from urllib.parse import urlsplit

import pytest
from served_world import Served

from ghx_twin.server.clients.environment import ClientEnvironment
from ghx_twin.urls import GITHUB_HOSTS, covers_github


@pytest.fixture
def client(served: Served) -> ClientEnvironment:
    return served.server.client_environment(served.world, "ann")


def proxy_of(client: ClientEnvironment) -> tuple[str, int]:
    place = urlsplit(client.variables["HTTPS_PROXY"])
    assert place.hostname is not None
    assert place.port is not None
    return place.hostname, place.port


def exchange(client: ClientEnvironment, content: bytes) -> bytes:
    """Send bytes to the proxy, and return everything that it answers until it closes."""
    with socket.create_connection(proxy_of(client), timeout=300) as connection:
        connection.sendall(content)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@contextlib.contextmanager
def tunnel(client: ClientEnvironment, host: str = "api.github.com") -> Generator[HTTPSConnection]:
    trust = ssl.create_default_context(cafile=client.variables["SSL_CERT_FILE"])
    connection = HTTPSConnection(*proxy_of(client), context=trust, timeout=300)
    connection.set_tunnel(host, 443)
    with contextlib.closing(connection):
        yield connection


def ask(connection: HTTPSConnection, client: ClientEnvironment, path: str) -> tuple[int, bytes]:
    connection.request("GET", path, headers={"Authorization": f"token {client.variables['GH_TOKEN']}"})
    reply = connection.getresponse()
    return reply.status, reply.read()


@pytest.mark.parametrize("host", GITHUB_HOSTS)
def test_the_certificate_is_for_every_name_of_github(client: ClientEnvironment, host: str) -> None:
    with tunnel(client, host) as connection:
        status, body = ask(connection, client, "/user")

    assert status in {200, 403, 404, 501}
    assert b"127.0.0.1" not in body


def test_requests_through_the_proxy_are_journalled_like_all_others(served: Served, client: ClientEnvironment) -> None:
    with tunnel(client) as connection:
        status, body = ask(connection, client, "/repos/acme/widgets")
        assert ask(connection, client, "/user")[0] == 200  # over the same connection

    assert (status, json.loads(body)["html_url"]) == (200, "https://github.com/acme/widgets")
    assert [(entry.surface, entry.operation, entry.actor) for entry in served.world.journal] == [
        ("rest", "GET /repos/{owner}/{repo}", "ann"),
        ("rest", "GET /user", "ann"),
    ]


def test_a_request_may_come_with_the_end_of_the_handshake(client: ClientEnvironment) -> None:
    trust = ssl.create_default_context(cafile=client.variables["SSL_CERT_FILE"])
    token = client.variables["GH_TOKEN"]
    request = f"GET /user HTTP/1.1\r\nHost: api.github.com\r\nAuthorization: token {token}\r\nConnection: close\r\n\r\n"
    for _ in range(20):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        secured = trust.wrap_bio(incoming, outgoing, server_hostname="api.github.com")
        with socket.create_connection(proxy_of(client), timeout=300) as connection:
            connection.sendall(b"CONNECT api.github.com:443 HTTP/1.1\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            while True:
                with contextlib.suppress(ssl.SSLWantReadError):
                    secured.do_handshake()
                    break
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(65536))
            secured.write(request.encode())
            connection.sendall(outgoing.read())  # the client's last words of the handshake and the request, as one
            answer = b""
            while not answer.endswith(b"}"):
                try:
                    answer += secured.read(65536)
                except ssl.SSLWantReadError:
                    incoming.write(connection.recv(65536))

        assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (b"CONNECT example.com:443 HTTP/1.1", "example.com:443"),
        (b"CONNECT Example.COM:443 HTTP/1.1", "example.com:443"),
        (b"CONNECT github.com:22 HTTP/1.1", "github.com:22"),
        (b"CONNECT github.com.evil.example:443 HTTP/1.1", "github.com.evil.example:443"),
        (b"CONNECT 127.0.0.1:443 HTTP/1.1", "127.0.0.1:443"),
        (b"CONNECT [::1]:443 HTTP/1.1", "[::1]:443"),
        (b"GET http://me:secret@example.com/private?key=secret HTTP/1.1", "http://example.com"),
        (b"POST http://api.github.com:8080/user HTTP/1.1", "http://api.github.com:8080"),
    ],
)
def test_another_host_is_refused_by_name_and_journalled(
    served: Served, client: ClientEnvironment, line: bytes, place: str
) -> None:
    answer = exchange(client, line + b"\r\nUser-Agent: curious/1\r\n\r\n")

    first, *_ = answer.split(b"\r\n")
    assert first == f"HTTP/1.1 403 {place} cannot be reached from here, only GitHub can".encode()
    assert answer.endswith(f"\r\n\r\n{place} cannot be reached from here, only GitHub can\n".encode())
    (entry,) = served.world.journal
    assert (entry.surface, entry.path, entry.status, entry.failed) == ("proxy", place, 403, True)
    assert (entry.actor, entry.mutation, entry.user_agent) == ("ann", False, "curious/1")


def test_what_is_refused_is_in_the_journal_of_the_clients_own_world(served: Served, client: ClientEnvironment) -> None:
    with served.world.fork() as other:
        served.server.add(other)
        theirs = served.server.client_environment(other, "bob")
        exchange(theirs, b"CONNECT example.com:443 HTTP/1.1\r\n\r\n")
        served.server.remove(other)

        assert [entry.actor for entry in other.journal] == ["bob"]
    assert len(served.world.journal) == 0


@pytest.mark.parametrize("host", GITHUB_HOSTS)
def test_github_sends_clients_without_tls_on(served: Served, client: ClientEnvironment, host: str) -> None:
    answer = exchange(client, f"GET http://{host}/a/b?c=d HTTP/1.1\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 301 Moved Permanently\r\n")
    assert f"\r\nLocation: https://{host}/a/b?c=d\r\n".encode() in answer
    assert len(served.world.journal) == 0


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"CONNECT\r\n\r\n", 400),
        (b"CONNECT github.com HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT github.com:443:443 HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT github.com:443 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /user HTTP/1.1\r\nHost: api.github.com\r\n\r\n", 400),
        (b"GET http:///user HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT github.com:443 HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
    ],
)
def test_what_is_no_request_to_a_proxy_is_refused(client: ClientEnvironment, content: bytes, status: int) -> None:
    assert exchange(client, content).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_client_that_does_not_trust_the_authority_harms_nobody_else(client: ClientEnvironment) -> None:
    connection = HTTPSConnection(*proxy_of(client), context=ssl.create_default_context(), timeout=300)
    connection.set_tunnel("api.github.com", 443)
    with contextlib.closing(connection), pytest.raises(ssl.SSLCertVerificationError):
        connection.request("GET", "/user")

    with tunnel(client) as trusting:
        assert ask(trusting, client, "/user")[0] == 200


def test_a_proxy_ends_with_its_world(served: Served) -> None:
    with served.world.fork() as other:
        served.server.add(other)
        client = served.server.client_environment(other, "ann")
        with socket.create_connection(proxy_of(client), timeout=300) as waiting:
            waiting.sendall(b"CONNECT github.com:443 HTTP/1.1\r\n")
            served.server.remove(other)
            with contextlib.suppress(ConnectionResetError):
                assert waiting.recv(65536) == b""

        with pytest.raises(ConnectionError):
            socket.create_connection(proxy_of(client), timeout=300).close()


def test_a_proxy_ends_connections_that_come_while_it_ends(served: Served) -> None:
    for _ in range(20):
        with served.world.fork() as other, contextlib.ExitStack() as opened:
            served.server.add(other)
            place = proxy_of(served.server.client_environment(other, "ann"))
            waiting = [opened.enter_context(socket.create_connection(place, timeout=300)) for _ in range(20)]
            served.server.remove(other)

            for each in waiting:
                with contextlib.suppress(ConnectionResetError):
                    assert each.recv(65536) == b""


def test_no_key_is_in_any_file_and_the_authority_signs_nothing_else(served: Served, client: ClientEnvironment) -> None:
    files = [path for path in served.server.directory.rglob("*") if path.is_file()]

    assert not [path for path in files if b"PRIVATE KEY" in path.read_bytes()]
    again = served.server.client_environment(served.world, "bob")
    assert again.variables["SSL_CERT_FILE"] == client.variables["SSL_CERT_FILE"]
    assert again.variables["HTTPS_PROXY"] != client.variables["HTTPS_PROXY"]


def test_clients_trust_what_the_system_trusts_as_well(client: ClientEnvironment) -> None:
    ours = ssl.create_default_context(cafile=client.variables["NODE_EXTRA_CA_CERTS"])
    bundle = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bundle.load_verify_locations(client.variables["SSL_CERT_FILE"])
    system = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with contextlib.suppress(FileNotFoundError, TypeError):
        system.load_verify_locations(ssl.get_default_verify_paths().cafile)

    trusted = {json.dumps(each, sort_keys=True) for each in bundle.get_ca_certs()}
    assert {json.dumps(each, sort_keys=True) for each in system.get_ca_certs()} < trusted
    assert any("ghx-twin authority" in str(each) for each in ours.get_ca_certs())


def test_hosts_that_may_be_reached_are_no_business_of_the_proxy(served: Served) -> None:
    client = served.server.client_environment(served.world, "ann", reachable_hosts=["api.example.com"])

    assert client.variables["NO_PROXY"] == client.variables["no_proxy"] == "127.0.0.1,localhost,::1,api.example.com"


@pytest.mark.parametrize(
    "host", ["github.com", "GitHub.com", ".github.com", "com", "api.github.com", "githubusercontent.com"]
)
def test_a_host_that_covers_github_is_known(host: str) -> None:
    assert covers_github(host)


@pytest.mark.parametrize("host", ["example.com", "hub.com", "notgithub.com", "models.github.com", "github.com.example"])
def test_other_hosts_do_not_cover_github(host: str) -> None:
    assert not covers_github(host)
