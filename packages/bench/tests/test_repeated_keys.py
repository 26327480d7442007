"""A provider that repeats the keys of models in its answers: no file, page or terminal of the run has one of them."""

import html
import json
import re
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from bench_command import fork_ghx_bench, rows_of, run_in, write_files
from nightly import mostly_nightly
from once import once

from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.directory import RunDirectory

pytestmark = [pytest.mark.process, pytest.mark.slow]

KEYS = {
    "LOOP_KEY": "sk-loop-0123/zyxwvutsrqponmlkjihgfedcba",
    "TINY_KEY": "ya29.tiny0123.zyxwvutsrqponmlkjihgfedcba",
    "MINE_KEY": "sk-mine-0123-zyxwvutsrqponmlkjihgfedcba",
}
"""The key of each agent's provider, by its variable."""

Pieces = list[dict[str, object]]
"""What a model says, as the deltas of a stream."""


def escape(key: str) -> str:
    return "".join(f"\\u{ord(each):04x}" for each in key)


def spell_once(key: str) -> str:
    return key.replace("-", "\\u002D", 1)


def percent(key: str) -> str:
    return "".join(f"%{ord(each):02x}" for each in key)


def entity(key: str) -> str:
    return "".join(f"&#x{ord(each):X};" for each in key)


def octal(key: str) -> str:
    return "".join(f"\\{ord(each):03o}" for each in key)


def cut(key: str) -> str:
    return key[:-1]


def write_error(*spellings: Callable[[str], str]) -> bytes:
    """Return an error whose message has all keys, in spellings that JSON knows."""
    return (
        b'{"error": {"message": "no such key: %s"}}'
        % " ".join(spell(key) for spell in spellings for key in KEYS.values()).encode()
    )


def in_parts(text: str) -> list[str]:
    return [text[place : place + 13] for place in range(0, len(text), 13)]


ALL = " ".join(KEYS.values())
ERRORS: Mapping[str, bytes] = {
    "error-spellings": write_error(str, escape, spell_once, lambda key: key.replace("/", "\\/")),
    "error-percent": write_error(percent),
    "error-entities": write_error(entity),
    "error-cut-by-the-provider": write_error(cut, lambda key: key[:30]),
    "error-page": f"<p>no such key: {' '.join(map(spell_once, KEYS.values()))}".encode(),
    "error-json-in-json": json.dumps({"error": {"message": write_error(escape).decode()}}).encode(),
    # The message of an error is cut to 500 characters, which is in the middle of each key.
    **{
        f"error-cut-{name}": b'{"error": {"message": "no such key: %s%s"}}' % (b"x " * 230, escape(key).encode())
        for name, key in KEYS.items()
    },
}


def begin_call(name: str) -> dict[str, object]:
    return {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}]}


