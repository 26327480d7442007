"""The kinds of control agents: each has its facts, and a name of its own."""

from typing import get_args

from ghx_profiler.control_kinds import CONTROLS, ControlKind, control_kind_of_name


def test_every_kind_has_its_facts() -> None:
    assert tuple(CONTROLS) == get_args(ControlKind)


def test_every_kind_is_known_by_the_name_of_its_agent() -> None:
    for kind, facts in CONTROLS.items():
        assert control_kind_of_name(facts.agent) == kind
        assert control_kind_of_name(f"{facts.agent}:careful") == kind
    assert control_kind_of_name("opencode") is None
