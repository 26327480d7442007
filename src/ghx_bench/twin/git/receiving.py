"""Pushes: what a client asks to change, what is refused before git sees it, and the report that says so."""

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO

from ghx_bench.twin.git.objects import RefUpdate, decode_text
from ghx_bench.twin.git.packets import DATA, FLUSH, PROGRESS, GitProtocolError, pack_band, packet, read_packets

PROTECTED = "protected branch hook declined"
UPDATE_HOOK = """\
#!/bin/sh
# Refuses the refs that $GHX_TWIN_RULES names: always, where the push is no fast-forward, or where it brings a workflow
# that is on no branch yet, which is then noted in that file.
workflows() { git -c core.quotePath=false ls-tree -r "$1" .github/workflows/ 2>/dev/null; }
new_workflow() {
    known=$(git for-each-ref --format='%(refname)' refs/heads | while read -r branch; do workflows "$branch"; done)
    workflows "$1" | grep -vxF -e "$known" | head -n 1 | cut -f 2-
}
while read -r ref rule; do
    [ "$ref" = "$1" ] || continue
    [ "$rule" = fast-forward ] && git merge-base --is-ancestor "$2" "$3" && continue
    if [ "$rule" = workflows ]; then
        path=$(new_workflow "$3")
        [ -n "$path" ] || continue
        echo "found $1 $path" >>"$GHX_TWIN_RULES"
    fi
    exit 1
done <"$GHX_TWIN_RULES"
exit 0
"""
WORKFLOW_REFUSED = (
    "refusing to allow a Personal Access Token to create or update workflow `{path}` without `workflow` scope"
)
_ABSENT = "0" * 40
_HOOK_DECLINED = b"hook declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefRule:
    """Why one update of a ref is refused; nothing: it is allowed."""

    denied: str | None = None  # in any case, whatever protects the branch
    refused: tuple[str, ...] = ()  # in any case
    force_push_refused: tuple[str, ...] = ()  # if it is no fast-forward
    workflows_refused: bool = False  # if it brings a workflow that is on no branch yet


Rules = Callable[[RefUpdate], RefRule]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """What to say of a ref that the hook declined: after its name, and above, line by line."""

    reason: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """What a client asks for, as the head of its request says it."""

    updates: tuple[RefUpdate, ...] = ()
    capabilities: frozenset[str] = frozenset()

    @property
    def has_bands(self) -> bool:
        """Tell whether the answer is divided into bands."""
        return "side-band-64k" in self.capabilities

    @property
    def is_reported(self) -> bool:
        """Tell whether the client wants to know what became of each ref."""
        return bool(self.capabilities & {"report-status", "report-status-v2"})


@dataclass(slots=True)
class Judgement:
    """The verdicts on the updates of one push."""

    verdicts: dict[str, _Verdict] = field(default_factory=dict[str, _Verdict])
    hook_lines: list[str] = field(default_factory=list[str])

    def refuse(self, ref: str, rule: str, verdict: _Verdict) -> None:
        """Let the hook decline a ref (`always`, or unless it is a `fast-forward`)."""
        self.verdicts[ref] = verdict
        self.hook_lines.append(f"{ref} {rule}\n")

    def refuse_workflows(self, ref: str) -> None:
        """Let the hook decline a ref that brings a workflow; `learn` then knows which."""
        self.hook_lines.append(f"{ref} workflows\n")

    def learn(self, noted: str) -> None:
        """Read what the hook has noted."""
        for line in noted.splitlines():
            kind, _, found = line.partition(" ")
            ref, _, path = found.partition(" ")
            if kind == "found":
                self.verdicts[ref] = _Verdict(reason=WORKFLOW_REFUSED.format(path=path))


