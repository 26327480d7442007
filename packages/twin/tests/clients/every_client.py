"""Run inside `ghx-twin exec`: what each client sees of one pull request and of 137 issues, as one line of JSON.

None of them is told where GitHub is. Arguments: `gh`, `node` and a folder of npm's packages, empty where there is none.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from github import Auth, Github

GH, NODE, MODULES = sys.argv[1:4]
SCRIPTS = Path(sysconfig.get_path("scripts"))
REPOSITORY = {"owner": "octo", "name": "many"}
PULL = "repos/octo/many/pulls/138"
ISSUES = "repos/octo/many/issues?state=all&per_page=50"


def run(*words: str | Path, given: str = "", **variables: str) -> str:
    done = subprocess.run(
        words, env={**os.environ, **variables}, input=given, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def curl(*words: str) -> str:
    return run(
        "curl", "--silent", "--show-error", "--fail", "-H", f"Authorization: token {os.environ['GH_TOKEN']}", *words
    )


def pages_of_curl() -> Iterator[int]:
    """Follow `Link` to its end."""
    address = f"https://api.github.com/{ISSUES}"
    while address:
        head, _, body = curl("--include", address).replace("\r\n", "\n").partition("\n\n[")
        yield from (issue["number"] for issue in json.loads(f"[{body}"))
        following = re.search(r'<([^>]+)>; rel="next"', head)
        address = following[1] if following else ""


def ask_mcp(command: list[str | Path], *calls: tuple[str, dict[str, Any]], **variables: str) -> list[Any]:
    """Call tools of an MCP server, and return what they answer as JSON."""
    about = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    answers: list[Any] = []
    with subprocess.Popen(
        command, env={**os.environ, **variables}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def send(message: dict[str, Any]) -> None:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()

        send({"id": 0, "method": "initialize", "params": about})
        server.stdout.readline()
        send({"method": "notifications/initialized"})
        for tool, arguments in calls:
            send({"id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
            answers.append(json.loads(json.loads(server.stdout.readline())["result"]["content"][0]["text"]))
        server.stdin.close()
        server.terminate()
    return answers


def page_by_cursor(ask: Any) -> list[int]:
    """Read all pages of `issue.list`, which end with a cursor."""
    numbers: list[int] = []
    after = None
    while True:
        page = ask({**REPOSITORY, "state": "all", "first": 50, "after": after})
        numbers += [issue["number"] for issue in page["items"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return numbers


def ask_ghx(task: str, given: dict[str, Any]) -> Any:
    return json.loads(run(SCRIPTS / "ghx", "run", task, "--input", "-", given=json.dumps(given)))["data"]


def see_with_python() -> tuple[Any, list[int]]:
    with Github(auth=Auth.Token(os.environ["GH_TOKEN"]), per_page=50) as client:
        repository = client.get_repo("octo/many")
        return repository.get_pull(138).raw_data, [issue.number for issue in repository.get_issues(state="all")]


def see_with_npm() -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Return what Octokit and npm's MCP server see."""
    seen = json.loads(run(NODE, Path(__file__).with_name("every_client.cjs"), NODE_PATH=MODULES))
    script = Path(MODULES, "@modelcontextprotocol", "server-github", "dist", "index.js")
    place = {"owner": "octo", "repo": "many"}
    pages = [("list_issues", {**place, "state": "all", "per_page": 50, "page": page}) for page in (1, 2, 3)]
    pull, *listed = ask_mcp(
        [NODE, script],
        ("get_pull_request", {**place, "pull_number": 138}),
        *pages,
        GITHUB_PERSONAL_ACCESS_TOKEN=os.environ["GH_TOKEN"],
    )
    numbers = [issue["number"] for page in listed for issue in page]
    return {"Octokit": seen["pull"], "npm": pull}, {"Octokit": seen["numbers"], "npm": numbers}


def use(address: str, clone_url: str) -> list[str]:
    """Hand addresses that one client printed to others; return what these found there."""
    run("git", "clone", "--quiet", clone_url, "by-address")
    return [
        run(GH, "pr", "view", address, "--json", "title", "--jq", ".title").strip(),
        run("git", "-C", "by-address", "log", "-1", "--format=%s").strip(),
        run("git", "-C", "by-address", "remote", "get-url", "origin").strip(),
    ]


def main() -> None:
    os.chdir(os.environ["TMPDIR"])
    mcp = [sys.executable, "-P", "-m", "ghx_tools.cli.main", "mcp"]
    by_python, python_numbers = see_with_python()
    pulls = {"gh": json.loads(run(GH, "api", PULL)), "curl": json.loads(curl(f"https://api.github.com/{PULL}"))}
    numbers = {
        "gh": [int(line) for line in run(GH, "api", "--paginate", ISSUES, "--jq", ".[].number").split()],
        "curl": list(pages_of_curl()),
        "PyGithub": python_numbers,
        "ghx": page_by_cursor(lambda given: ask_ghx("issue.list", given)),
        "ghx-mcp": page_by_cursor(lambda given: ask_mcp(mcp, ("issue_list", given))[0]),
    }
    if MODULES:
        npm_pulls, npm_numbers = see_with_npm()
        pulls, numbers = {**pulls, **npm_pulls}, {**numbers, **npm_numbers}
    view = {**REPOSITORY, "prNumber": 138}
    urls = {
        "gh": run(GH, "pr", "view", "138", "-R", "octo/many", "--json", "url", "--jq", ".url").strip(),
        "ghx": ask_ghx("pr.view", view)["url"],
        "ghx-mcp": ask_mcp(mcp, ("pr_view", view))[0]["url"],
    }
    found = use(urls["ghx-mcp"], pulls["gh"]["head"]["repo"]["clone_url"])
    counters = Path("/proc/net/snmp").read_text() if Path("/proc/net/snmp").exists() else ""
    seen = {"pulls": {**pulls, "PyGithub": by_python}, "numbers": numbers, "urls": urls, "found": found}
    print(json.dumps({**seen, "network": counters}))


main()
