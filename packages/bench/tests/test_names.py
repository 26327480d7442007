"""What the package offers: sorted, all there, and not loaded until it is asked for."""

import subprocess
import sys
import typing
from pathlib import Path

import pytest
from promised_capabilities import promised

import ghx_bench
from ghx_tools.capabilities.index import CAPABILITY_IDS, SIGNATURES


def test_the_names_are_sorted_and_every_one_resolves() -> None:
    names = ghx_bench.__all__

    assert names == sorted(names)
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(ghx_bench, name) is not None
        assert name in dir(ghx_bench)


def test_type_checkers_and_python_see_the_same_names() -> None:
    text = Path(ghx_bench.__file__).read_text()
    code = text.replace("if TYPE_CHECKING:", "if True:")
    space: dict[str, object] = {"__name__": "ghx_bench"}

    exec(compile(code, "eval", "exec"), space)

    for name in ghx_bench.__all__:
        assert space[name] is getattr(ghx_bench, name)


def test_the_names_promised_are_there() -> None:
    promised = (
        "EvalScenario Checkpoint CheckpointCondition evaluate_condition describe_condition FixtureRequirements "
        "FixtureManifest FixtureResource load_fixture_manifest write_fixture_manifest load_eval_scenarios "
        "load_scenario_sets bind_fixture_variables EvalConfig load_eval_config"
    )

    assert set(promised.split()) <= set(ghx_bench.__all__)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'EvalScenari'"):
        _ = ghx_bench.EvalScenari  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ImportError):
        from ghx_bench import nothing_of_the_kind  # type: ignore[attr-defined] # noqa: F401


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, ghx_bench; print([m for m in ('pydantic', 'yaml', 'ghx_profiler') if m in sys.modules])"

    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_condition_is_a_type_that_can_be_annotated_with() -> None:
    assert typing.get_args(ghx_bench.CheckpointCondition)


# Inputs of ours that may be left out.
OURS = {"workflow.job.logs.view": {"context", "failedSteps", "lastLines", "search"}}


def test_the_table_of_capabilities_has_the_catalogue() -> None:
    assert set(SIGNATURES) >= set(promised())
    for id_, promise in promised().items():
        assert set(SIGNATURES[id_].required) == promise.required
        assert set(SIGNATURES[id_].names) == promise.inputs | OURS.get(id_, set())


def test_capabilities_are_listed_once_in_order() -> None:
    assert list(CAPABILITY_IDS) == sorted(set(CAPABILITY_IDS))
    assert "pr.commits.list" in CAPABILITY_IDS


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("prNumber", "prNumber"),
        ("pr_number", "prNumber"),
        ("name", "name"),
        ("repo", "name"),
        ("Owner", None),
        ("OWNER", None),
        ("n-a_m e", None),
        ("prnumber", None),
        ("PR_NUMBER", None),
        ("number", None),
        ("repository", None),
    ],
)
def test_inputs_are_known_by_their_spellings(key: str, name: str | None) -> None:
    assert SIGNATURES["pr.view"].name_of(key) == name


def test_a_capability_without_a_repository_takes_none() -> None:
    assert SIGNATURES["pr.threads.reply"].name_of("repo") is None
