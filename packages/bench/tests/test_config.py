import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from ghx_base.documents.section import settings_in
from ghx_base.errors import DocumentError, FlagError
from ghx_bench.cli.flags import EvaluationFlags, GateFlags, MeasuringFlags
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.config_file import load_eval_config, project_config
from ghx_bench.project.config_sections import FixtureChoice, ProviderChoice
from ghx_profiler.errors import UnknownNameError
from ghx_profiler.stats.plan import AnalysisPlan


def load(folder: Path, text: str) -> EvalConfig:
    path = folder / "eval.config.yaml"
    path.write_text(text)
    return load_eval_config(path)


def test_a_file_of_the_older_tools_loads_unchanged(older_tools: Path) -> None:
    config = load_eval_config(older_tools / "eval.config.yaml")

    assert config.modes == ("baseline", "mcp", "ghx")
    assert config.scenarios.set == "default"
    assert (config.execution.repetitions, config.execution.warmup) == (5, True)
    assert (config.output.results_dir, config.output.reports_dir) == (Path("results"), Path("reports"))
    assert (config.provider.id, config.provider.port) == ("opencode", 3001)
    ((model, label),) = [(model.id, model.label) for model in config.models]
    written = (older_tools / "eval.config.yaml").read_text()
    assert f"id: {model}\n    label: {label}\n" in written
    assert f"repo: {config.fixtures.repo}\n" in written
    assert config.fixtures.manifest == older_tools / "fixtures" / "latest.json"  # next to the file that names it
    assert config.fixtures.seed_if_missing
    assert config.fixtures.reseed_between_modes
    assert config.notes() == (
        "execution.timeout_default_ms is not used: every scenario carries its own timeoutMs",
        "output.log_level is not used: leave it out",
    )


def test_by_default_the_reference_agent_runs_without_a_model_and_touches_no_repository(tmp_path: Path) -> None:
    config = load(tmp_path, "modes: [ghx]")

    assert (config.provider.id, config.provider.port, config.provider.options) == ("reference", None, {})
    assert config.model_ids == ("none",)
    assert config.fixtures.repo is None
    assert not config.fixtures.seed_if_missing
    assert not config.fixtures.reseed_between_modes


def test_an_empty_repository_is_none(tmp_path: Path) -> None:
    assert load(tmp_path, "modes: [ghx]\nfixtures: {repo: ''}").fixtures.repo is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "fixtures: {repo: octocat}",
            "2:18: /fixtures/repo: 'octocat' does not have the form of 'octocat/hello-world'; the pattern is ",
        ),
        (
            "fixtures: {repo: https://github.com/octocat/hello-world}",
            "2:18: /fixtures/repo: 'https://github.com/octocat/hello-world' does not have the form of "
            "'octocat/hello-world'; the pattern is ",
        ),
        (
            "fixtures: {author_token_env: a-b}",
            "2:30: /fixtures/author_token_env: 'a-b' does not have the form of 'AUTHOR_TOKEN'; the pattern is ",
        ),
        ("fixtures: {manifest: ''}", "2:22: /fixtures/manifest: must not be empty"),
        ("provider: opencode", "2:11: /provider: expected an object, got the string 'opencode'"),
        ("provider: {port: 70000}", "2:18: /provider/port: must be at least 1 and at most 65535, not 70000"),
        ("provider: {idd: x}", "2:12: /provider/idd: unknown key 'idd'; did you mean 'id'?"),
        ("fixture: {}", "2:1: /fixture: unknown key 'fixture'; did you mean 'fixtures'?"),
        ("port: 3001", "2:1: /port: unknown key 'port'; it belongs into /provider"),
    ],
)
def test_each_fault_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, f"modes: [ghx]\n{text}\n")

    (problem,) = caught.value.problems
    assert str(problem).startswith(f"{tmp_path}/eval.config.yaml:{message}")


def test_a_token_in_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, "modes: [ghx]\nfixtures:\n  author_token_env: ghp_0123456789abcdef\n")

    (problem,) = caught.value.problems
    assert "ghp_" not in str(problem) + json.dumps(problem.to_dict())
    assert problem.reason == "this is a token, not the name of a variable"
    assert (problem.line, problem.column) == (3, 3)


