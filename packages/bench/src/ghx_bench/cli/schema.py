"""`ghx-bench schema`: the JSON Schema of a kind of file, for editors."""

from typing import Literal


def schema(kind: Literal["scenario", "sets", "fixture", "manifest", "solution", "mode", "agent", "config"], /) -> int:
    """Print the JSON Schema of a kind of file, for editors to complete and check it, be it JSON or YAML.

    Parameters
    ----------
    kind
        Which kind of file.
    """
    import json

    from ghx_bench.checking.json_schemas import json_schema

    print(json.dumps(json_schema(kind), indent=2, ensure_ascii=False))
    return 0
