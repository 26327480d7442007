"""A toy MCP server over stdio without a library; `--faults` plants one fault of each kind that lint knows.

`--first` and `--second` are two versions of it: from one to the other a tool is renamed, a description shortened, an
argument added, an answer doubled, and a field added to another. `--broken` is the first with no call that works,
and `--lacking` the first with a tool that asks for what the embedded GitHub lacks.
"""

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

FIRST = [
    {**CLEAN[0], "description": "Read an issue of a repository, with its labels and everybody it is assigned to."},
    CLEAN[1],
    {**CLEAN[0], "name": "list_labels", "description": "List labels.", "inputSchema": schema(owner=WHERE, repo=WHERE)},
    {
        **CLEAN[0],
        "name": "list_milestones",
        "description": "List milestones.",
        "inputSchema": schema(owner=WHERE, repo=WHERE),
    },
]
RAW = {"type": "boolean", "description": "Whether Markdown is left as it is."}
SECOND = [
    {
        **FIRST[0],
        "description": "Read an issue.",
        "inputSchema": {
            **FIRST[0]["inputSchema"],
            "properties": {**FIRST[0]["inputSchema"]["properties"], "raw": RAW},
        },
    },
    {**FIRST[1], "name": "create_comment"},
    *FIRST[2:],
]

BROKEN = [*FIRST]
LACKING = [*FIRST]


def ask(method: str, path: str, body: object = None) -> str:
    address = f"{os.environ['GITHUB_API_URL']}{path}"
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def call(name: str, given: dict[str, object], *, is_second: bool) -> str:
    repository = f"/repos/{given['owner']}/{given['repo']}"
    if name == "list_labels":
        return ask("GET", f"{repository}/labels") * (2 if is_second else 1)
    if name == "list_milestones":
        milestones = json.loads(ask("GET", f"{repository}/milestones"))
        return json.dumps([{**each, "progress": 0.5} if is_second else each for each in milestones])
    issue = f"{repository}/issues/{given['issue_number']}"
    if name in {"peek", "add_comment", "create_comment"}:
        ask("POST", f"{issue}/comments", {"body": "Actual."})
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
        if asked["name"] not in {each["name"] for each in tools}:
            raise KeyError(f"there is no tool {asked['name']}")
        if tools is BROKEN:
            raise OSError("out of order")
        if tools is LACKING and asked["name"] == "list_labels":
            ask("GET", "/gists")
        text = call(asked["name"], asked["arguments"], is_second=tools is SECOND)
        return {"content": [{"type": "text", "text": text}]}
    except (KeyError, OSError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def main() -> None:
    versions = {
        "--faults": CLEAN + FAULTY,
        "--first": FIRST,
        "--second": SECOND,
        "--broken": BROKEN,
        "--lacking": LACKING,
    }
    tools = next((tools for flag, tools in versions.items() if flag in sys.argv), CLEAN)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message, tools)}
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