def test_flags_reach_the_keys_of_the_evaluation() -> None:
    config = EvalConfig(modes=("ghx",)).override(agent="opencode", repo="a/b", repetitions=2)

    assert [agent.id for agent in config.chosen_agents] == ["opencode"]
    assert (config.fixtures.repo, config.execution.repetitions) == ("a/b", 2)
    with pytest.raises(FlagError, match=r"^--repo: 'x' does not have the form of 'octocat/hello-world'"):
        config.override(repo="x")


def test_every_flag_of_a_run_is_declared_with_the_setting_it_is_for() -> None:
    declared = [each.set_by.flag for each in settings_in(EvalConfig) if each.set_by is not None]
    offered = {
        f"--{each.name.replace('_', '-')}"
        for kind in (MeasuringFlags, EvaluationFlags, GateFlags)
        for each in fields(kind)
    } - {"--junit", "--markdown"}  # files that tell of a run, and are no setting of it

    assert len(declared) == len(set(declared))
    assert offered <= set(declared)
    assert set(declared) - offered == {"--manifest"}  # of `ghx-bench fixture`


def test_a_target_on_the_command_line_is_where_agents_work() -> None:
    config = EvalConfig(modes=("ghx",)).override(target="github")

    assert (config.target, config.analysis.target) == ("github", AnalysisPlan().target)


def test_every_key_says_what_it_is_for() -> None:
    sections = (EvalConfig, ProviderChoice, FixtureChoice)

    assert all(field.description for section in sections for field in section.model_fields.values())


def test_agents_are_names_or_entries_and_a_flag_takes_them_with_their_options(tmp_path: Path) -> None:
    file = tmp_path / "eval.config.yaml"
    careful = "{id: ./mine.py:Agent, name: careful, options: {mood: glad}}"
    file.write_text(f"modes: [ghx]\nagents: [nop, ./mine.py:Agent, {careful}]\n")
    config = load_eval_config(file)

    assert [agent.name or agent.id for agent in config.agents] == ["nop", f"{tmp_path / 'mine.py'}:Agent", "careful"]
    assert [agent.options for agent in config.override(agent=["careful"]).chosen_agents] == [{"mood": "glad"}]
    assert [agent.id for agent in config.override(agent=["nop", "reference"]).agents] == ["nop", "reference"]
    assert EvalConfig.model_validate(config.model_dump(mode="json")) == config


