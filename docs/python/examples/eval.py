# %% EvalScenario, FixtureRequirements, Assertions, Checkpoint
from ghx_bench import Assertions, Checkpoint, EvalScenario, FieldEquals, FixtureRequirements

scenario = EvalScenario(
    id="issue-close-001",
    name="Close an issue",
    description="The agent closes the issue it is told to.",
    prompt="Close issue #{{number}} in {{repo}}.",
    timeout_ms=60_000,
    category="issue",
    difficulty="basic",
    fixture=FixtureRequirements(
        repo="{{fixture_repo}}", requires=("bug",), bindings={"number": "bug.number", "repo": "bug.repo"}
    ),
    assertions=Assertions(
        checkpoints=(
            Checkpoint(
                id="closed",
                description="The issue is closed",
                task="issue.view",
                input={"owner": "{{owner}}", "name": "{{repo_name}}", "issueNumber": "{{number}}"},
                condition=FieldEquals(path="state", value="CLOSED"),
            ),
        ),
        expected_capabilities=("issue.view", "issue.close"),
    ),
)
assert EvalScenario.model_validate(scenario.to_wire()) == scenario  # the record as it stands in files

# %% CheckpointCondition, evaluate_condition, describe_condition
from pydantic import TypeAdapter

from ghx_bench import CheckpointCondition, describe_condition, evaluate_condition

condition = TypeAdapter(CheckpointCondition).validate_python({"type": "count_gte", "value": 2})
assert evaluate_condition(condition, {"items": ["a", "b"]})
assert describe_condition(condition) == "count >= 2"

# %% NonEmpty, Empty, CountGte, CountEq
from ghx_bench import CountEq, CountGte, Empty, NonEmpty

assert evaluate_condition(NonEmpty(), {"items": ["a"]})
assert evaluate_condition(Empty(), {"items": []})
assert evaluate_condition(CountGte(value=1), ["a", "b"])
assert evaluate_condition(CountEq(value=2), ["a", "b"])

# %% FieldEquals, FieldContains, FieldGte, Matches
from ghx_bench import FieldContains, FieldEquals, FieldGte, Matches

issue = {"state": "CLOSED", "title": "Fixes #7", "comments": [{"body": "Done"}]}
assert evaluate_condition(FieldEquals(path="comments.0.body", value="Done"), issue)
assert evaluate_condition(FieldContains(path="title", value="#7"), issue)
assert evaluate_condition(FieldGte(path="comments.length", value=1), issue)
assert evaluate_condition(Matches(path="title", pattern=r"^Fixes #\d+$"), issue)

# %% ContainsItem, AllOf, AnyOf, Not
from ghx_bench import AllOf, AnyOf, ContainsItem, Not

closed = FieldEquals(path="state", value="CLOSED")
assert evaluate_condition(ContainsItem(where=closed), {"items": [issue]})
assert evaluate_condition(AllOf(conditions=(closed, FieldContains(path="title", value="Fixes"))), issue)
assert evaluate_condition(AnyOf(conditions=(closed, FieldEquals(path="state", value="MERGED"))), issue)
assert evaluate_condition(Not(condition=FieldEquals(path="state", value="OPEN")), issue)

# %% Custom, CustomScorer, load_scorers
import tempfile
from pathlib import Path

from ghx_bench import Custom, CustomScorer, load_scorers

folder = tempfile.TemporaryDirectory()
project = Path(folder.name)
(project / "scorers.py").write_text("SCORERS = {'polite': lambda output, params: params['word'] in output['title']}\n")
scorers: dict[str, CustomScorer] = load_scorers(["polite"], project / "scorers.py")
assert evaluate_condition(Custom(scorer="polite", params={"word": "Fixes"}), issue, scorers=scorers)

# %% FixtureManifest, FixtureResource, write_fixture_manifest, load_fixture_manifest
from ghx_bench import FixtureManifest, FixtureResource, load_fixture_manifest, write_fixture_manifest

manifest = FixtureManifest(
    seed_id="default",
    created_at="2026-02-27T21:13:31.000Z",
    repo="acme/widgets",
    fixtures={"bug": FixtureResource(type="issue", number=7, repo="acme/widgets")},
)
write_fixture_manifest(project / "manifest.json", manifest)
assert load_fixture_manifest(project / "manifest.json") == manifest

# %% bind_fixture_variables, BindingError
from ghx_bench import BindingError, bind_fixture_variables

bound = bind_fixture_variables(scenario, manifest, {"run_id": "run_1"})
assert bound.prompt == "Close issue #7 in acme/widgets."
try:
    bind_fixture_variables(scenario, None)
except BindingError as error:
    reason = str(error)
assert "there is no manifest" in reason

# %% bind_references
from ghx_bench import bind_references

later = bound.assertions.checkpoints[0].model_copy(
    update={"input": {"owner": "acme", "name": "widgets", "issueNumber": "{{checkpoints.found.items.0.number}}"}}
)
assert bind_references(later, {"found": {"items": [{"number": 8}]}}).input["issueNumber"] == 8

# %% expectation_findings
from ghx_bench import expectation_findings

found = expectation_findings(scenario, tool_names=["bash"], capability_names=["issue.close"])
assert found.summary.startswith("1 of 2 expected capabilities (not ")  # which of them, too

# %% write_starter, load_eval_scenarios, Known
from ghx_bench import Known, load_eval_scenarios, write_starter

write_starter("pr-review-001", project / "scenarios", category="pr")  # and its solution beside it
(draft,) = load_eval_scenarios(project / "scenarios", category="pr")
assert draft.id == "pr-review-001"
load_eval_scenarios(project / "scenarios", known=Known(scorers=None))  # any custom scorer's name will do

# %% scenario_loader, load_scenario_sets
import anyio

from ghx_bench import load_scenario_sets, scenario_loader

(project / "scenarios" / "scenario-sets.json").write_text('{"default": ["pr-review-001"]}')
sets = load_scenario_sets(project / "scenarios")
(loaded,) = anyio.run(scenario_loader(project / "scenarios"), sets.get("default"))
assert loaded == draft

# %% EvalConfig, load_eval_config
from ghx_bench import EvalConfig, load_eval_config

(project / "eval.config.yaml").write_text("modes: [baseline, ghx]\nscenario_dirs: [scenarios]\n")
config = load_eval_config(project / "eval.config.yaml").override(repetitions=2)
assert isinstance(config, EvalConfig)
assert (config.modes, config.execution.repetitions) == (("baseline", "ghx"), 2)
folder.cleanup()
