"""`ghx-twin import`: a repository of any GitHub as a seed."""

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter

from ghx_base.errors import FlagError, InputError, OperationError
from ghx_base.problems import plural

if TYPE_CHECKING:  # loads the seeds, which the command does when it runs
    from ghx_twin.seed.importing import ImportedRepository

_GITHUB_COM = "https://api.github.com"
_FEW = "100"
_FEW_RUNS = "20"  # each takes four requests or more


def import_(
    repository: Annotated[str, Parameter(help="The repository, as OWNER/REPO.")],
    /,
    *,
    api: Annotated[str, Parameter(help="The API to read: https://HOST/api/v3, or the URL of a twin.")] = _GITHUB_COM,
    token_env: Annotated[str | None, Parameter(help="The variable that holds the token.")] = None,
    depth: Annotated[int | None, Parameter(help="How many commits of a branch to keep; all if left out.")] = None,
    issues: Annotated[str, Parameter(help="How many of the newest issues.")] = _FEW,
    pulls: Annotated[str, Parameter(help="How many of the newest pull requests.")] = _FEW,
    releases: Annotated[str, Parameter(help="How many of the newest releases.")] = _FEW,
    runs: Annotated[str, Parameter(help="How many of the newest workflow runs.")] = _FEW_RUNS,
    since: Annotated[str | None, Parameter(help="Only what changed since this day, as 2026-01-31.")] = None,
    forks: Annotated[bool, Parameter(help="Whether to add the forks that open pull requests come from.")] = True,
    anonymize: Annotated[bool, Parameter(help="Give everyone but the owner and bots another name.")] = False,
    keep_emails: Annotated[bool, Parameter(help="Leave e-mail addresses, so that commits keep their shas.")] = False,
    output: Annotated[
        str | None, Parameter(help="The file to write, or a folder, with a slash if it is new; else standard output.")
    ] = None,
    json_: Annotated[bool, Parameter(name="--json", help="Print what was imported as JSON; needs --output.")] = False,
) -> int:
    """Read a repository with its conversations from a GitHub API and write it as a seed."""
    from ghx_base.files.atomic_files import write_atomically
    from ghx_twin.seed.importing import ImportLimits, import_repository
    from ghx_twin.seed.importing.github import GitHubReader
    from ghx_twin.seed.loading import MOST_BYTES, seed_text

    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise InputError(f"{repository} is no repository; name it as OWNER/REPO")
    if json_ and output is None:
        raise FlagError("--json", "the seed goes to standard output; name a file for it with --output")
    limits = ImportLimits(
        depth=_require_positive("--depth", depth),
        issues=_limit("--issues", issues),
        pulls=_limit("--pulls", pulls),
        releases=_limit("--releases", releases),
        runs=_limit("--runs", runs),
        since=_moment(since),
        with_forks=forks,
    )
    file = None if output is None else _file(output, repository)
    with GitHubReader(_require_address(api), _token(api, token_env), _print_progress) as github:
        imported = import_repository(github, repository, limits, anonymize=anonymize, keep_emails=keep_emails)
    text = seed_text(imported.seed)
    if len(text) > MOST_BYTES:
        raise OperationError(f"{repository} is too large for a seed: {len(text):,} bytes; keep less with --depth")
    if file is None:
        sys.stdout.write(text)
        return 0
    try:
        write_atomically(file, text.encode())
    except OSError as error:
        raise FlagError("--output", f"{file} cannot be written: {error.strerror or error}") from error
    print(_describe(imported, file, as_json=json_))  # noqa: T201 - this command's output
    return 0


def _describe(imported: "ImportedRepository", file: Path, *, as_json: bool) -> str:
    """Return what was imported, replaced and left out: as JSON, or the most of it in a line."""
    home = imported.seed.repositories[0]
    if not as_json:
        kinds = {"issue": home.issues, "pull request": home.pulls, "user": imported.seed.users}
        counts = ", ".join(plural(len(records), kind) for kind, records in kinds.items())
        return f"{file}: {home.name} ({counts}; {plural(imported.requests, 'request')})"
    summary = {
        "repository": home.name,
        "file": str(file),
        "users": len(imported.seed.users),
        "issues": len(home.issues),
        "pulls": len(home.pulls),
        "forks": len(imported.seed.repositories) - 1,
        "releases": len(home.releases),
        "runs": sum(len(each.runs) for each in home.workflows),
        "requests": imported.requests,
        "emailsReplaced": imported.emails_replaced,
        "mentionsDefused": imported.mentions_defused,
        "commitsRenamed": imported.commits_renamed,
        "leftOut": list(imported.left_out),
    }
    return json.dumps(summary, indent=2, ensure_ascii=False)


def _token(api: str, name: str | None) -> str | None:
    """Return the token to send; a token for github.com goes to no other server unless its variable is named."""
    if name is not None:
        if not (token := os.environ.get(name, "")):
            raise FlagError("--token-env", f"there is no token in the variable {name}")
        return token
    if api.rstrip("/") != _GITHUB_COM:
        return None
    return os.environ.get("GH_TOKEN") or os.environ.get("GITHUB_TOKEN") or None


def _require_address(api: str) -> str:
    parts = urlsplit(api)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise FlagError("--api", f"{api} is no address; name one such as https://github.example.com/api/v3")
    return api.rstrip("/")


def _require_positive(flag: str, number: int | None) -> int | None:
    if number is not None and number < 1:
        raise FlagError(flag, f"{number} is too few; name 1 or more")
    return number


def _limit(flag: str, text: str) -> int | None:
    if text == "all":
        return None
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise FlagError(flag, f"{text} is no number of things; name 0 or more, or all")
    return int(text)


def _moment(day: str | None) -> str | None:
    if day is None:
        return None
    from datetime import date

    try:
        return f"{date.fromisoformat(day).isoformat()}T00:00:00Z"
    except ValueError:
        raise FlagError("--since", f"{day} is no day; write it as 2026-01-31") from None


def _file(output: str, repository: str) -> Path:
    """Return the file to write: the one that is named, or one in the folder that is named."""
    is_folder = output.endswith(("/", os.sep)) or Path(output).is_dir()
    return Path(output) / f"{repository.replace('/', '-')}.yaml" if is_folder else Path(output)


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - progress
