"""Logs and artifacts at signed addresses: without credentials, for a minute, in the right world, on every host."""

import io
import zipfile

import httpx2
import pytest
from served_world import Served

from ghx_twin.urls import LIFETIME_S, Signatures

R = "/repos/acme/widgets"


def follow(served: Served, address: str) -> httpx2.Response:
    """Ask for an address without credentials: on a host of GitHub's, as through the proxy, or on the server's port."""
    url = httpx2.URL(address)
    own = served.server.url + url.raw_path.decode()
    return httpx2.get(own, headers={} if url.host == "127.0.0.1" else {"Host": url.host}, trust_env=False)


def redirected(served: Served, path: str, host: str | None = None, login: str = "ann") -> str:
    with served.client(login) as client:
        reply = client.get(f"{R}/actions/{path}", headers={"Host": host} if host else {})
    assert reply.status_code == 302, reply.text
    return reply.headers["location"]


@pytest.mark.parametrize("host", [None, "api.github.com", "api.github.localhost"])
def test_the_log_of_a_job_needs_no_credentials(served: Served, host: str | None) -> None:
    reply = follow(served, redirected(served, f"jobs/{served.seeded.ids['run_job']}/logs", host))

    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "##[error]Process completed with exit code 1." in reply.text
    assert "x-ratelimit-limit" not in reply.headers


def test_logs_of_a_run_and_artifacts_are_zips(served: Served) -> None:
    ids = served.seeded.ids
    run, artifact = (
        zipfile.ZipFile(io.BytesIO(follow(served, redirected(served, path)).content))
        for path in (f"runs/{ids['run']}/logs", f"artifacts/{ids['artifact']}/zip")
    )

    assert {"0_lint.txt", "1_test.txt", "test/2_Run pytest.txt"} <= set(run.namelist())
    assert artifact.read("report.txt") == b"97 %"


def test_a_client_that_sends_its_token_along_gets_the_file_too(served: Served) -> None:
    with served.client() as client:
        reply = client.get(f"{R}/actions/jobs/{served.seeded.ids['run_job']}/logs", follow_redirects=True)

    assert reply.status_code == 200
    assert "1 of 2 failed" in reply.text


def test_an_address_opens_its_own_file_only(served: Served) -> None:
    address = redirected(served, f"jobs/{served.seeded.ids['run_job']}/logs")
    other = address.replace(str(served.seeded.ids["run_job"]), str(served.seeded.ids["running_job"]))

    assert follow(served, other).status_code == 403
    assert follow(served, address.partition("?")[0]).status_code == 403
    assert httpx2.post(address, trust_env=False).status_code == 403


def test_the_journal_does_not_keep_the_signature(served: Served) -> None:
    follow(served, redirected(served, f"jobs/{served.seeded.ids['run_job']}/logs"))

    *_, entry = served.world.journal
    assert entry.operation == "GET logs of a job"
    assert "urlSignature=..." in entry.path


def test_what_was_deleted_since_is_not_found(served: Served) -> None:
    address = redirected(served, f"artifacts/{served.seeded.ids['artifact']}/zip")
    with served.client() as client:
        assert client.delete(f"{R}/actions/artifacts/{served.seeded.ids['artifact']}").status_code == 204

    assert follow(served, address).status_code == 404


def test_a_signature_holds_for_a_minute_and_in_one_world() -> None:
    now = [1000.0]
    signatures = Signatures(wall=lambda: now[0])
    path, _, query = signatures.sign("/a").partition("?")

    assert signatures.opens(path, query)
    assert not Signatures(wall=lambda: now[0]).opens(path, query)
    now[0] += LIFETIME_S
    assert not signatures.opens(path, query)


@pytest.mark.parametrize("query", ["", "urlSignature=", "urlExpires=soon&urlSignature=%C3%A9", "urlExpires=%FF"])
def test_what_is_no_signature_opens_nothing(query: str) -> None:
    assert not Signatures().opens("/a", query)
