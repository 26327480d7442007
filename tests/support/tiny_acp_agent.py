"""An agent that speaks the Agent Client Protocol, for tests: a program of its own, with the standard library alone.

The last line of a prompt says what to do, such as `talk` or `crash`; otherwise it does as a model tells it. What it was
started with and asked for is in the file TINY_LOG. With `--print` it speaks no protocol: the prompt is the next
argument, or else its standard input, and what it says is printed.
"""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

SESSION = f"tiny-{os.getpid()}"
cancelled = threading.Event()
replies: dict[int, "list[object]"] = {}
replied = threading.Condition()
writing = threading.Lock()
PRINTS = "--print" in sys.argv


def send(**message: object) -> None:
    if PRINTS:
        return
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def update(what: str, /, **fields: object) -> None:
    send(method="session/update", params={"sessionId": SESSION, "update": {"sessionUpdate": what, **fields}})


def say(text: str) -> None:
    if PRINTS:
        print(text, flush=True)
    for part in (text[:5], text[5:]):
        update("agent_message_chunk", content={"type": "text", "text": part})


def ask(method: str, **params: object) -> object:
    """Send a request to the client, and wait for its answer."""
    number = 1000 + len(replies)
    replies[number] = []
    send(id=number, method=method, params={"sessionId": SESSION, **params})
    with replied:
        replied.wait_for(lambda: replies[number])
    return replies[number][0]


def note(what: object) -> None:
    if log := os.environ.get("TINY_LOG"):
        with Path(log).open("a") as file:
            file.write(json.dumps(what) + "\n")


def work(prompt: str) -> str:
    """Do what the prompt says, and return the reason to stop."""
    match prompt.splitlines()[-1].split():
        case ["talk"]:
            update("agent_thought_chunk", content={"type": "text", "text": "Let me "})
            update("agent_thought_chunk", content={"type": "text", "text": "see."})
            say("First I look.")
            update("tool_call", toolCallId="c1", title="bash", kind="execute", status="pending", rawInput={})
            update("tool_call_update", toolCallId="c1", status="in_progress", rawInput={"command": "echo hi"})
            update("tool_call_update", toolCallId="c1", status="completed", rawOutput={"output": "hi\n"})
            update("tool_call", toolCallId="c2", title="ghx_issue_view", status="pending", rawInput={"issueNumber": 4})
            update("tool_call_update", toolCallId="c2", status="failed", content=[])
            update("usage_update", used=120, size=1000)
            say("Warning: noise\nAll done.")
        case ["permission"]:
            options = [
                {"optionId": "no", "name": "No", "kind": "reject_once"},
                {"optionId": "always", "name": "Always", "kind": "allow_always"},
                {"optionId": "once", "name": "Once", "kind": "allow_once"},
            ]
            call = {"toolCallId": "c1", "title": "rm -r x", "kind": "execute", "rawInput": {"command": "rm -r x"}}
            say(json.dumps(ask("session/request_permission", toolCall=call, options=options)))
        case ["echo"]:
            say(prompt)
        case ["noise"]:
            print("this is no message")
            send(method="tiny/notify/unknown", params={})
            say("x" * 300_000)
        case ["crash"]:
            say("I begin.")
            print("a first line\nout of memory", file=sys.stderr, flush=True)
            os._exit(7)
        case ["leave"]:
            subprocess.Popen(["sleep", "600"], start_new_session=True)  # with this program's output
            os._exit(7)
        case ["refuse" | "limit" as reason]:
            return {"refuse": "refusal", "limit": "max_turn_requests"}[reason]
        case ["hang"]:
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            note({"child": child.pid})
            update("tool_call", toolCallId="c1", title="bash", kind="execute", rawInput={"command": "sleep 600"})
            cancelled.wait()
            update("tool_call_update", toolCallId="c1", status="failed", rawOutput={"output": "stopped"})
            return "cancelled"
        case ["environment", name]:
            say(os.environ.get(name, "not set"))
        case _:
            converse_with_model(prompt)
    return "end_turn"


