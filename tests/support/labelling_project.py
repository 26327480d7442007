"""A project with a scenario, a scorer, modes and a tool of its own; its scorer notes in `loads` when it is imported."""

SCENARIO = """
id: mine-001
name: Label it
description: A task for what a project has of its own
category: issue
difficulty: basic
prompt: "Label #{{number}} in {{repo}}."
timeoutMs: 60000
fixture:
  repo: "{{fixture_repo}}"
  requires: [issue_for_triage]
  bindings: {number: issue_for_triage.number}
assertions:
  checkpoints:
    - id: labelled
      description: It has the label
      task: issue.view
      input: {owner: "{{owner}}", name: "{{repo_name}}", issueNumber: "{{number}}"}
      condition: CONDITION
extensions:
  allowedChanges: ["created issue_labels {{repo}}#{{number}} *"]
"""
"""An issue is to get a label; `CONDITION` is when it has."""

PROJECT = {
    "eval.config.yaml": """
modes:
  - name: tagger
    extends: baseline
    tools: [./bin/tag]
    environment: {TAG: performance}
    instructions: Use `tag` to label issues.
  - modes/told.yaml
scenarios: {ids: [mine-001]}
scorers: scorers.py
execution: {repetitions: 1, warmup: false}
output: {reports_dir: reports}
""",
    "modes/told.yaml": "name: told\nextends: baseline\ninstructions: Use `gh`.\n",
    "bin/tag": """#!/bin/sh
[ "$1" = --version ] && exec echo tag 1.0
exec gh issue edit "$2" --repo "$1" --add-label "$TAG"
""",
    "scorers.py": """
with open("loads", "a") as file:
    file.write("loaded\\n")

def has_label(data, params):
    print("looked at", data["number"])
    return params["label"] in data["labels"]

SCORERS = {"has_label": has_label}
""",
    "scenarios/mine-001.yaml": SCENARIO.replace(
        "CONDITION", "{type: custom, scorer: has_label, params: {label: performance}}"
    ),
    "scenarios/mine-001.solution.yaml": """
version: 1
modes:
  baseline:
    - shell: gh issue edit {{number}} --repo {{repo}} --add-label performance
  tagger:
    - shell: tag {{repo}} {{number}}
""",
}
