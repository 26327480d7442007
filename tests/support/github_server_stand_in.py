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


def ask(path: str, method: str = "GET", body: object = None) -> object:
    """Ask the GitHub that GITHUB_HOST names, as the real server does."""
    host = os.environ["GITHUB_HOST"].removeprefix("https://")
    asking = urllib.request.Request(
        f"https://api.{host}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_PERSONAL_ACCESS_TOKEN']}",
            "Content-Type": "application/json",
        },
        method=method,
    )
    with urllib.request.urlopen(asking) as answer:
        return json.load(answer)


def call(tool: str, arguments: dict[str, object]) -> str:
    """Do what a tool does, and return its answer."""
    if tool == "get_me":
        return json.dumps(ask("/user"))
    issues = "/repos/{owner}/{repo}/issues".format(**arguments)
    if tool == "list_issues":
        return json.dumps(ask(f"{issues}?state={str(arguments['state']).lower()}"))
    if tool == "issue_write":
        fields = {
            key: each for key, each in arguments.items() if key in ("title", "body", "labels", "assignees", "state")
        }
        is_new = arguments["method"] == "create"
        place = issues if is_new else f"{issues}/{arguments['issue_number']}"
        return json.dumps(ask(place, "POST" if is_new else "PATCH", fields))
    issue = ask(f"{issues}/{arguments['issue_number']}")
    return json.dumps({"version": VERSION, "title": issue["title"]})  # type: ignore[index]


def answer(method: str, params: dict[str, object], tools: list[str]) -> dict[str, object]:
    """Return the result of a request."""
    if method == "initialize":
        server_info = {"name": "github-mcp-server", "version": VERSION}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server_info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
    try:
        text, is_error = call(params["name"], params["arguments"]), False  # type: ignore[arg-type]
    except (KeyError, OSError) as error:
        text, is_error = f"failed: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def main() -> None:
    """Serve standard input until it ends."""
    if sys.argv[1:2] != ["stdio"]:
        sys.exit("Error: expected the command stdio")
    tools = offered(sys.argv[2:])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params", {}), tools)
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
