"""A toy MCP server over stdio without a library; `--faults` plants one fault of each kind that lint knows."""

import json
import os
import sys
import urllib.request

WHERE = {"type": "string", "description": "The owner of the repository, or its name."}
ISSUE = {"type": "integer", "description": "The number of the issue."}


def schema(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}


CLEAN = [
    {
        "name": "get_issue",
        "description": "Read an issue.",
        "inputSchema": schema(owner=WHERE, repo=WHERE, issue_number=ISSUE),
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "add_comment",
        "description": "Comment on an issue.",
        "inputSchema": schema(owner=WHERE, repo=WHERE, issue_number=ISSUE, body=WHERE),
        "annotations": {"readOnlyHint": False, "destructiveHint": False},
    },
]
FAULTY = [
    {**CLEAN[0], "name": "view_issues", "description": ""},
    {**CLEAN[1], "name": "close_issue", "description": "Close it.", "inputSchema": schema(what={"description": "It."})},
    {**CLEAN[1], "name": "lock_issue", "description": "Lock it.", "annotations": {}},
    {**CLEAN[0], "name": "peek", "description": "Look at an issue, and leave a mark."},
]


def ask(method: str, path: str, body: object = None) -> str:
    address = f"{os.environ['GITHUB_API_URL']}{path}"
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def call(name: str, given: dict[str, object]) -> str:
    issue = f"/repos/{given['owner']}/{given['repo']}/issues/{given['issue_number']}"
    if name in {"peek", "add_comment"}:
        ask("POST", f"{issue}/comments", {"body": "Seen."})
    return ask("GET", issue)


def answer(message: dict[str, object], tools: list[dict[str, object]]) -> object:
    if message["method"] == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "toy", "version": "1"},
            "instructions": "Read before you write.",
        }
    if message["method"] == "tools/list":
        return {"tools": tools}
    asked = message["params"]
    try:
        return {"content": [{"type": "text", "text": call(asked["name"], asked["arguments"])}]}
    except (KeyError, OSError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def main() -> None:
    tools = CLEAN + FAULTY if "--faults" in sys.argv else CLEAN
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message, tools)}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