@pytest.mark.parametrize("written", ["./mine.py:Agent", "mine.py:Agent", "mine.py", "../{here}/mine.py", "{path}"])
def test_an_agent_of_the_file_is_found_however_its_path_is_written(
    written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("eval.config.yaml").write_text("modes: [ghx]\nagents: [nop, {id: ./mine.py:Agent, options: {mood: glad}}]\n")
    name = written.format(here=tmp_path.name, path=tmp_path / "mine.py")

    (chosen,) = project_config().override(agent=[name]).chosen_agents

    assert chosen.options == {"mood": "glad"}
    assert project_config().override(agent=["mine.py:Other"]).chosen_agents[0].options == {}


def test_an_agent_that_there_is_not_is_told_with_those_of_the_file() -> None:
    entries = [{"id": "a.py:A", "name": "careful"}, {"id": "a.py:A", "name": "hasty"}]
    config = EvalConfig.model_validate({"modes": ["ghx"], "agents": entries})

    with pytest.raises(UnknownNameError) as raised:
        config.override(agent=["hsty"])

    told, _, known = str(raised.value).partition("; did you mean 'hasty'? known: ")
    assert told == "no agent 'hsty'"
    assert {"careful", "goose", "hasty", "nop"} <= set(known.split(", "))
    assert [each.id for each in config.override(agent=["reference"]).chosen_agents] == ["reference"]
    assert [each.id for each in config.override(agent=["bold"], replay="run").chosen_agents] == ["replay"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ("agents: [nop]\nprovider: {id: nop}", "`provider` and `agents` both say which agent is evaluated"),
        ("agents: [{id: a.py:A}, {id: a.py:A, options: {b: 1}}]", "give each a `name` of its own"),
        ("agents: [nop, nop]", "'nop' is given twice; name it once"),
        ("agents: [3]", "expected the name of an agent, or an object with 'id', 'name' and 'options'"),
    ],
)
def test_agents_that_cannot_be_told_apart_are_refused(settings: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "eval.config.yaml"
    file.write_text(f"modes: [ghx]\n{settings}\n")

    with pytest.raises(DocumentError, match=re.escape(complaint)):
        load_eval_config(file)


def test_hosts_that_sessions_may_reach_are_named_and_the_real_github_is_none_of_them(tmp_path: Path) -> None:
    assert load(tmp_path, "modes: [ghx]\nreachable_hosts: [api.example.com]").reachable_hosts == ("api.example.com",)
    for host in ("github.com", "api.github.com", "com", ".githubusercontent.com"):
        with pytest.raises(DocumentError, match="the real GitHub"):
            load(tmp_path, f"modes: [ghx]\nreachable_hosts: [{host}]")
    for host in ("'*'", "'a,b'", "'https://example.com'", "'example.com:443'", "''"):
        with pytest.raises(DocumentError, match="/reachable_hosts/0"):
            load(tmp_path, f"modes: [ghx]\nreachable_hosts: [{host}]")


def test_paths_for_a_sandbox_that_is_not_used_are_noted(tmp_path: Path) -> None:
    written = "modes: [ghx]\nvisible_paths: [tools]\n"

    assert any("visible_paths" in note for note in load(tmp_path, written).unused())
    assert not any("visible_paths" in note for note in load(tmp_path, f"{written}sandbox: bwrap\n").unused())


AGENTS = EvalConfig.model_validate(
    {
        "modes": ["ghx"],
        "agents": [{"id": "./a.py:A", "name": "careful", "options": {"slip": 0, "words": "done"}}, "nop"],
    }
)
ONE = EvalConfig.model_validate({"modes": ["ghx"], "provider": {"id": "./a.py:A", "port": 80, "options": {"slip": 0}}})


def test_an_option_on_the_command_line_is_yaml_over_those_of_the_file() -> None:
    given = ["slip=0.3", "steps=[1, two]", 'text="0.3"', "on=true", "empty=", "sign=a=b"]

    (entry,) = ONE.override(agent_option=given).chosen_agents

    expected = {"slip": 0.3, "steps": [1, "two"], "text": "0.3", "on": True, "empty": "", "sign": "a=b"}
    assert entry.options == {"port": 80, **expected}
    assert ONE.override(agent_option=None) == ONE


@pytest.mark.parametrize("agent", ["careful", "./a.py:A"])
def test_an_option_names_its_agent_where_there_are_several(agent: str) -> None:
    careful, other = AGENTS.override(agent_option=[f"{agent}:slip=1"]).chosen_agents

    assert careful.options == {"slip": 1, "words": "done"}
    assert other.options == {}


def test_an_option_is_of_the_agent_that_the_command_line_chooses() -> None:
    (entry,) = AGENTS.override(agent=["careful"], agent_option=["slip=1"]).chosen_agents

    assert entry.options == {"slip": 1, "words": "done"}


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("slip=1", "'slip=1' may be for any of 'careful', 'nop'; write 'careful:slip=1'"),
        ("carful:slip=1", "no agent 'carful' in this run; did you mean 'careful'?"),
        ("careful:slip", "expected KEY=VALUE, or AGENT:KEY=VALUE, got 'careful:slip'"),
        ("careful:=1", "expected KEY=VALUE"),
        ("careful:slip=[1", "'careful:slip=[1': "),
    ],
)
def test_an_option_that_cannot_be_set_is_one_line(option: str, reason: str) -> None:
    with pytest.raises(FlagError) as refused:
        AGENTS.override(agent_option=[option])

    assert str(refused.value).startswith(f"--agent-option: {reason}")


@pytest.mark.parametrize("text", ["agents: [snoop]", "agents: [prying]", "provider: {id: snoop}"])
def test_snoop_is_another_name_of_the_agent_prying(tmp_path: Path, text: str) -> None:
    file = tmp_path / "eval.config.yaml"
    file.write_text(f"modes: [ghx]\n{text}\n")
    config = load_eval_config(file)

    for each in (config, config.override(agent=["snoop"]), config.override(agent=["prying"])):
        assert [agent.id for agent in each.chosen_agents] == ["prying"]
        dump = each.model_dump()
        assert "snoop" not in str([dump.get("agents"), dump.get("provider")])
