"""Pushes: which ref updates a client asks for, which are refused, and git's report in GitHub's words."""

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from ghx_twin.git.objects import RefUpdate, decode_text
from ghx_twin.git.packets import DATA, FLUSH, PROGRESS, GitProtocolError, pack_band, packet, read_packets

PROTECTED = "protected branch hook declined"
ATOMIC_FAILED = "atomic push failed"
VIOLATES_RULES = "push declined due to repository rule violations"
# A hook and not a filter in front of git: only git, once it has the objects, knows what is a fast-forward and which
# files a commit holds; and what it declines is reported like any other refused ref, while the rest of the push goes on.
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
class _Decline:
    """What to say of a ref that the hook declined: `reason` after its name, `lines` above the report."""

    reason: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """What a client asks for, as the head of its request says it."""

    updates: tuple[RefUpdate, ...] = ()
    capabilities: frozenset[str] = frozenset()

    @property
    def has_bands(self) -> bool:
        """Return whether the answer is divided into bands."""
        return "side-band-64k" in self.capabilities

    @property
    def is_reported(self) -> bool:
        """Return whether the client wants a report on each ref."""
        return bool(self.capabilities & {"report-status", "report-status-v2"})


@dataclass(slots=True)
class Decisions:
    """Which updates of one push are refused, and the lines that tell git's hook so."""

    declines: dict[str, _Decline] = field(default_factory=dict[str, _Decline])
    hook_lines: list[str] = field(default_factory=list[str])
    reverted: dict[str, _Decline] = field(default_factory=dict[str, _Decline])

    def refuse(self, ref: str, rule: str, decline: _Decline) -> None:
        """Have the hook decline a ref (`always`, or unless it is a `fast-forward`)."""
        self.declines[ref] = decline
        self.hook_lines.append(f"{ref} {rule}\n")

    def refuse_workflows(self, ref: str) -> None:
        """Have the hook decline a ref that brings a workflow, and note which; see `read_hook_notes`."""
        self.hook_lines.append(f"{ref} workflows\n")

    def inspect(self, push: Push, moved: Sequence[RefUpdate], look: Callable[[RefUpdate], Sequence[str]]) -> None:
        """Take back the refs that git has moved and for which `look` returns lines; of an atomic push, all of them."""
        findings = {update.ref: lines for update in moved if (lines := look(update))}
        self.reverted = {ref: _Decline(reason=VIOLATES_RULES, lines=tuple(lines)) for ref, lines in findings.items()}
        if findings and "atomic" in push.capabilities:
            others = (update.ref for update in moved if update.ref not in findings)
            self.reverted |= {ref: _Decline(reason=ATOMIC_FAILED) for ref in others}

    def read_hook_notes(self, noted: str) -> None:
        """Take over the declines that the hook has noted."""
        for line in noted.splitlines():
            kind, _, notes = line.partition(" ")
            ref, _, path = notes.partition(" ")
            if kind == "found":
                self.declines[ref] = _Decline(reason=WORKFLOW_REFUSED.format(path=path))


def read_push(request: BinaryIO) -> Push:
    """Return the updates at the head of a request, and rewind it for git."""
    updates: list[RefUpdate] = []
    capabilities: frozenset[str] = frozenset()
    for line in read_packets(request):
        command, _, offered = line.rstrip(b"\n").partition(b"\0")
        if offered and not updates:  # git, too, takes them from the first line alone
            capabilities = frozenset(decode_text(offered).split())
        if not command.startswith((b"shallow ", b"push-cert")):  # lines that are no commands
            updates.append(_parse_update(command))
    request.seek(0)
    return Push(updates=tuple(updates), capabilities=capabilities)


def decide(push: Push, head: str, rules: Rules) -> Decisions:
    """Return which updates are refused; the branch that HEAD names is never deleted."""
    decisions = Decisions()
    for update in push.updates:
        if update.ref == head and update.new is None:
            decline = _Decline(reason=f"refusing to delete the current branch: {head}")
            decisions.refuse(update.ref, "always", decline)
            continue
        _apply_rule(decisions, update, rules(update))
    return decisions


