"""A repository that is imported from a GitHub is the same repository, as far as an import tells."""

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from nightly import mostly_nightly
from seeds import rich_world, world_of

from ghx_base.commandline import run_command_line
from ghx_twin.cli.main import app
from ghx_twin.commands import repositories
from ghx_twin.difference import Difference, diff
from ghx_twin.faults import Fault, primary_rate_limit
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup
from ghx_twin.queries.repositories import comparison
from ghx_twin.rest.render.actions.logs import job_log
from ghx_twin.seed.building import build_world
from ghx_twin.seed.checks import SeedRun
from ghx_twin.seed.document import WorldSeed
from ghx_twin.seed.exporting import export_seed
from ghx_twin.seed.importing import ImportedRepository, ImportLimits, import_repository
from ghx_twin.seed.importing.accounts import People
from ghx_twin.seed.importing.github import GitHubReader, ImportFailedError
from ghx_twin.seed.importing.history import ImportedHistory
from ghx_twin.seed.importing.redaction import Redactor
from ghx_twin.seed.loading import load_seed
from ghx_twin.server.loopback import Server
from ghx_twin.state.records import Artifact, CheckRun, Comment, Issue, Pull, RunAttempt, Step, User
from ghx_twin.world import World

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Source:
    """A world that is served, to be imported from."""

    world: World
    url: str

    def import_(self, name: str, *, token: str | None = "t-octo", **options: Any) -> ImportedRepository:
        flags = {key: options.pop(key) for key in ("anonymize", "keep_emails") if key in options}
        with GitHubReader(self.url, token) as github:
            return import_repository(github, name, ImportLimits(**options), **flags)


@contextmanager
def served(world: World) -> Generator[Source]:
    with world, Server() as server:
        server.add(world, is_default=True)
        yield Source(world, server.url)


def repository(world: World, name: str) -> GitRepository:
    return world.git(lookup.repository(world, None, *name.split("/")))


def differences(first: WorldSeed, second: WorldSeed) -> list[Difference]:
    """Return how the worlds of two seeds differ, but for what follows from something else.

    That is also the base of an open pull request, since the API shows where its branch is now, and the log of a step,
    since it shows what the runner writes around it as well: what clients see of logs is compared instead. Of sub-issues
    it shows the order.
    """
    with world_of(first) as one, world_of(second) as other:
        found = [each for each in diff(one, other) if not each.is_bookkeeping]
        assert shown_logs(one) == shown_logs(other)
    told_otherwise = {("pulls", "base_sha"), ("steps", "log"), ("issues", "sub_issue_position")}
    return [each for each in found if (each.kind, each.field) not in told_otherwise]


def shown_logs(world: World) -> list[str]:
    """Return the logs of jobs that can still be read."""
    attempts = world.database.all(RunAttempt, logs="available")
    jobs = [job for attempt in attempts for job in world.database.all(CheckRun, attempt_id=attempt.id)]
    return [job_log(job, world.database.all(Step, order="number", job_id=job.id)) for job in jobs]


def without_files(run: SeedRun) -> SeedRun:
    """Return a run without what can be read no longer: its inputs, and artifacts that expired by the world's clock."""
    artifacts = tuple(each.model_copy(update={"expired": True, "files": {}}) for each in run.artifacts)
    return run.model_copy(update={"inputs": None, "artifacts": artifacts})


SETTINGS = ("rulesets", "variables", "secrets")


