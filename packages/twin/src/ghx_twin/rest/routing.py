"""Finds the target of a path: a tree of segments, split before they are decoded."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import unquote

CATCH_ALL = frozenset(
    {"ref", "path", "basehead", "branch", "name", "tag", "tree_sha"}
)  # may hold slashes, plain or encoded
TargetT = TypeVar("TargetT")


@dataclass(slots=True)
class _Node(Generic[TargetT]):
    fixed: "dict[str, _Node[TargetT]]" = field(default_factory=dict[str, "_Node[TargetT]"])
    single: "_Node[TargetT] | None" = None
    many: "_Node[TargetT] | None" = None
    targets: dict[str, tuple[TargetT, tuple[str, ...]]] = field(
        default_factory=dict[str, tuple[TargetT, tuple[str, ...]]]
    )


@dataclass(frozen=True, slots=True)
class Match(Generic[TargetT]):
    """The target of a path, and the decoded values of its parameters."""

    target: TargetT
    parameters: dict[str, str]


class Router(Generic[TargetT]):
    """Targets by method and path template.

    A parameter takes one segment, those in `CATCH_ALL` take one or more. Fixed segments win over parameters, and the
    shortest value of a catch-all that leaves a known rest wins over the longest: `commits/a/b/status` is the status of
    `a/b`.
    """

    def __init__(self) -> None:
        self._root = _Node[TargetT]()

    def add(self, method: str, template: str, target: TargetT) -> None:
        """Add the target of a method and a template."""
        node, names = self._root, list[str]()
        for segment in template.strip("/").split("/"):
            if not segment.startswith("{"):
                node = node.fixed.setdefault(segment, _Node[TargetT]())
                continue
            names.append(segment[1:-1])
            if names[-1] in CATCH_ALL:
                node.many = node = node.many or _Node[TargetT]()
            else:
                node.single = node = node.single or _Node[TargetT]()
        node.targets[method] = (target, tuple(names))

    def find(self, method: str, raw_path: str) -> Match[TargetT] | None:
        """Return the target of a method and a path that is still percent-encoded."""
        # Split first: `%2F` is part of a value (a branch `a/b`), never a boundary.
        segments = raw_path.strip("/").split("/")
        match = _find(self._root, method, [unquote(segment) for segment in segments], 0)
        if match is None:
            return None
        (target, names), values = match
        return Match(target, dict(zip(names, values, strict=True)))


_Found = tuple[tuple[TargetT, tuple[str, ...]], tuple[str, ...]]


def _find(node: _Node[TargetT], method: str, segments: list[str], at: int) -> _Found[TargetT] | None:
    if at == len(segments):
        target = node.targets.get(method)
        return None if target is None else (target, ())
    segment = segments[at]
    if (fixed := node.fixed.get(segment)) and (result := _find(fixed, method, segments, at + 1)):
        return result
    if not segment:
        return None
    if node.single and (result := _find(node.single, method, segments, at + 1)):
        return result[0], (segment, *result[1])
    return _find_many(node.many, method, segments, at) if node.many else None


def _find_many(node: _Node[TargetT], method: str, segments: list[str], at: int) -> _Found[TargetT] | None:
    for end in range(at + 1, len(segments) + 1):
        result = _find(node, method, segments, end)
        if result:
            return result[0], ("/".join(segments[at:end]), *result[1])
    return None