def _apply_rule(decisions: Decisions, update: RefUpdate, rule: RefRule) -> None:
    if rule.denied or rule.refused:
        decline = _Decline(reason=rule.denied) if rule.denied else _protected_decline(update.ref, rule.refused)
        decisions.refuse(update.ref, "always", decline)
        return
    # A new branch and a deletion are no force push.
    if rule.force_push_refused and update.old and update.new:
        decisions.refuse(update.ref, "fast-forward", _protected_decline(update.ref, rule.force_push_refused))
    if rule.workflows_refused and update.new:
        decisions.refuse_workflows(update.ref)


def reword_report(push: Push, decisions: Decisions, output: bytes) -> bytes:
    """Return git's report in GitHub's words."""
    if not push.is_reported:
        return output
    progress, report = _split_bands(output) if push.has_bands else (b"", output)
    if not report:
        return output
    lines = list(read_packets(io.BytesIO(report)))
    declined = {ref for line in lines if (ref := _declined_ref(line)) in decisions.declines}
    reworded = b"".join(packet(_reword_line(line, decisions)) for line in lines) + FLUSH
    if not push.has_bands:
        return reworded
    for ref in (update.ref for update in push.updates if update.ref in declined):
        # GitHub shows its own lines, where git would say that a hook declined.
        progress = progress.replace(pack_band(PROGRESS, f"error: hook declined to update {ref}\n".encode()), b"")
        progress += pack_band(PROGRESS, "".join(f"{line}\n" for line in decisions.declines[ref].lines).encode())
    for decline in decisions.reverted.values():
        progress += pack_band(PROGRESS, "".join(f"{line}\n" for line in decline.lines).encode())
    return progress + pack_band(DATA, reworded) + FLUSH


def _parse_update(command: bytes) -> RefUpdate:
    try:
        old, _, rest = command.decode().partition(" ")
    except UnicodeDecodeError:
        # Under any other name the rules of its branch would not hold for it, and nothing would be recorded of it.
        raise GitProtocolError("the name of a ref is not UTF-8") from None
    new, _, ref = rest.partition(" ")
    if len(old) != len(_ABSENT) or len(new) != len(_ABSENT) or not ref:
        raise GitProtocolError("the request asks for no change of a ref that git could make")
    return RefUpdate(ref, None if old == _ABSENT else old, None if new == _ABSENT else new)


def _protected_decline(ref: str, reasons: Iterable[str]) -> _Decline:
    lines = [f"error: GH006: Protected branch update failed for {ref}."]
    for reason in reasons:
        lines += ["", f"- {reason}"]
    return _Decline(reason=PROTECTED, lines=tuple(lines))


def _split_bands(output: bytes) -> tuple[bytes, bytes]:
    """Return the packets of progress in an answer, as they are, and the content of its report."""
    progress = report = b""
    for content in read_packets(io.BytesIO(output)):
        if content[:1] == bytes([DATA]):
            report += content[1:]
        else:
            progress += packet(content)
    return progress, report


def _declined_ref(line: bytes) -> str | None:
    parts = line.rstrip(b"\n").split(b" ", 2)
    return decode_text(parts[1]) if parts[0] == b"ng" and parts[2:] == [_HOOK_DECLINED] else None


def _reword_line(line: bytes, decisions: Decisions) -> bytes:
    kind, _, ref = line.rstrip(b"\n").partition(b" ")
    if kind == b"ok" and (reason := decisions.reverted.get(decode_text(ref))):
        return b"ng %b %b\n" % (ref, reason.reason.encode())
    decline = decisions.declines.get(_declined_ref(line) or "")
    return line if decline is None else line.replace(_HOOK_DECLINED, decline.reason.encode())