def go_on_with_call(arguments: str) -> dict[str, object]:
    return {"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}


ESCAPED = " ".join(map(escape, KEYS.values()))
ANSWERS: Mapping[str, Pieces] = {
    "text": [{"content": f"The keys are {ALL}."}],
    "text-cut": [{"content": f"The keys are {' '.join(map(cut, KEYS.values()))}."}],
    "text-octal": [{"content": f"The keys are {' '.join(map(octal, KEYS.values()))}."}],
    "text-in-parts": [{name: part} for name in ("reasoning_content", "content") for part in in_parts(ALL)],
    "text-around-thought": [{"content": ALL[:20]}, {"reasoning_content": "a thought"}, {"content": ALL[20:]}],
    "call": [begin_call("bash"), go_on_with_call(f'{{"command": "echo {ESCAPED}"}}')],
    "call-in-parts": [begin_call("bash"), *map(go_on_with_call, in_parts(json.dumps({"command": f"echo {ALL}"})))],
    "call-that-is-no-json": [begin_call("bash"), go_on_with_call(f'{{"command": "echo {ESCAPED}')],
    "call-of-a-key": [begin_call(ALL), go_on_with_call("{}")],
}
WAYS = [*ERRORS, *ANSWERS, "error-in-stream"]
SOME = ["error-spellings", "error-cut-LOOP_KEY", "text-in-parts", "call-in-parts", "error-in-stream"]


class Repeating(BaseHTTPRequestHandler):
    """A model that repeats the keys, in the way that is its name."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        way = asked["model"]
        is_first = all(each["role"] in ("system", "user") for each in asked["messages"])
        if way in ERRORS:
            self._send(400, "text/html" if way == "error-page" else "application/json", ERRORS[way])
            return
        pieces = ANSWERS.get(way, []) if is_first else [{"content": "Done."}]
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        end = {"finish_reason": "tool_calls" if any("tool_calls" in each for each in pieces) else "stop"}
        if asked.get("stream"):
            events = [{"model": ALL, "choices": [{"index": 0, "delta": each}]} for each in pieces]
            events.append({"choices": [{"index": 0, "delta": {}, **end}], "usage": usage})
            lines = [ERRORS["error-spellings"].decode()] if way == "error-in-stream" else map(json.dumps, events)
            self._send(200, "text/event-stream", "".join(f"data: {spell(line)}\n\n" for line in lines).encode())
        else:
            whole = {"model": ALL, "choices": [{"message": join_deltas(pieces), **end}], "usage": usage}
            body = ERRORS["error-spellings"] if way == "error-in-stream" else spell(json.dumps(whole)).encode()
            self._send(200, "application/json", body)

    def log_message(self, *_: object) -> None: ...

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def spell(line: str) -> str:
    """Return JSON with one character of each key as an escape: the meter finds what is in plain text."""
    for key in KEYS.values():
        line = line.replace(key, spell_once(key))
    return line


def join_deltas(pieces: Pieces) -> dict[str, object]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for piece in pieces:
        for name, value in piece.items():
            if name != "tool_calls":
                message[name] = (message.get(name) or "") + str(value)
            elif name not in message:
                message[name] = json.loads(json.dumps(value))
            else:
                message[name][0]["function"]["arguments"] += value[0]["function"]["arguments"]  # type: ignore[index]
    return message


TINY = Path(__file__).parents[3] / "tests" / "support" / "tiny_acp_agent.py"
MINE = """
import httpx2


def mine(task):
    model = task.endpoint("openai-chat")
    messages = [{"role": "user", "content": task.prompt}]
    tools = [{"type": "function", "function": {"name": each.name, "parameters": dict(each.input_schema)}}
             for each in task.belt.list_tools()]
    url, headers = f"{model.base_url}/chat/completions", {"Authorization": f"Bearer {model.key}"}
    while True:
        asked = {"model": task.model, "messages": messages, "tools": tools}
        with httpx2.Client(trust_env=False) as client:
            response = client.post(url, json=asked, headers=headers)
        if response.is_error:
            raise ValueError(response.text)
        message = response.json()["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            answer = task.belt.call(call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer.text})
"""


AGENTS = (
    {"id": "loop", "options": {"key_env": "LOOP_KEY", "max_attempts": 1}},
    {"id": "tiny.yaml", "options": {"key_env": "TINY_KEY"}},
    {"id": "./mine.py:mine", "options": {"key_env": "MINE_KEY"}},
)


def run_project(folder: Path, *words: str, **changes: object) -> "CompletedProcess[str]":
    """Run the agents of a project in a folder, with a model that repeats keys."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Repeating) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        recipe = {
            "name": "tiny",
            "description": "a small agent of my own",
            "command": [sys.executable, "-S", "./tiny_acp_agent.py"],
            "wire": "openai-chat",
            "environment": {"TINY_URL": "${BASE_URL}", "TINY_KEY": "${KEY}", "TINY_MODEL": "${MODEL}"},
        }
        config = {
            "modes": ["baseline"],
            "models": list(WAYS),
            "agents": [{**each, "options": {**each["options"], "base_url": url}} for each in AGENTS],  # type: ignore[dict-item]
            "scenarios": {"ids": ["issue-triage-001"]},
            "execution": {"repetitions": 1, "warmup": False, "retries": 0, "max_concurrency": 4},
            **changes,
        }
        files = {"eval.config.yaml": yaml.safe_dump(config), "tiny.yaml": yaml.safe_dump(recipe), "mine.py": MINE}
        write_files(folder, {**files, "tiny_acp_agent.py": TINY.read_text()})
        done = fork_ghx_bench(folder, "run", "--yes", "--log-json", "log.jsonl", *words, extra=KEYS)
        server.shutdown()
    return done


def run_all(folder: Path, ways: list[str]) -> None:
    done = run_project(folder, "--debug", "--record-model", "--keep-worlds", "all", models=ways)
    (folder / "terminal.txt").write_text(done.stdout + done.stderr)


@pytest.fixture(scope="module", params=mostly_nightly([SOME, WAYS], keep=1), ids=["some ways", "all ways"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run in which the provider has repeated keys in these ways, to three kinds of agents."""
    ways = list(request.param)
    return once(tmp_path_factory, f"repeated-keys-{len(ways)}", lambda folder: run_all(folder, ways))


ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|([0-7]{3})|(/))")


def decode(text: str) -> str:
    """Return a text without escapes of JSON, shells, URLs and HTML, however often they were put upon each other."""
    plain = ESCAPE.sub(read_escape, html.unescape(unquote(text)))
    return plain if plain == text else decode(plain)


def read_escape(escape: re.Match[str]) -> str:
    utf16, eights, slash = escape.groups()
    return slash or (chr(int(utf16, 16)) if utf16 else chr(int(eights, 8)))


def texts_of(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the texts of a file: as it is, and what pieces of it that belong together say as one."""
    if zipfile.is_zipfile(BytesIO(content)):
        with zipfile.ZipFile(BytesIO(content)) as archive:
            for each in archive.namelist():
                yield from texts_of(f"{name}:{each}", archive.read(each))
        return
    with suppress(zlib.error):
        content = zlib.decompress(content)  # as the objects of git are
    text = content.decode(errors="replace")
    yield name, text
    for line in [text, *text.splitlines()]:
        try:
            document = json.loads(line)
        except ValueError:
            continue
        for kind, together in join_pieces(document).items():
            yield f"{name} ({kind})", together
        if isinstance(document, dict) and document.get("pieces"):
            yield from texts_of(f"{name} (stream)", "".join(each for _, each in document["pieces"]).encode())
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    yield from ((f"{name} ({kind})", together) for kind, together in join_pieces(events).items())


def join_pieces(value: object, place: str = "", found: dict[str, str] | None = None) -> dict[str, str]:
    """Return the texts at each place of a JSON value, those in the entries of a list that are of one kind as one."""
    found = {} if found is None else found
    match value:
        case str():
            found[place] = found.get(place, "") + value
        case list():
            for each in value:
                join_pieces(each, place, found)
        case dict():
            for key, each in value.items():
                join_pieces(each, f"{place}.{value.get('type', '')}:{key}", found)
        case _:
            pass
    return found


def find_leaks(*files: tuple[str, bytes]) -> list[str]:
    """Return where a key is, or so much of one that was cut off that it is worth guessing the rest."""
    return [
        f"{place}: {variable}"
        for name, content in files
        for place, text in texts_of(name, content)
        for variable, key in KEYS.items()
        if any(part in decode(text) for part in (key[:24], key[-24:]))
    ]


def read_files(folder: Path) -> list[tuple[str, bytes]]:
    return [(str(each.relative_to(folder)), each.read_bytes()) for each in folder.rglob("*") if each.is_file()]


def test_no_file_of_a_run_has_a_key_that_the_provider_repeats(project: Path) -> None:
    files = read_files(run_in(project))

    assert {Path(name).suffix for name, _ in files} >= {".json", ".jsonl", ".html", ".md", ".csv", ".zip", ".log"}
    assert {
        f"{row.agent} {row.model}" for row in rows_of(run_in(project)) if "***" not in text_of(project, row)
    } == set()
    assert find_leaks(*files) == []


def text_of(project: Path, row: ProfileRow) -> str:
    return row.model_dump_json() + RunDirectory(run_in(project)).session(row.cell).read_text()


def test_neither_the_terminal_nor_the_log_has_one(project: Path) -> None:
    files = {name: (project / name).read_bytes() for name in ("terminal.txt", "log.jsonl")}

    assert all(b"no such key: ***" in content for content in files.values())
    assert find_leaks(*files.items()) == []


def test_nor_has_what_other_commands_make_of_the_run(project: Path, tmp_path: Path) -> None:
    run = str(run_in(project))
    cells = [f"{row.agent}/{row.model}/baseline/issue-triage-001/0" for row in rows_of(run_in(project))]
    commands = [
        ("show", run),
        *(("show", run, cell) for cell in cells),
        ("show", run, cells[0], "--json"),
        ("analyze", run),
        *(("export", run, "--format", kind, "--out", f"export/{kind}") for kind in ("atif", "otlp")),
        # Without the keys in its variables, by which it would find them itself.
        ("pack", run, "--output", "run.pack.zip"),
    ]

    done = [fork_ghx_bench(tmp_path, *words) for words in commands]

    assert [(each.args, each.stderr) for each in done if each.returncode] == []
    printed = [(f"{words}", f"{each.stdout}{each.stderr}".encode()) for words, each in zip(commands, done, strict=True)]
    assert find_leaks(*printed, *read_files(tmp_path)) == []


@pytest.mark.nightly
def test_nor_has_what_is_said_of_a_warm_up_that_failed(tmp_path: Path) -> None:
    done = run_project(tmp_path, models=["error-spellings"], execution={"warmup": True})

    assert done.returncode == 3
    assert "no such key: ***" in done.stderr
    assert find_leaks(("terminal", f"{done.stdout}{done.stderr}".encode()), *read_files(run_in(tmp_path))) == []
