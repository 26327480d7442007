"""Stands in for GitHub's own MCP server, which no package has: its flags, its names, its requests; some tools only.

Written into a file of its own by tests, as an executable: `VERSION` is replaced, which makes base and head.
"""

import json
import os
import sys
import urllib.request

VERSION = "base"
READING = ("issue_read", "list_issues", "get_me")
WRITING = ("issue_write",)
OF_ALL_TOOLSETS = ("list_discussions",)


def offered(flags: list[str]) -> list[str]:
    """Return the tools that these flags leave; an unknown flag ends the server, as it does the real one."""
    known = ("--toolsets=", "--tools=", "--read-only", "--lockdown-mode")
    if unknown := [flag for flag in flags if not flag.startswith(known)]:
        sys.exit(f"Error: unknown flag: {unknown[0]}")
    tools = [*READING, *WRITING]
    for flag in flags:
        if flag == "--toolsets=all":
            tools += OF_ALL_TOOLSETS
        if flag.startswith("--tools="):
            tools = [each for each in tools if each in flag.removeprefix("--tools=").split(",")]
    return [each for each in tools if each not in WRITING] if "--read-only" in flags else tools


def read_issue(arguments: dict[str, object]) -> str:
    """Ask the GitHub that GITHUB_HOST names, as the real server does."""
    host = os.environ["GITHUB_HOST"].removeprefix("https://")
    place = "{owner}/{repo}/issues/{issue_number}".format(**arguments)
    asking = urllib.request.Request(
        f"https://api.{host}/repos/{place}",
        headers={"Authorization": f"Bearer {os.environ['GITHUB_PERSONAL_ACCESS_TOKEN']}"},
    )
    with urllib.request.urlopen(asking) as answer:
        return json.dumps({"version": VERSION, "title": json.load(answer)["title"]})


def answer(method: str, params: dict[str, object], tools: list[str]) -> dict[str, object]:
    """Return the result of a request."""
    if method == "initialize":
        told = {"name": "github-mcp-server", "version": VERSION}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": told}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
    return {"content": [{"type": "text", "text": read_issue(params["arguments"])}]}  # type: ignore[arg-type]


def main() -> None:
    """Serve standard input until it ends."""
    if sys.argv[1:2] != ["stdio"]:
        sys.exit("Error: expected the command stdio")
    tools = offered(sys.argv[2:])
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = answer(asked["method"], asked.get("params", {}), tools)
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
