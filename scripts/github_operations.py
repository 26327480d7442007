"""Write the list of GitHub's REST operations from its OpenAPI description.

    python scripts/github_operations.py path/to/api.github.com.json

The description is `generated/api.github.com.json` in the npm package `@octokit/openapi`. One line for each operation:
method, path template, and the page of GitHub's documentation below https://docs.github.com/rest.
"""

import json
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/ghx_bench/twin/rest/github-operations.txt"
METHODS = ("get", "post", "put", "patch", "delete")
DOCUMENTATION = "https://docs.github.com/rest/"


def main() -> None:
    """Read the description named on the command line and write the list."""
    if len(sys.argv) != 2:  # noqa: PLR2004 - the script and its one argument
        sys.exit("usage: github_operations.py path/to/api.github.com.json")
    description = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    lines = [
        f"{method.upper()} {path} {operation.get('externalDocs', {}).get('url', '').removeprefix(DOCUMENTATION) or '-'}"
        for path, item in sorted(description["paths"].items())
        for method, operation in item.items()
        if method in METHODS
    ]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} operations in {TARGET}")  # noqa: T201 - a command line tool


if __name__ == "__main__":
    main()
