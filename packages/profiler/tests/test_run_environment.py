"""What differs between runs is said in words that a person would use, in order, and what is not known is said too."""

from typing import Any

from pydantic import JsonValue

from ghx_profiler.machine import MachineRecord
from ghx_profiler.store.provenance import make_provenance
from ghx_profiler.store.record import AgentRecord, ImportRecord, MatrixRecord, ModeDetails, RunRecord
from ghx_profiler.store.run_environment import Changes, RunEnvironment, find_changes, find_differences

AGENT = {"agent mine: mine.py": "0" * 16, "agent mine: option slip": "0.0"}
HERE: dict[str, JsonValue] = {
    "host": {"system": "Linux", "release": "5.15", "machine": "x86_64"},
    "commit": "a" * 40,
    "hasUncommittedChanges": False,
}


def a_record(
    ingredients: dict[str, str] | None = AGENT,
    *,
    circumstances: dict[str, JsonValue] = HERE,
    agents: tuple[str, ...] = ("mine",),
    modes: tuple[str, ...] = ("plain", "tool"),
    scenarios: tuple[str, ...] = ("one", "two"),
    **changes: Any,
) -> RunRecord:
    provenance = () if ingredients is None else (make_provenance("2026-01-01", ingredients, circumstances),)
    matrix = MatrixRecord(
        agents=agents,
        models=("none",),
        modes=modes,
        scenario_ids=scenarios,
        repetitions=2,
        order="interleaved",
        seed=0,
    )
    known: dict[str, Any] = {
        "run_id": "run",
        "created_at": "2026-01-01",
        "provider": "mine",
        "matrix": matrix,
        "analysis": {"alpha": 0.05},
        "config": {"execution": {"max_concurrency": 1, "repetitions": 2}, "output": {"results_dir": "results"}},
        "scenarios": tuple({"id": each, "prompt": "Do it.", "timeoutMs": 1} for each in scenarios),
        "versions": {"ghxBench": "1.0", "python": "3.11"},
        "host": {},
        "provenance": provenance,
    }
    return RunRecord(**{**known, **changes})


def changes_between(before: RunRecord, after: RunRecord) -> Changes:
    runs = {"before": RunEnvironment.of(before), "after": RunEnvironment.of(after)}
    (changes,) = find_changes(runs)
    return changes


def test_an_option_is_told_with_its_values_and_that_nothing_else_differs() -> None:
    changes = changes_between(a_record(), a_record({**AGENT, "agent mine: option slip": "0.3"}))

    assert str(changes) == "agent option slip 0.0 -> 0.3; nothing else"
    assert changes.to_wire()["words"] == str(changes)


def test_runs_of_the_same_making_differ_in_nothing() -> None:
    assert str(changes_between(a_record(), a_record())) == "nothing"


def test_changes_are_said_in_order_and_circumstances_apart() -> None:
    scenarios = tuple({"id": each, "prompt": "Do it now.", "timeoutMs": 2} for each in ("one",))
    after = a_record(
        {**AGENT, "agent mine: mine.py": "1" * 16, "agent mine: option words": "a b", "target": "github"},
        circumstances={**HERE, "commit": "b" * 40, "hasUncommittedChanges": True},
        scenarios=("one",),
        versions={"ghxBench": "2.0", "python": "3.11"},
        config={"execution": {"max_concurrency": 4, "repetitions": 2}, "output": {"results_dir": "elsewhere"}},
        analysis={"alpha": 0.01},
        agents=("mine",),
    ).model_copy(update={"scenarios": scenarios, "agents": (AgentRecord(name="mine", version="2"),)})
    before = a_record({**AGENT, "target": "twin"}).model_copy(
        update={"agents": (AgentRecord(name="mine", version="1"),)}
    )

    changes = changes_between(before, after)

    assert changes.differences == (
        "version of the agent 1 -> 2",
        "agent option words unset -> a b",
        "agent's code mine.py edited",
        "scenario one edited (prompt, timeoutMs)",
        "analysis alpha 0.05 -> 0.01",
        "concurrency 1 -> 4",
        "target twin -> github",
        "ghx-bench 1.0 -> 2.0",
    )
    assert changes.environment == ("commit aaaaaaaaaa -> bbbbbbbbbb", "uncommitted changes no -> yes")


def test_what_several_modes_have_is_said_once_and_of_which_if_not_of_all() -> None:
    def tools(plain: str, tool: str) -> dict[str, str]:
        return {**AGENT, "mode plain: tool gh version": plain, "mode tool: tool gh version": tool}

    before = a_record(tools("2.1", "2.1"))

    assert changes_between(before, a_record(tools("2.2", "2.2"))).differences == ("tool gh version 2.1 -> 2.2",)
    assert changes_between(before, a_record(tools("2.1", "2.2"))).differences == (
        "tool gh version in mode tool 2.1 -> 2.2",
    )


