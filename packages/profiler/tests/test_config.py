from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ghx_base.documents.section import settings_in
from ghx_base.errors import DocumentError, FlagError
from ghx_profiler.config import ModelEntry, ProfileConfig, load_config
from ghx_profiler.plan.cell import Matrix

MINIMAL = "modes: [baseline, ghx]\n"


def load(folder: Path, text: str) -> ProfileConfig:
    path = folder / "profile.yaml"
    path.write_text(text)
    return load_config(path)


def complaints(folder: Path, text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        load(folder, text)
    return [line.removeprefix(f"{folder}/profile.yaml:") for line in str(caught.value).splitlines()]


def test_modes_are_all_that_must_be_said(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL)

    assert config.modes == ("baseline", "ghx")
    assert config.model_ids == ("none",)
    assert (config.scenarios.set, config.scenarios.ids, config.scenarios.tags) == (None, (), ())
    assert (config.execution.repetitions, config.execution.warmup, config.execution.order) == (5, True, "interleaved")
    assert (config.execution.max_concurrency, config.execution.retries, config.execution.seed) == (1, None, 0)
    assert (config.output.results_dir, config.output.reports_dir) == (Path("results"), None)
    assert (config.output.session_export, config.output.log_level) == (True, None)
    assert (config.analysis.target, config.analysis.alpha, config.analysis.margin_pct) == ("suite", 0.05, 10)
    assert config.analysis.primary == ("success", "tokens_active", "latency_wall_ms", "cost_total_usd")
    assert config.notes() == ()


def test_everything_can_be_said(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """\
modes: [baseline]
models: [openai/a, {id: openai/b, label: B}]
scenarios: {ids: [x-001], tags: [pr]}
execution: {repetitions: 2, warmup: false, order: sequential, max_concurrency: 4, retries: 0, seed: -7}
output: {results_dir: out, reports_dir: /srv/reports, session_export: false, log_level: warn}
analysis: {target: population, alpha: 0.01, margin_pct: 5, primary: [success]}
extensions: {anything: [1, two]}
""",
    )

    assert config.models == (ModelEntry(id="openai/a"), ModelEntry(id="openai/b", label="B"))
    assert config.execution.retries == 0
    assert config.output.log_level == "warning"
    assert config.analysis.margin_pct == 5
    assert config.extensions == {"anything": [1, "two"]}


def test_a_configuration_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text('{"modes": ["baseline"]}')

    assert load_config(path).modes == ("baseline",)


def test_the_older_name_of_retries_is_understood(tmp_path: Path) -> None:
    assert load(tmp_path, MINIMAL + "execution: {allowed_retries: 2}").execution.retries == 2


def test_a_configuration_read_back_from_its_record_is_the_same(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL + "models: [a]\nscenarios: {set: full}\n")

    assert ProfileConfig.model_validate(config.model_dump(mode="json")) == config


def test_what_the_configuration_accepts_the_matrix_accepts(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL + "models: [a/b:c, a]\nscenarios: {ids: [X.1, y_2]}\n")

    matrix = Matrix(
        models=config.model_ids,
        modes=config.modes,
        scenario_ids=config.scenarios.ids,
        repetitions=config.execution.repetitions,
        order=config.execution.order,
        seed=config.execution.seed,
    )
    assert len(matrix) == 40


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", '1:1: missing key \'modes\'; add it: the modes to compare, for example ["baseline", "ghx"]'),
        ("modes: []", "1:8: /modes: must not be empty"),
        ("modes: ghx", "1:8: /modes: expected a list, got the string 'ghx'; write ['ghx']"),
        ("modes: [ghx, ghx]", "1:14: /modes/1: 'ghx' is given twice; name it once"),
        ("modes: [ghx, GHX]", "1:14: /modes/1: 'GHX' differs from 'ghx' only in case; rename one"),
        (
            "modes: [../up]",
            "1:9: /modes/0: '../up' does not have the form of 'name-001'; "
            "the pattern is ^[A-Za-z0-9][A-Za-z0-9._-]{0,127}(?:@[A-Za-z0-9._~/+-]{1,128})?$",
        ),
        ("models: []", "2:9: /models: must not be empty"),
        ("models: [a, {id: a}]", "2:13: /models/1: 'a' is given twice; name it once"),
        ("models: ['']", "2:10: /models/0: must not be empty"),
        (
            "models: [5]",
            "2:10: /models/0: expected the id of a model, or an object with 'id' and 'label', got the number 5",
        ),
        ("models: [{id: a, lable: b}]", "2:18: /models/0/lable: unknown key 'lable'; did you mean 'label'?"),
        ("scenarios: {ids: [a, b, a]}", "2:25: /scenarios/ids/2: 'a' is given twice; name it once"),
        ("scenarios: {tags: [a, a]}", "2:23: /scenarios/tags/1: 'a' is given twice; name it once"),
        ("scenarios:", "2:11: /scenarios: expected an object, got null; give it a value, or remove it"),
        ("execution: {repetitions: 0}", "2:26: /execution/repetitions: must be at least 1, not 0"),
        (
            'execution: {repetitions: "5"}',
            "2:26: /execution/repetitions: expected an integer, got the string '5'; write 5, without quotes",
        ),
        ("execution: {seed: 1.5}", "2:19: /execution/seed: expected an integer, got the number 1.5"),
        ("execution: {retries: -1}", "2:22: /execution/retries: must be at least 0, not -1"),
        (
            "execution: {warmup: yes}",
            "2:21: /execution/warmup: expected true or false, got the string 'yes'; write true",
        ),
        (
            "execution: {order: interleave}",
            "2:20: /execution/order: expected one of 'interleaved', 'sequential', got 'interleave'; "
            "did you mean 'interleaved'?",
        ),
        ("execution: {timeout_default_ms: 0}", "2:33: /execution/timeout_default_ms: must be more than 0, not 0"),
        ("repetitions: 3", "2:1: /repetitions: unknown key 'repetitions'; it belongs into /execution"),
        ("output: {results_dir: ''}", "2:23: /output/results_dir: must not be empty; write '.' for the current folder"),
        (
            "output: {log_level: loud}",
            "2:21: /output/log_level: expected one of 'debug', 'info', 'warning', 'error', got 'loud'",
        ),
        ("analysis: {alpha: 1}", "2:19: /analysis/alpha: must be more than 0 and less than 0.5, not 1"),
        ("analysis: {margin_pct: 0}", "2:24: /analysis/margin_pct: must be more than 0, not 0"),
        ("analysis: {primary: []}", "2:21: /analysis/primary: must not be empty"),
        ("analysis: {primary: [a, a]}", "2:25: /analysis/primary/1: 'a' is given twice; name it once"),
        (
            "analysis: {target: suit}",
            "2:20: /analysis/target: expected one of 'suite', 'population', got 'suit'; did you mean 'suite'?",
        ),
    ],
)
def test_each_fault_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    whole = text if text.startswith(("{", "modes")) else MINIMAL + text

    assert complaints(tmp_path, whole) == [message]