def what_an_import_covers(world: World) -> WorldSeed:
    """Return the export of the rich world without what `ghx-twin import` leaves out, as the documentation lists it."""
    seed = export_seed(world)
    profile = {"email": None, "bio": None, "company": None, "location": None, "blog": None, "site_admin": False}
    widgets, fork = seed.repositories[:2]  # the repository, and the fork an open pull request comes from
    pulls = []
    for pull in widgets.pulls:
        pending = [number for number, each in enumerate(pull.reviews, 1) if each.state == "PENDING"]
        threads = tuple(each for each in pull.threads if each.comments[0].review not in pending)
        reviews = tuple(each for each in pull.reviews if each.state != "PENDING")
        pulls.append(pull.model_copy(update={"reviews": reviews, "threads": threads}))
    issues = tuple(
        each.model_copy(update={"blocked_by": tuple(one for one in each.blocked_by if "secrets" not in one)})
        for each in widgets.issues
    )
    workflows = tuple(
        each.model_copy(update={"script": None, "runs": tuple(map(without_files, each.runs))})
        for each in widgets.workflows
    )
    roles = {"hubot": "maintain", "ci-runner": "write"}  # the API says what somebody may do, by a team or not
    return WorldSeed(
        users=tuple(
            each.model_copy(update={**profile, "tokens": ()}) for each in seed.users if each.login != "fixer[bot]"
        ),  # which is the bot of an app, and did nothing here
        organizations=tuple(
            each.model_copy(update={"email": None, "location": None, "blog": None, **dict.fromkeys(SETTINGS, ())})
            for each in seed.organizations
        ),
        repositories=(
            widgets.model_copy(
                update={
                    **dict.fromkeys((*SETTINGS, "environments", "deployments", "deployment_reviews", "caches"), ()),
                    "pulls": tuple(pulls),
                    "issues": issues,
                    "workflows": workflows,
                    "collaborators": roles,
                }
            ),
            fork,
        ),
    )


def test_a_world_with_everything_in_it_is_imported_as_it_is() -> None:
    with served(rich_world()) as source:
        imported = source.import_("acme/widgets")
        expected = what_an_import_covers(source.world)

    assert differences(expected, imported.seed) == []
    not_read = ("rulesets", "environments", "deployments", "variables", "secrets", "projects")
    assert imported.left_out == tuple(f"{each} (an import does not read them)" for each in not_read)
    assert (imported.emails_replaced, imported.mentions_defused, imported.commits_renamed) == (0, 0, 0)


MANY = """
users: [{login: octo, tokens: [{token: t-octo}]}, {login: hubot}]
repositories:
  - name: octo/many
    files: {README.md: Hello}
    history: [{message: Änderung, branch: f, files: {ü.txt: ß}}]
    issues: [{title: Many, comments: [COMMENTS]}, ISSUES]
    pulls:
      - {title: Ünïcode ✓ 🎉, body: BODY, head: f, reviews: [{author: hubot, body: ✓, threads: [THREADS]}]}
"""


def test_long_lists_and_texts_are_imported_whole() -> None:
    place = "path: ü.txt, line: 1, resolved_by: octo"
    text = (
        MANY.replace("ISSUES", ", ".join(f"{{title: T{n}}}" for n in range(130)))
        .replace("COMMENTS", ", ".join(f"{{author: hubot, body: C{n}}}" for n in range(120)))
        .replace("THREADS", ", ".join([f"{{{place}, comments: [{{body: R{n}}}]}}" for n in range(105)]))
        .replace("BODY", "ü🎉" * 30_000)
    )  # fmt: skip
    with served(world_of(text)) as source:
        imported = source.import_("octo/many")
        limited = source.import_("octo/many", issues=3, pulls=0)
        expected = export_seed(source.world)
    bare = tuple(each.model_copy(update={"tokens": ()}) for each in expected.users)

    assert differences(expected.model_copy(update={"users": bare}), imported.seed) == []
    (home,) = limited.seed.repositories
    assert ([each.title for each in home.issues], home.pulls) == (["T127", "T128", "T129"], ())


RUN = """
users: [{login: octo, tokens: [{token: t-octo}]}]
repositories:
  - name: octo/x
    files: {a.txt: a}
    workflows:
      - name: CI
        runs:
          - commit: main
            jobs:
              - name: "test (3.12, a/b)"
                conclusion: failure
                steps: [{name: Set up job}, {name: Run make, conclusion: failure, log: "one\\ntwo ü\\n"}]
                annotations: [{path: a.txt, message: Wrong}]
            artifacts: [{name: out, files: {d/b.bin: {content: AAEC/w==, encoding: base64}}}]
"""