def work_as_command(prompt: str) -> None:
    match prompt.splitlines()[-1].split():
        case ["stream", path]:
            print(Path(path).read_text(), end="", flush=True)
        case ["leave", "a", "child"]:
            child = subprocess.Popen(["sleep", "600"])
            note({"child": child.pid})
            say("It goes on.")
        case ["fail"]:
            converse_with_model(prompt)
            sys.exit("I give up.")
        case _:
            work(prompt)


def converse_with_model(prompt: str) -> None:
    """Ask the model what to do, over OpenAI's chat completions, and do it with bash until it asks for nothing more."""
    parameters = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    tools = [{"type": "function", "function": {"name": "bash", "description": "Run it.", "parameters": parameters}}]
    messages: list[dict[str, object]] = [{"role": "user", "content": prompt}]
    if instructions := os.environ.get("TINY_INSTRUCTIONS"):
        messages.insert(0, {"role": "system", "content": instructions})
    while True:
        reply = ask_model({"model": os.environ["TINY_MODEL"], "messages": messages, "tools": tools})
        message = reply["choices"][0]["message"]
        messages.append(message)
        if message.get("content"):
            say(message["content"])
        if not message.get("tool_calls"):
            return
        for call in message["tool_calls"]:
            command = json.loads(call["function"]["arguments"])["command"]
            update("tool_call", toolCallId=call["id"], title="bash", kind="execute", rawInput={"command": command})
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
            status = "failed" if done.returncode else "completed"
            update("tool_call_update", toolCallId=call["id"], status=status, rawOutput={"output": done.stdout})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout + done.stderr})


def ask_model(body: dict[str, object]) -> dict:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['TINY_KEY']}"}
    url = f"{os.environ['TINY_URL']}/v1/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    for attempt in (1, 2, 3):
        try:
            with urllib.request.urlopen(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if attempt == 3 or error.code == 401:
                # As some real agents do: what went wrong becomes the answer.
                text = f"The model answered {error.code}."
                return {"choices": [{"message": {"role": "assistant", "content": text}}]}
    raise AssertionError


def finish(number: int, params: dict) -> None:
    try:
        send(id=number, result={"stopReason": work("".join(block["text"] for block in params["prompt"]))})
    except Exception as error:  # noqa: BLE001 - whatever it is, the client must see the end of it
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def answer(number: int, method: str, params: dict) -> None:
    refused = os.environ.get("TINY_REFUSES")
    if method == refused:
        send(id=number, error={"code": -32000, "message": "Authentication required", "data": {"try": "a key"}})
    elif method == "initialize":
        info = {"name": "tiny", "version": "0.3"}
        capabilities = {"mcpCapabilities": {"http": "TINY_HTTP" in os.environ}}
        send(id=number, result={"protocolVersion": 1, "agentInfo": info, "agentCapabilities": capabilities})
    elif method == "session/new":
        if "TINY_SILENT" in os.environ:
            return
        send(id=number, result={"sessionId": SESSION})
    elif method == "session/prompt":
        threading.Thread(target=finish, args=(number, params), daemon=True).start()
    else:
        send(id=number, result={})


def main() -> None:
    note({"pid": os.getpid(), "arguments": sys.argv[1:], "environment": dict(os.environ)})
    if "TINY_DIES" in os.environ:
        sys.exit("no such model")
    if PRINTS:
        following = sys.argv[sys.argv.index("--print") + 1 :]
        work_as_command(following[0] if following else sys.stdin.read())
        return
    for line in sys.stdin:
        message = json.loads(line)
        note(message)
        if "method" not in message:
            with replied:
                replies[message["id"]].append(message.get("result", message.get("error")))
                replied.notify_all()
        elif message["method"] == "session/cancel":
            cancelled.set()
        else:
            answer(message["id"], message["method"], message["params"])


main()
