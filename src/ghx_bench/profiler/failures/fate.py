"""What became of a tool call: by what it says of itself, and by what its output shows."""

from dataclasses import dataclass

from ghx_bench.profiler.failures.complaints import complaint_in
from ghx_bench.profiler.failures.kinds import FailureKind, kind_of
from ghx_bench.profiler.failures.outputs import Output, error_in, exit_code_at_end, read_output, says_it_went_well
from ghx_bench.profiler.failures.scenes import Scene, Trust, scene_of
from ghx_bench.profiler.trace import ToolCallEvent

_LONGEST_EVIDENCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of a call; `failed` is `None` where nothing tells.

    Of a failure, `kind` says why, as far as can be told, and `evidence` is the line or message that shows it.
    """

    failed: bool | None
    kind: FailureKind | None = None
    evidence: str = ""


def fate_of(call: ToolCallEvent) -> Fate:
    """Return what became of a tool call.

    It failed if it says so (its flag, its error), or if its output shows it: an exit code other than 0, a body that is
    nothing but an error (of HTTP, GraphQL, JSON-RPC, the Model Context Protocol, `"ok": false`), or a complaint of the
    program that was run. Whether a line is such a complaint or content that was asked for is told by the command: a log
    file may be full of errors. It succeeded if nothing of that holds, and it says so or its output does.
    """
    output, scene = read_output(call.output), scene_of(call)
    shown = _failure_shown(output, scene)
    if call.success is False or call.error:
        return _failure_told(call, output, shown)
    if shown is not None:
        return shown
    says_so = call.success or output.exit_code is not None or output.is_error is False
    return Fate(failed=False if says_so or any(map(says_it_went_well, output.documents)) else None)


def _failure_told(call: ToolCallEvent, output: Output, shown: Fate | None) -> Fate:
    if shown is not None and not call.error:
        return shown
    message = call.error or output.text.strip() or " ".join(map(str, output.documents)) or "flagged as failed"
    kind = kind_of(f"{message[:_LONGEST_EVIDENCE]} {message[-_LONGEST_EVIDENCE:]}", exit_code=output.exit_code)
    if kind is FailureKind.UNKNOWN and shown is not None and shown.kind is not None:
        kind = shown.kind
    return _failure(message, kind)


def _failure_shown(output: Output, scene: Scene) -> Fate | None:
    bodies = (error_in(document) for document in (output.documents if scene.trust is not Trust.CONTENT else ()))
    body = next((each for each in bodies if each is not None), None)
    if output.is_error:
        message = body or output.text.strip() or "flagged as an error"
        return _failure(message, kind_of(message))
    if body is not None:
        return _failure(body, kind_of(body))
    complaint, code = None, output.exit_code
    # One program that says that all went well does not complain, whatever it prints.
    if not (output.exit_code == 0 and scene.exit_code_is_its_own):
        complaint = complaint_in(output.rest if output.documents else output.text, scene)
    if code is None and scene.is_shell and scene.trust is Trust.REPORT:
        code = exit_code_at_end(output.text)
    if code and not (scene.answers_with(code) and complaint is None):
        lines = reversed(output.text[-2_000:].splitlines())
        message = complaint or next((line for line in lines if line.strip()), "") or f"exit code {code}"
        return _failure(message, kind_of(message, exit_code=code))
    if output.was_cut_off:
        return _failure(complaint or "cut off before it was done", FailureKind.TIMEOUT)
    return None if complaint is None else _failure(complaint, kind_of(complaint))


def _failure(message: str, kind: FailureKind) -> Fate:
    line = " ".join(message[: 2 * _LONGEST_EVIDENCE].split())
    evidence = line if len(line) <= _LONGEST_EVIDENCE else line[: _LONGEST_EVIDENCE - 1] + "…"
    return Fate(failed=True, kind=kind, evidence=evidence)
