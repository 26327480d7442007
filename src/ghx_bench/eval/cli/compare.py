"""`ghx-bench compare`: whether a run is worse than an earlier one, for people and for pipelines."""

import json
from functools import partial
from pathlib import Path

from ghx_bench._base.commandline import FAILED
from ghx_bench._base.errors import FlagError
from ghx_bench._base.extras import require_extra
from ghx_bench.eval.cli.flags import AsJson, RunPath


def compare(
    before: str,
    after: RunPath,
    /,
    *,
    label: list[str] | None = None,
    fail_on: list[str] | None = None,
    junit: Path | None = None,
    markdown: Path | None = None,
    config: Path | None = None,
    as_json: AsJson = False,
) -> int:
    """Say whether a run is worse than an earlier one: the verdict first, what differs between them, then arm by arm.

    Parameters
    ----------
    before
        The run that is the measure: its directory, its id, `latest`, or a blessed one by its name.
    after
        The run that is held against it: its directory, its id, `latest`, or a blessed one by its name.
    label
        What a run is called, as in old=results/run_1; repeat for the other. They are called before and after unless
        given.
    fail_on
        End with 1 if the run is `worse`, `not-equivalent` or `inconclusive`, on success or on a metric, as in
        'worse:wall time', if its baseline is `unreliable`, on a `wrong` or a `right` cell, on an `impure` one, whose
        agent went past the tools of its mode, or on an arm's rate, as in 'success<0.8'; repeat for several.
    junit
        Write a JUnit XML file, with a test case for each scenario in each arm of the later run, and one for each gate.
    markdown
        Write a summary for a pull request.
    config
        The configuration whose quarantine counts; `eval.config.yaml` in the current folder unless given, or else what
        the later run was made with.
    as_json
        Print the comparison as JSON.
    """
    require_extra("report", for_what="a comparison")
    from ghx_bench.eval.cli.judging import judge_stored_run
    from ghx_bench.eval.cli.run_names import find_against, results_folder
    from ghx_bench.eval.project.baselines import baselines_file
    from ghx_bench.profiler.reports.data.sources import read_labels

    find = partial(find_against, results=results_folder(config), baselines=baselines_file(config))
    earlier = find(before)
    named, labels = read_labels(label or (), (earlier, after), find_run=find)
    if len(named) > len((before, after)):
        raise FlagError("--label", f"{named[-1]} is neither of the two runs that are compared")
    judgement = judge_stored_run(
        after, fail_on or (), against=earlier, config=config, junit=junit, markdown=markdown, labels=labels
    )
    if as_json:
        print(json.dumps(judgement.to_wire()))
    elif judgement.comparison is not None:
        judgement.comparison.print()
    judgement.publish()
    return FAILED if any(each.failed for each in judgement.gates) else 0
