"""`ghx-bench doctor`: what is missing on this machine, and how to get it."""

from typing import Literal

from ghx_bench.eval.cli.flags import Switch


def doctor(
    *,
    target: Literal["twin", "github"] = "twin",
    json: Switch = False,
) -> int:
    """Say what is missing on this machine and how to get it.

    Parameters
    ----------
    target
        What the machine is to be fit for: runs on the embedded GitHub (twin), or on github.com.
    json
        Print JSON.
    """
    from ghx_bench.eval.cli.examining import examine

    return examine(target, as_json=json)