def test_what_belongs_to_a_mode_that_one_run_lacks_is_no_difference_of_its_own() -> None:
    before = a_record({**AGENT, "mode tool: tool tag": "0" * 16, "mode tool: skill s": "0" * 16})

    assert changes_between(before, a_record(modes=("plain",))).differences == ()


def test_instructions_and_definitions_of_modes_are_differences() -> None:
    def told(instructions: str, fingerprint: str) -> RunRecord:
        return a_record().model_copy(
            update={"modes": {"tool": fingerprint}, "mode_details": {"tool": ModeDetails(instructions=instructions)}}
        )

    assert changes_between(told("a", "1"), told("b", "2")).differences == ("mode tool edited (instructions)",)
    assert changes_between(told("a", "1"), told("a", "2")).differences == ("mode tool edited",)


def test_a_file_that_was_moved_is_no_difference_and_one_that_is_new_is() -> None:
    moved = {"agent mine: lib/mine.py": "0" * 16, "agent mine: option slip": "0.0"}
    more = {**AGENT, "agent mine: more.py": "2" * 16}

    assert str(changes_between(a_record(), a_record(moved))) == "nothing"
    assert str(changes_between(a_record(), a_record(more))) == "agent's code more.py added; nothing else"
    assert str(changes_between(a_record(more), a_record())) == "agent's code more.py removed; nothing else"


def test_options_of_several_agents_say_whose_they_are() -> None:
    agents = ("mine", "other")
    before, after = ({**AGENT, "agent other: option slip": value} for value in ("1", "2"))

    changes = changes_between(a_record(before, agents=agents), a_record(after, agents=agents))

    assert changes.differences == ("option slip of agent other 1 -> 2",)


def test_of_a_run_without_provenance_the_rest_is_unknown() -> None:
    old = a_record(None, versions={"ghxBench": "0.1", "python": "3.11"})

    changes = changes_between(old, a_record())

    assert changes.differences == ("ghx-bench 0.1 -> 1.0",)
    assert str(changes) == (
        "ghx-bench 0.1 -> 1.0; whether anything else is unknown: before has no record of agent options, code, tools "
        "and fixtures"
    )


def test_of_imported_runs_everything_is_unknown_that_rows_do_not_tell() -> None:
    imported: dict[str, Any] = {
        "imported": ImportRecord(format="axi", file="rows.jsonl", sha256="", at=""),
        "versions": {},
        "config": {},
        "analysis": {},
        "scenarios": (),
    }

    changes = changes_between(a_record(None, **imported), a_record(None, **imported))

    assert str(changes) == "unknown: before and after have no record of agent options, code, tools and fixtures"


def test_a_run_that_was_resumed_with_changes_says_so() -> None:
    earlier = make_provenance("2026-01-01", {**AGENT, "agent mine: mine.py": "9" * 16}, HERE)
    mixed = a_record().model_copy(update={"provenance": (earlier, *a_record().provenance)})

    assert str(changes_between(a_record(), mixed)) == (
        "nothing; after itself was resumed with another agent's code mine.py"
    )


def test_each_later_run_is_held_against_the_first() -> None:
    slips = {f"run {slip}": a_record({**AGENT, "agent mine: option slip": slip}) for slip in ("0.0", "0.1", "0.2")}
    runs = {label: RunEnvironment.of(record) for label, record in slips.items()}

    assert [str(each) for each in find_changes(runs)] == [
        "agent option slip 0.0 -> 0.1; nothing else",
        "agent option slip 0.0 -> 0.2; nothing else",
    ]
    (difference,) = find_differences(runs)
    assert str(difference) == "agent option slip (run 0.0: 0.0; run 0.1: 0.1; run 0.2: 0.2)"


def test_the_machines_of_a_run_are_those_that_measured_it() -> None:
    def measured_on(*processors: int) -> RunRecord:
        machine = MachineRecord(system="Linux", release="6.1", architecture="arm64", processor="Fast")
        return a_record(
            machines={f"node-{each}": machine.model_copy(update={"processors": each}) for each in processors}
        )

    assert changes_between(measured_on(2, 96), measured_on(96, 2)).environment == ()
    assert changes_between(measured_on(2), measured_on(2, 96)).environment == (
        "processors 2 x Fast -> 2 x Fast and 96 x Fast",
    )
    # One of an older version tells where it was started, and nothing else.
    assert changes_between(a_record(), measured_on(2)).environment == ("machine Linux 5.15 x86_64 -> Linux 6.1 arm64",)