def test_logs_annotations_and_artifacts_of_runs_are_imported() -> None:
    with served(world_of(RUN)) as source:
        imported = source.import_("octo/x")
        expected = export_seed(source.world)
    bare = tuple(each.model_copy(update={"tokens": ()}) for each in expected.users)

    assert differences(expected.model_copy(update={"users": bare}), imported.seed) == []
    with world_of(imported.seed) as again:
        assert "two ü" in shown_logs(again)[0]
        assert again.database.all(Artifact)[0].files == {"d/b.bin": "AAEC/w=="}


def test_without_a_token_what_is_public_is_imported_and_the_rest_is_named() -> None:
    with served(rich_world()) as source:
        imported = source.import_("acme/widgets", token=None, with_forks=False)

    home = imported.seed.repositories[0]
    assert len(home.issues) == 4
    assert home.collaborators == {"octo": "write", "hubot": "write"}  # who GitHub says belongs to it
    assert any(each.startswith("roles of collaborators (") for each in imported.left_out)
    assert "resolved threads (GraphQL needs a token)" in imported.left_out
    from_fork = next(each for each in home.pulls if each.number == 20)
    assert (from_fork.head, from_fork.outcome.head_repository) == ("patch", None)  # type: ignore[union-attr]
    with World.create() as again:
        build_world(again, imported.seed)


PRIVATE = """
users:
  - {login: octo, name: Octavia Real, email: octavia@corp.io, tokens: [{token: t-octo}]}
  - {login: gone}
repositories:
  - name: octo/x
    collaborators: {gone: write}
    files: {a.txt: one}
    history:
      - {message: "Second\\n\\nSigned-off-by: Someone <else@corp.io>", files: {a.txt: two}}
      - {message: Third, files: {a.txt: three}}
      - {message: A branch, branch: f, files: {b.txt: new}, author: gone}
      - {message: Fourth, branch: main, files: {a.txt: four}}
    tags: {v1: main}
    issues: [{title: Ask octavia@corp.io, body: "cc @gone and octavia@corp.io", author: gone, assignees: [gone]}]
    pulls: [{title: Add b, head: f, author: gone, reviews: [{author: octo, state: APPROVED, body: "Thanks, @gone"}]}]
"""


def test_addresses_are_replaced_in_texts_and_in_history() -> None:
    with served(world_of(PRIVATE)) as source:
        old = repository(source.world, "octo/x")
        tip = old.ref("refs/heads/main") or ""
        with source.world.acting(None) as act:
            issue = act.database.one(Issue, number=1)
            act.database.insert(
                Comment, issue_id=issue.id, author_id=issue.author_id, body=f"See {tip} and {tip[:10]}.",  # type: ignore[union-attr]
                created_at=act.now, updated_at=act.now,
            )  # fmt: skip
        imported = source.import_("octo/x")
        kept = source.import_("octo/x", keep_emails=True)

    assert "corp.io" not in imported.seed.model_dump_json(exclude={"repositories": {0: {"bundle"}}})
    (home,) = imported.seed.repositories
    assert home.issues[0].title == "Ask octo@users.noreply.github.com"
    assert home.issues[0].body == "cc `@gone` and octo@users.noreply.github.com"
    with world_of(imported.seed) as again:
        git = repository(again, "octo/x")
        new = git.ref("refs/heads/main") or ""
        assert (new == tip, home.issues[0].comments[0].body) == (False, f"See {new} and {new[:10]}.")
        commits = git.commits_between(None, new)
        assert {each.author.email for each in commits} == {"octo@users.noreply.github.com"}
        assert "Signed-off-by: Someone <author-2@example.invalid>" in commits[1].message
        assert git.peel(git.ref("refs/tags/v1") or "") == new
    with world_of(kept.seed) as again:
        assert repository(again, "octo/x").ref("refs/heads/main") == tip
    assert (imported.commits_renamed, kept.commits_renamed) == (5, 0)