def read_push(request: BinaryIO) -> Push:
    """Read the updates at the head of a request, and go back to its start."""
    updates: list[RefUpdate] = []
    capabilities: frozenset[str] = frozenset()
    for line in read_packets(request):
        command, _, said = line.rstrip(b"\n").partition(b"\0")
        if said:
            capabilities = frozenset(decode_text(said).split())
        if not command.startswith((b"shallow ", b"push-cert")):
            updates.append(_update(decode_text(command)))
    request.seek(0)
    return Push(updates=tuple(updates), capabilities=capabilities)


def judged(push: Push, head: str, rules: Rules) -> Judgement:
    """Decide on each update; the branch that HEAD names is never deleted."""
    judgement = Judgement()
    for update in push.updates:
        if update.ref == head and update.new is None:
            verdict = _Verdict(reason=f"refusing to delete the current branch: {head}")
            judgement.refuse(update.ref, "always", verdict)
            continue
        _judge(judgement, update, rules(update))
    return judgement


def _judge(judgement: Judgement, update: RefUpdate, rule: RefRule) -> None:
    if rule.denied or rule.refused:
        verdict = _Verdict(reason=rule.denied) if rule.denied else _protected(update.ref, rule.refused)
        judgement.refuse(update.ref, "always", verdict)
        return
    if rule.force_push_refused and update.old and update.new:
        judgement.refuse(update.ref, "fast-forward", _protected(update.ref, rule.force_push_refused))
    if rule.workflows_refused and update.new:
        judgement.refuse_workflows(update.ref)


def answered(push: Push, judgement: Judgement, output: bytes) -> tuple[bytes, tuple[RefUpdate, ...]]:
    """Return git's answer in GitHub's words, and the updates that were made."""
    if not push.is_reported:
        return output, ()
    progress, report = _divided(output) if push.has_bands else (b"", output)
    if not report:
        return output, ()
    lines = list(read_packets(io.BytesIO(report)))
    declined = {ref for line in lines if (ref := _declined(line)) in judgement.verdicts}
    said = b"".join(packet(_reworded(line, judgement)) for line in lines) + FLUSH
    done = tuple(update for update in push.updates if f"ok {update.ref}".encode() in {line.rstrip() for line in lines})
    if not push.has_bands:
        return said, done
    for ref in (update.ref for update in push.updates if update.ref in declined):
        progress = progress.replace(pack_band(PROGRESS, f"error: hook declined to update {ref}\n".encode()), b"")
        progress += pack_band(PROGRESS, "".join(f"{line}\n" for line in judgement.verdicts[ref].lines).encode())
    return progress + pack_band(DATA, said) + FLUSH, done


def _update(command: str) -> RefUpdate:
    old, _, rest = command.partition(" ")
    new, _, ref = rest.partition(" ")
    if len(old) != len(_ABSENT) or len(new) != len(_ABSENT) or not ref:
        raise GitProtocolError("the request asks for no change of a ref that git could make")
    return RefUpdate(ref, None if old == _ABSENT else old, None if new == _ABSENT else new)


def _protected(ref: str, reasons: Iterable[str]) -> _Verdict:
    lines = [f"error: GH006: Protected branch update failed for {ref}."]
    for reason in reasons:
        lines += ["", f"- {reason}"]
    return _Verdict(reason=PROTECTED, lines=tuple(lines))


def _divided(output: bytes) -> tuple[bytes, bytes]:
    """Divide an answer into the packets of progress, as they are, and the content of the report."""
    progress = report = b""
    for content in read_packets(io.BytesIO(output)):
        if content[:1] == bytes([DATA]):
            report += content[1:]
        else:
            progress += packet(content)
    return progress, report


def _declined(line: bytes) -> str | None:
    parts = line.rstrip(b"\n").split(b" ", 2)
    return decode_text(parts[1]) if parts[0] == b"ng" and parts[2:] == [_HOOK_DECLINED] else None


def _reworded(line: bytes, judgement: Judgement) -> bytes:
    verdict = judgement.verdicts.get(_declined(line) or "")
    return line if verdict is None else line.replace(_HOOK_DECLINED, verdict.reason.encode())
