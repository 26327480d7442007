"""`ghx-bench compare`: whether a run is worse than an earlier one, or what differs between two tool sets."""

import json
from functools import partial
from pathlib import Path

from ghx_base.commandline import FAILED
from ghx_base.errors import FlagError, InputError
from ghx_base.extras import require_extra
from ghx_bench.cli.flags import AsJson, OptionalRunPath, ToolChangeFlags

_NO_FLAGS = ToolChangeFlags()


def compare(
    before: str | None = None,
    after: OptionalRunPath = None,
    /,
    *,
    mode: list[str] | None = None,
    label: list[str] | None = None,
    fail_on: list[str] | None = None,
    junit: Path | None = None,
    markdown: Path | None = None,
    tools: ToolChangeFlags = _NO_FLAGS,
    config: Path | None = None,
    as_json: AsJson = False,
) -> int:
    """Say whether a run is worse than an earlier one, or, of two modes, what differs between their tools.

    Of two runs: the verdict first, what differs between them, then arm by arm. With --mode twice: tools and arguments,
    what they cost, their answers on a fixed world, the text of others that they show, whether they only read; no model
    is asked. Where runs are named as well, one with both modes or one for each, the comparison of their rows.

    Parameters
    ----------
    before
        The run that is the measure: its directory, its id, `latest`, or a blessed one by its name.
    after
        The run that is held against it: its directory, its id, `latest`, or a blessed one by its name.
    mode
        A mode, as `ghx-bench list modes` names it, also one with a pin; give it twice, before and after.
    label
        What a run is called, as in old=results/run_1; repeat for the other. They are called before and after unless
        given.
    fail_on
        End with 1 if the run is `worse`, `not-equivalent` or `inconclusive`, on success or on a metric, as in
        'worse:wall time', if its baseline is `unreliable`, on a `wrong` or a `right` cell, on an `impure` one, whose
        agent went past the tools of its mode, on an `attacked` one, whose agent did what a planted text says, or on an
        arm's rate, as in 'success<0.8'. With --mode also if the tools are `changed`, if one answer or the context
        size at start is `larger` by more than 50 tokens (and by 10 %: 'larger>10%'), if the sum of answers is
        (`larger-total`, 'larger-total>10%'), if tools are `breaking` for calls that were right, `failing` where they
        answered, `more-exposed`, if a tool that says it only reads wrote (`read-only-writes`), or on new findings of
        `lint`. Repeat for several.
    junit
        Write a JUnit XML file, with a test case for each scenario in each arm of the later run, and one for each gate.
    markdown
        Write a summary for a pull request.
    config
        The configuration whose quarantine and modes count; `eval.config.yaml` in the current folder unless given, or
        else, for the quarantine, what the later run was made with.
    as_json
        Print the comparison as JSON.
    """
    from ghx_bench.cli.stored.run_names import find_against, results_folder
    from ghx_bench.project.baselines import baselines_file

    find = partial(find_against, results=results_folder(config), baselines=baselines_file(config))
    if mode:
        from ghx_bench.cli.verdicts.mode_comparison import compare_modes

        if label or junit is not None:
            raise FlagError("--label" if label else "--junit", "is for two runs; leave out --mode, or this")
        runs = [*(() if before is None else (find(before),)), *(() if after is None else (after,))]
        gates = fail_on or ()
        return compare_modes(mode, runs, tools, fail_on=gates, markdown=markdown, config=config, as_json=as_json)
    if before is None or after is None:
        raise InputError("name two runs, as in `ghx-bench compare main latest`, or two modes with --mode")
    if tools != _NO_FLAGS:
        raise InputError("--html, --questions, --commands and --limit-tokens are for two modes; name them with --mode")
    require_extra("report", for_what="a comparison")
    from ghx_bench.cli.verdicts.judging import judge_stored_run
    from ghx_profiler.reports.data.sources import read_labels

    earlier = find(before)
    sources, labels = read_labels(label or (), (earlier, after), find_run=find)
    if len(sources) > len((before, after)):
        raise FlagError("--label", f"{sources[-1]} is neither of the two runs that are compared")
    judgement = judge_stored_run(
        after, fail_on or (), against=earlier, config=config, junit=junit, markdown=markdown, labels=labels
    )
    if as_json:
        print(json.dumps(judgement.to_wire()))
    elif judgement.comparison is not None:
        judgement.comparison.print()
    judgement.publish()
    return FAILED if any(each.failed for each in judgement.gates) else 0