def test_a_short_history_has_the_same_files_and_differences() -> None:
    with served(world_of(PRIVATE)) as source:
        imported = source.import_("octo/x", depth=1, keep_emails=True)
        (old,) = source.world.database.all(Pull)
        expected = [(each.path, each.additions) for each in comparison.files(source.world, old)]

    with world_of(imported.seed) as again:
        git = repository(again, "octo/x")
        tip = git.commit(git.ref("refs/heads/main") or "")
        assert tip is not None
        base = git.commit(tip.parents[0])
        assert (tip.message, base.message, base.parents) == ("Fourth", "Third", ())  # type: ignore[union-attr]
        assert git.blob(git.entry(tip.sha, "a.txt").sha) == b"four"  # type: ignore[union-attr]
        (pull,) = again.database.all(Pull)
        assert [(each.path, each.additions) for each in comparison.files(again, pull)] == expected == [("b.txt", 1)]


def test_people_can_get_other_names() -> None:
    with served(world_of(PRIVATE)) as source:
        imported = source.import_("octo/x", anonymize=True)

    text = imported.seed.model_dump_json(exclude={"repositories": {0: {"bundle"}}})
    assert "gone" not in text.replace("gone_numbers", "")
    assert "Octavia" not in text
    assert [each.login for each in imported.seed.users] == ["octo", "user-2"]
    with world_of(imported.seed) as again:
        git = repository(again, "octo/x")
        commit = git.commit(git.ref("refs/heads/f") or "")
        assert commit is not None
        assert commit.author.name == "user-2"
        assert commit.author.email.endswith("+user-2@users.noreply.github.com")
        (pull,) = again.database.all(Pull)
        assert lookup.user_by_id(again, lookup.issue_of(again, pull).author_id).login == "user-2"


@pytest.mark.parametrize("depth", [None, 3])
def test_a_repository_without_commits_is_imported(depth: int | None) -> None:
    text = "{users: [{login: octo, tokens: [{token: t-octo}]}], repositories: [{name: octo/x, issues: [{title: A}]}]}"
    with served(world_of(text)) as source:
        imported = source.import_("octo/x", depth=depth)

    (home,) = imported.seed.repositories
    assert (home.bundle, [each.title for each in home.issues]) == (None, ["A"])
    with world_of(imported.seed) as again:
        assert repository(again, "octo/x").refs() == {}


def test_what_a_deleted_account_said_is_said_by_ghost() -> None:
    with served(world_of(PRIVATE)) as source:
        with source.world.acting(None) as act:
            gone = lookup.user(source.world, "gone")
            repositories.remove_collaborator(act, lookup.repository(source.world, None, "octo", "x"), gone)
            act.database.delete(gone)
        imported = source.import_("octo/x")

    assert "ghost" in [each.login for each in imported.seed.users]
    with world_of(imported.seed) as again:
        author = again.database.get(User, again.database.all(Issue)[0].author_id)
        assert author is not None
        assert author.login == "ghost"


def test_a_rate_limit_is_waited_for_and_a_server_error_tried_again() -> None:
    slept: list[float] = []
    said: list[str] = []
    with served(world_of(PRIVATE)) as source:
        source.world.faults.add(primary_rate_limit(times=1, reset_in_s=90, now_s=1000))
        source.world.faults.add(Fault(status=502, times=2, path="/repos/octo/x/labels"))
        with GitHubReader(source.url, "t-octo", said.append, slept.append, lambda: 1000.0) as github:
            imported = import_repository(github, "octo/x", ImportLimits())

    assert slept == [91.0, 1.0, 2.0]
    assert "rate limit reached: waiting 91 s" in said
    retries = [line for line in said if "trying again" in line]
    assert [line.rpartition(";")[2] for line in retries] == [" trying again in 1 s", " trying again in 2 s"]
    assert retries[0].startswith("GET /repos/octo/x/labels: 502 ")
    assert len(imported.seed.repositories[0].issues) == 1


