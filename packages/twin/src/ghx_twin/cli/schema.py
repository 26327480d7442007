"""`ghx-twin schema`: the JSON Schema of a seed."""

import json


def schema() -> int:
    """Print the JSON Schema of a seed."""
    from ghx_twin.seed.document import WorldSeed

    print(json.dumps(WorldSeed.model_json_schema(by_alias=True), indent=2))  # noqa: T201 - this command's output
    return 0
