"""GitHub under its own names: clients that are not told where it is see the same addresses, and find what is there."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gh_client import bundled_gh
from nightly import mostly_nightly
from node_packages import NODE, NotObtainableError, node_modules

PACKAGES = ("@octokit/rest@22.0.1", "@modelcontextprotocol/server-github@2025.4.8")
TWIN = [sys.executable, "-m", "ghx_twin.cli.main"]
ALONE = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
SEED = {
    "version": 1,
    "users": [{"login": "octo"}],
    "repositories": [
        {
            "name": "octo/many",
            "files": {"README.md": "# Many"},
            "history": [{"branch": "feature", "message": "Add b", "files": {"b.py": "b = 2\n"}}],
            "issues": [{"number": number, "title": f"Issue {number}"} for number in range(1, 138)],
            "pulls": [{"number": 138, "title": "Add b", "head": "feature"}],
        }
    ],
}


def can_be_alone() -> bool:
    try:
        return subprocess.run([*ALONE, "true"], capture_output=True, check=False, timeout=60).returncode == 0
    except FileNotFoundError:
        return False


def addresses(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the addresses in an object, each with its place."""
    match value:
        case str() if value.startswith(("https://", "http://", "git://", "git@")):
            yield path, value
        case dict():
            for name, inner in value.items():
                yield from addresses(inner, f"{path}/{name}")
        case list():
            for index, inner in enumerate(value):
                yield from addresses(inner, f"{path}/{index}")


def counters(text: str, protocol: str) -> dict[str, int]:
    """Return the kernel's counters of a protocol in this network namespace."""
    names, numbers = (line.split()[1:] for line in text.splitlines() if line.startswith(f"{protocol}:"))
    return dict(zip(names, map(int, numbers), strict=True))


@pytest.mark.parametrize("network", mostly_nightly(["of this machine", "loopback alone"], keep=1))
def test_all_clients_see_the_same_addresses_and_pages(tmp_path: Path, network: str) -> None:
    if network == "loopback alone" and not can_be_alone():
        pytest.skip("this system lets nobody have a network of their own (unshare --net)")
    try:
        modules = str(node_modules(*PACKAGES))
    except NotObtainableError as error:
        pytest.skip(str(error))
    seed, journal = tmp_path / "seed.json", tmp_path / "journal.jsonl"
    seed.write_text(json.dumps(SEED))
    driver = [sys.executable, str(Path(__file__).with_name("every_client.py")), str(bundled_gh()), str(NODE), modules]
    command = [*TWIN, "exec", "--seed", str(seed), "--journal", str(journal), "--", *driver]

    done = subprocess.run(
        [*(ALONE if network == "loopback alone" else ()), *command],
        env={**os.environ, "TMPDIR": "/tmp"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    expected = dict(addresses(seen["pulls"]["curl"]))
    assert expected["/html_url"] == "https://github.com/octo/many/pull/138"
    assert expected["/url"] == "https://api.github.com/repos/octo/many/pulls/138"
    assert not [address for address in expected.values() if "127.0.0.1" in address or "localhost" in address]
    for client, pull in seen["pulls"].items():
        found = dict(addresses(pull))
        assert found == {path: expected[path] for path in found}, client
        assert client == "npm" or found == expected, client  # that server leaves fields out
    assert set(seen["urls"].values()) == {expected["/html_url"]}
    for client, numbers in seen["numbers"].items():
        assert sorted(number for number in numbers if number < 138) == list(range(1, 138)), client
    assert seen["found"] == ["Add b", "Initial commit", "https://github.com/octo/many.git"]
    asked = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [entry for entry in asked if entry["surface"] == "proxy"] == []
    if network == "loopback alone":
        assert counters(seen["network"], "Ip")["OutNoRoutes"] == 0
        assert counters(seen["network"], "Udp")["OutDatagrams"] == 0