def test_a_token_goes_to_no_other_server_and_git_to_no_program(tmp_path: Path) -> None:
    elsewhere = pytest.raises(ImportFailedError, match=r"leads to http://elsewhere\.example/x, which is another server")
    with GitHubReader("http://127.0.0.1:9", "t") as github, elsewhere:
        github._ask("GET", "http://elsewhere.example/x")
    for url in (f"file://{tmp_path}", "ext::touch ran"):
        with pytest.raises(ImportFailedError, match=r"transport '(file|ext)' not allowed"):
            ImportedHistory(tmp_path / "fetched.git", url).fetch(("refs/heads/*:refs/heads/*",))


def test_an_error_that_stays_ends_the_import() -> None:
    with served(world_of(PRIVATE)) as source:
        source.world.faults.add(Fault(status=500, path="/repos/octo/x/labels"))
        with (
            GitHubReader(source.url, "t-octo", sleep=lambda _: None) as github,
            pytest.raises(ImportFailedError, match="/repos/octo/x/labels: 500"),
        ):
            import_repository(github, "octo/x", ImportLimits())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi @octo-cat, see (@hubot).", "Hi `@octo-cat`, see (`@hubot`)."),
        ("@acme/core-team: look", "`@acme/core-team`: look"),
        ("`@octo` and ``a @b``", "`@octo` and ``a @b``"),
        ("```py\n@cache\n```\n@octo", "```py\n@cache\n```\n`@octo`"),
        ("~~~\n@cache", "~~~\n@cache"),
        ("https://host/@octo x@y @", "https://host/@octo x@y @"),
        ("git clone git@github.com:o/r.git", "git clone git@github.com:o/r.git"),
        ("Mail a.b+c@corp.co.uk or me@example.com.", "Mail author-1@example.invalid or me@example.com."),
        ("1+octo@users.noreply.github.com", "1+octo@users.noreply.github.com"),
        ("A@B.de a@b.de c@d.de", "author-1@example.invalid author-1@example.invalid author-2@example.invalid"),
    ],
)
def test_mentions_become_code_and_addresses_others(text: str, expected: str) -> None:
    redactor = Redactor()
    assert redactor.markdown(text) == expected
    assert redactor.markdown(expected) == expected


