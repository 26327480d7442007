"""`ghx-bench show`: a run, or one of its cells, on the terminal."""

from pathlib import Path

from ghx_bench.eval.cli.flags import Switch


def show(
    run: Path,
    cell: str | None = None,
    /,
    *,
    json: Switch = False,
) -> int:
    """Show what a run came to, cell by cell, or one cell with its checkpoints and its conversation.

    Parameters
    ----------
    run
        The directory of the run.
    cell
        A cell as the first column names it: `mode/scenario/iteration`, with `model/` before it where there are several.
    json
        Print JSON.
    """
    from ghx_bench.eval.cli.showing import show_cell, show_run

    return show_run(run, as_json=json) if cell is None else show_cell(run, cell, as_json=json)