def test_what_does_not_do_what_it_seems_to_do_is_noted(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        MINIMAL + "scenarios: {set: full, ids: [a]}\nexecution: {timeout_default_ms: 120000, repetitions: 1}\n",
    )

    assert config.notes() == (
        "execution.timeout_default_ms is not used: every scenario carries its own timeoutMs",
        "scenarios.set 'full' is not used: scenarios.ids names the scenarios",
        "execution.repetitions is 1: with few scenarios no difference can be told from chance",
    )


# --- flags -----------------------------------------------------------------------------------------------------------

FILE = ProfileConfig.model_validate(
    {"modes": ["baseline"], "scenarios": {"ids": ["a"]}, "execution": {"repetitions": 3, "seed": 9}}
)


def test_flags_override_the_file_which_overrides_the_defaults() -> None:
    config = FILE.override(repetitions=7, model=("x", "y"), mode=["ghx", "mcp"])

    assert (config.execution.repetitions, config.execution.seed, config.execution.max_concurrency) == (7, 9, 1)
    assert config.model_ids == ("x", "y")
    assert config.modes == ("ghx", "mcp")
    assert FILE.execution.repetitions == 3


@pytest.mark.parametrize("nothing", [None, (), []])
def test_a_flag_that_is_not_given_changes_nothing(nothing: object) -> None:
    assert FILE.override(model=nothing, mode=nothing, seed=None) == FILE


@pytest.mark.parametrize(("flag", "value", "section"), [("warmup", False, "execution"), ("retries", 0, "execution")])
def test_false_and_zero_are_given(flag: str, value: object, section: str) -> None:
    assert getattr(getattr(FILE.override(**{flag: value}), section), flag) == value


def test_a_set_on_the_command_line_wins_over_the_ids_of_the_file() -> None:
    config = FILE.override(scenario_set="full")

    assert (config.scenarios.set, config.scenarios.ids) == ("full", ())


def test_ids_on_the_command_line_win_over_the_ids_of_the_file() -> None:
    assert FILE.override(scenario=["b"]).scenarios.ids == ("b",)


def test_overriding_keeps_the_kind_of_configuration() -> None:
    class Extended(ProfileConfig):
        more: int = 0

    assert isinstance(Extended(modes=("a",), more=3).override(seed=1), Extended)
    assert Extended(modes=("a",), more=3).override(seed=1).more == 3


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"repetitions": 0}, "--repetitions: must be at least 1, not 0"),
        ({"max_concurrency": -1, "seed": 3}, "--max-concurrency: must be at least 1, not -1"),
        ({"mode": ["a", "a"]}, "--mode: 'a' is given twice; name it once"),
        (
            {"mode": ["a", "b c"]},
            "--mode: 'b c' does not have the form of 'name-001'; "
            "the pattern is ^[A-Za-z0-9][A-Za-z0-9._-]{0,127}(?:@[A-Za-z0-9._~/+-]{1,128})?$",
        ),
        ({"scenario": ["a", ""]}, "--scenario: must not be empty"),
        ({"model": [""]}, "--model: must not be empty"),
        (
            {"order": "interleave"},
            "--order: expected one of 'interleaved', 'sequential', got 'interleave'; did you mean 'interleaved'?",
        ),
        ({"alpha": 5}, "alpha: must be more than 0 and less than 0.5, not 5"),
    ],
)
def test_a_bad_flag_is_one_line_that_names_the_flag(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(FlagError) as caught:
        FILE.override(**flags)

    assert str(caught.value) == message
    assert caught.value.exit_code == 2


def test_a_switch_sets_what_it_says_and_its_absence_nothing() -> None:
    assert FILE.override(skip_warmup=True).execution.warmup is False
    assert FILE.override(skip_warmup=False) == FILE


def test_a_setting_that_is_misspelt_is_an_error_of_the_caller() -> None:
    with pytest.raises(TypeError, match="there is no setting 'repetition'; did you mean 'repetitions'"):
        FILE.override(repetition=2)


def test_no_two_settings_have_the_same_flag() -> None:
    flags = [each.set_by.flag for each in settings_in(ProfileConfig) if each.set_by is not None]

    assert len(flags) > 10
    assert len(flags) == len(set(flags))


def models_within(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from models_within(field.annotation)


def test_every_key_says_what_it_is_for() -> None:
    fields = [field for model in (*models_within(ProfileConfig), ModelEntry) for field in model.model_fields.values()]

    assert len(fields) > 20
    assert all(field.description and field.description.endswith(".") for field in fields)