def test_a_bot_and_a_user_of_one_name_stay_two() -> None:
    people = People()
    for login, identity, kind in (("codec[bot]", 2, "Bot"), ("codec", 1, "User"), ("other[bot]", 3, "Bot")):
        people.login({"login": login, "id": identity, "type": kind})

    names = Redactor(bots=people.bots())
    assert [names.login(each) for each in people.seen] == ["codec[bot]", "codec", "other"]


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_command_line(app, ["import", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_command_writes_a_seed_and_tells_what_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWIN_TOKEN", "t-octo")
    with served(world_of(PRIVATE)) as source:
        options = ("octo/x", "--api", source.url, "--token-env", "TWIN_TOKEN")
        code, out, _ = command(capsys, *options, "--output", str(tmp_path), "--json")
        assert code == 0
        summary = json.loads(out)
        assert (summary["issues"], summary["pulls"], summary["mentionsDefused"]) == (1, 1, 2)
        assert summary["file"] == str(tmp_path / "octo-x.yaml")
        seed = load_seed(summary["file"])

        assert command(capsys, *options, "--output", f"{tmp_path}/new/folder/")[0] == 0
        assert load_seed(tmp_path / "new" / "folder" / "octo-x.yaml") == seed

        code, out, err = command(capsys, *options)
        assert (code, "fetching" in err) == (0, True)
        (tmp_path / "printed.yaml").write_text(out, encoding="utf-8")
        assert load_seed(tmp_path / "printed.yaml") == seed
    assert run_command_line(app, ["check", str(tmp_path / "octo-x.yaml")]) == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nothing",), "nothing is no repository; name it as OWNER/REPO"),
        (("octo/x", "--json"), "--json: the seed goes to standard output"),
        (("octo/x", "--depth", "0"), "--depth: 0 is too few"),
        (("octo/x", "--issues", "many"), "--issues: many is no number of things; name 0 or more, or all"),
        (("octo/x", "--issues", "-1"), "--issues: -1 is no number of things"),
        (("octo/x", "--since", "soon"), "--since: soon is no day; write it as 2026-01-31"),
        (("octo/x", "--api", "localhost"), "--api: localhost is no address"),
        (("octo/x", "--token-env", "NO_SUCH"), "--token-env: there is no token in the variable NO_SUCH"),
    ],
)
def test_a_wrong_flag_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], problem: str
) -> None:
    code, out, err = command(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {problem}")


def test_what_a_server_refuses_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TWIN_TOKEN", "no-such-token")
    with served(world_of(PRIVATE)) as source:
        missing = command(capsys, "octo/y", "--api", source.url, "--output", str(tmp_path / "y"))
        unknown = command(capsys, "octo/x", "--api", source.url, "--token-env", "TWIN_TOKEN")
    assert missing[::2] == (
        2, f"error: {source.url} has no repository octo/y, or the token may not see it\n",
    )  # fmt: skip
    assert unknown[0] == 2
    assert unknown[2].startswith("error: GET /repos/octo/x: 401 Bad credentials; the token is not valid for 127.0.0.1")
    assert list(tmp_path.iterdir()) == []


class WebPage(BaseHTTPRequestHandler):
    """A server that answers everything with status 200 and one text, as a login page or another API does."""

    content = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@contextmanager
def page(content: bytes) -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Page", (WebPage,), {"content": content})) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    "content",
    mostly_nightly([b"<html>login</html>", b"[]", b"{}", b"null", b'{"owner": 1, "full_name": "a/b"}'], keep=2),
)
def test_a_server_that_is_no_github_is_said_in_one_line(content: bytes) -> None:
    with page(content) as url, GitHubReader(url) as github:
        with pytest.raises(ImportFailedError, match=rf"^{url} is no GitHub API; check --api$"):
            import_repository(github, "octo/x", ImportLimits())
        with pytest.raises(ImportFailedError, match="is no GitHub API"):
            list(github.pages("/things", within=None if content != b"[]" else "things"))


def test_a_rate_limit_of_graphql_that_stays_ends_the_import() -> None:
    slept: list[float] = []
    with (
        page(b'{"errors": [{"type": "RATE_LIMITED"}]}') as url,
        GitHubReader(url, "t", sleep=slept.append) as github,
        pytest.raises(ImportFailedError, match="still over the rate limit after 4 attempts; try later"),
    ):
        github.graphql("{viewer{login}}", {})
    assert slept == [60.0] * 4


def test_a_server_that_is_not_there_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with (
        GitHubReader(f"http://127.0.0.1:{port}", sleep=lambda _: None) as github,
        pytest.raises(ImportFailedError, match=rf"^127.0.0.1:{port} cannot be reached: .*; check --api"),
    ):
        import_repository(github, "octo/x", ImportLimits())


def test_addresses_are_replaced_wherever_a_seed_has_text() -> None:
    redactor = Redactor(pseudonyms={"ann": "user-1"})
    seed = {
        "repositories": [
            {
                "pulls": [{"author": "Ann", "head": "ann:patch", "body": "@ann", "reactions": {"+1": ["ann", "bob"]}}],
                "workflows": [{"runs": [{"jobs": [{"steps": [{"log": "mail a@b.de to @ann"}]}]}]}],
                "collaborators": {"ann": "admin"},
            }
        ]
    }

    (home,) = redactor.seed(seed)["repositories"]

    assert home["pulls"] == [
        {"author": "user-1", "head": "user-1:patch", "body": "`@user-1`", "reactions": {"+1": ["user-1", "bob"]}}
    ]
    assert home["workflows"][0]["runs"][0]["jobs"][0]["steps"][0]["log"] == "mail author-1@example.invalid to @user-1"
    assert home["collaborators"] == {"user-1": "admin"}
