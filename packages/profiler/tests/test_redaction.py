"""Secrets do not leave a session: neither in what the agent said and did, nor in what is said about it."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiler_fakes import FakeProvider, FakeSession, config, scenario

from ghx_profiler import Answer, BaseScenario, Evidence, Mode, Profile, Score, Stage, read_rows
from ghx_profiler.contracts import NoLifecycle
from ghx_profiler.errors import CanaryError
from ghx_profiler.events import Event
from ghx_profiler.records.analysis import AnalysisResult, StringFinding
from ghx_profiler.records.causes import EnvironmentFailure, TransientError
from ghx_profiler.records.metrics import CustomMetric
from ghx_profiler.records.score import CheckpointDetail, PartialScoreError
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent, ToolCallEvent
from ghx_profiler.runner.instruments import Backoff, Instruments
from ghx_profiler.runner.redaction import SHORTEST, STAND_IN, Redaction, StreamRedaction, is_secret_key

OF_THE_MODE, OF_THE_STAGE = 'key-of-the-mode/"1"', "token-of-the-stage"
SECRETS = (OF_THE_MODE, OF_THE_STAGE)

secrets = st.text(min_size=SHORTEST).filter(lambda each: STAND_IN not in each)


@given(
    before=st.binary(max_size=20), after=st.text("sk-real", max_size=20), cuts=st.lists(st.integers(0, 60), max_size=6)
)
def test_a_secret_is_gone_from_bytes_wherever_they_are_cut(before: bytes, after: str, cuts: list[int]) -> None:
    secret = "sk-real-sk-real"
    redaction = StreamRedaction.of(secret)
    whole = before + b" " + secret.encode() + b" " + after.encode()
    places = [0, *sorted(cuts), len(whole)]

    passed, held = b"", b""
    for start, end in pairwise(places):
        ready, held = redaction.split(held + whole[start:end])
        passed += ready

    assert passed + held == whole.replace(secret.encode(), b"*" * len(secret))


def test_no_byte_is_held_back_that_cannot_belong_to_a_secret() -> None:
    redaction = StreamRedaction.of("sk-real-and-secret")

    assert redaction.split(b"data: {}\n\n") == (b"data: {}\n\n", b"")
    assert redaction.split(b"the key sk-re") == (b"the key ", b"sk-re")
    assert StreamRedaction.of("short").split(b"a short one") == (b"a short one", b"")


@given(secret=secrets)
def test_however_a_secret_is_spelled_it_is_gone_from_bytes(secret: str) -> None:
    for each in (secret, quote(secret, safe="", errors="replace"), json.dumps(secret)[1:-1]):
        spelled = each.encode(errors="replace")
        assert StreamRedaction.of(secret).hide(b"<" + spelled + b">") == b"<" + b"*" * len(spelled) + b">"


@given(secret=secrets, before=st.text(), after=st.text())
def test_however_a_secret_is_spelled_it_is_gone(secret: str, before: str, after: str) -> None:
    redaction = Redaction.of([secret])
    spelled = [secret, quote(secret, safe="", errors="replace"), json.dumps(secret)[1:-1]]
    for each in spelled:
        clean = redaction.text(f"{before}{each}{after}")
        assert each not in clean
        assert STAND_IN in clean


@given(
    value=st.recursive(st.none() | st.integers() | st.text(max_size=20), lambda inside: st.lists(inside, max_size=3))
)
def test_without_secrets_nothing_changes(value: Any) -> None:
    for redaction in (Redaction(), Redaction.of([]), Redaction.of(["short"])):
        assert redaction.value(value) == value
        trace = SessionTrace(session_id="s", events=(ToolCallEvent(name="t", output=value),))
        assert redaction.record(trace) is trace


@given(secret=secrets, before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_a_secret_in_base64_is_gone_whatever_stands_around_it(secret: str, before: bytes, after: bytes) -> None:
    whole = before + secret.encode(errors="replace") + after
    for encode in (b64encode, urlsafe_b64encode):
        clean = Redaction.of([secret]).text(encode(whole).decode())
        # What is left says no more than the first and the last byte of the secret.
        left = sum(map(len, clean.split(STAND_IN)))
        assert STAND_IN in clean
        assert left <= (len(before) + len(after)) * 4 / 3 + 8


def test_of_two_secrets_the_one_inside_the_other_does_not_save_it() -> None:
    assert Redaction.of(["password", "password-of-mine"]).text("password-of-mine") == STAND_IN


def test_what_a_record_is_found_by_stays() -> None:
    trace = SessionTrace(session_id="ses-12345678", events=(ToolCallEvent(name="ses-12345678"),))

    clean = Redaction.of(["ses-12345678"]).record(trace, keeping=("sessionId",))

    assert (clean.session_id, clean.tool_calls[0].name) == ("ses-12345678", STAND_IN)


@pytest.mark.parametrize("word", ["tool_call", "tool_calls", "sessionId", "assistant", "ghx-tool-1"])
def test_a_secret_that_is_a_word_of_ours_spoils_no_record(word: str) -> None:
    call = ToolCallEvent(name="ghx-tool-1", input={"said": f"{word} and {OF_THE_MODE}"})
    trace = SessionTrace(session_id="s", events=(call,))

    clean = Redaction.of([word, OF_THE_MODE]).record(trace)

    assert clean.tool_calls[0].type == "tool_call"
    assert clean.session_id == "s"


def test_two_secrets_as_keys_stay_two_keys() -> None:
    assert Redaction.of(["password-1", "password-2"]).value({"password-1": 1, "password-2": 2}) == {
        "***": 1,
        "*** (2)": 2,
    }


API_KEYS = (
    "ya29.a0AfH6SMB-x0123456789_abcdef",
    "aGVsbG8/d29ybGQ+Zm9v0123456789abcd=",
    "eyJhbGciOi1.eyJzdWIiOjIz.sig-0123",
)


@pytest.mark.parametrize("key", API_KEYS)
def test_a_key_of_a_model_api_is_gone_also_where_it_was_cut_off(key: str) -> None:
    redaction = Redaction.of([], keys=[key])

    assert {redaction.text(f"key {key[:length]}, rest") for length in range(len(key) // 2, len(key) + 1)} == {
        "key ***, rest"
    }
    assert key[-len(key) // 2 :] not in redaction.text(f"key {key[3:]}, rest")


def test_the_beginning_of_an_address_and_of_a_word_stays() -> None:
    address, words = "http://gateway-01.corp.example/v1/mine", "my-own-words-in-a-key"
    redaction = Redaction.of([address, words])

    for text in ("http://gateway-01.corp.example/v1/others", "my-own-words of mine"):
        assert redaction.text(text) == text
    assert redaction.text(f"{address} {words}") == "*** ***"


@pytest.mark.parametrize(
    ("key", "is_one"), [("lm-studio", False), ("not-needed", False), ("lm-studio-2", True), ("aBcDe" * 4, True)]
)
def test_a_key_that_is_a_word_is_no_secret(key: str, is_one: bool) -> None:
    assert is_secret_key(key) == is_one
    assert (Redaction.of([], keys=[key]).text(key) == STAND_IN) == is_one


SLASHES = (
    *("\\/", "\\u002F", "\\u{2f}", "\\u{00002f}", "\\x2f", "\\57", "\\057", "\\0057", "%2F", "%25252f"),
    *("&#x2F;", "&#X02f", "&#47;", "&#047;", "&sol;", "&amp;#x2F;", "&amp;amp;sol;"),
    # One notation in another: HTML in JSON, HTML in a URL, JSON in JSON, a URL in HTML in JSON.
    *("\\u0026#x2F;", "%26%2347%3B", "\\u005cu002F", "\\u0026#37;2F"),
)


@pytest.mark.parametrize("slash", SLASHES)
def test_a_secret_is_gone_in_each_notation_of_its_characters(slash: str) -> None:
    redaction = Redaction.of(["pass/word/0123"])

    assert redaction.text(f"the pass{slash}word{slash}0123!") == "the ***!"
    assert redaction.text(f"the {slash} stays") == f"the {slash} stays"


def test_an_ampersand_of_html_is_one() -> None:
    assert Redaction.of(["pass&word"]).text("pass&amp;word and pass&amp;amp;word") == "*** and ***"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    # 2 MB each: what takes the square of that never ends.
    [
        "\\" * 2_000_000,
        "%25" * 700_000,
        "%" + "25" * 1_000_000 + "G",
        "%" * 2_000_000,
        "&amp;" * 400_000,
        "&" + "amp;" * 500_000,
        "\\u{0" * 400_000,
        API_KEYS[0][:16] * 120_000,
        API_KEYS[0][-16:] * 120_000,
        API_KEYS[0][:15] * 130_000,
    ],
    ids=["backslashes", "%25", "%2525", "%", "&amp;", "&amp;amp;", "braces", "beginnings", "ends", "almost"],
)
def test_a_long_text_is_read_once(text: str) -> None:
    assert Redaction.of([OF_THE_MODE], keys=API_KEYS).text(text).startswith((text[:8], STAND_IN))


def test_so_are_many_short_texts_and_many_names_that_become_the_same() -> None:
    key, redaction = API_KEYS[0], Redaction.of([], keys=API_KEYS)
    trace = SessionTrace(session_id="s", events=tuple(TextOutputEvent(content=each) for each in key * 1000))

    assert {each.content for each in redaction.trace(trace).events if isinstance(each, TextOutputEvent)} == {STAND_IN}
    clean = redaction.value({f"{key[:20]}{number}": number for number in range(20_000)})
    assert isinstance(clean, dict)
    assert list(clean.values()) == list(range(20_000))


class Telling(NoLifecycle[BaseScenario]):
    """A stage with a secret of its own, and a clean-up that tells it."""

    @asynccontextmanager
    async def cell(self, cell: Any, scenario: BaseScenario, mode: Mode) -> AsyncGenerator[Stage[BaseScenario]]:
        yield Stage(scenario=scenario, secrets=frozenset({OF_THE_STAGE}), facts={"told": OF_THE_STAGE})
        raise EnvironmentFailure(f"cannot remove {OF_THE_STAGE}")


class TellingScorer:
    async def score(self, evidence: Evidence[BaseScenario]) -> Score:
        return Score.of([CheckpointDetail(id="c", description="c", passed=True, actual={"body": list(SECRETS)})])


async def tells(session: FakeSession, _text: str) -> Answer:
    said = " ".join(SECRETS)
    session.tool_calls.append(ToolCallEvent(name="env", input={said: said}, output=[said, json.dumps([said])]))
    session.call()
    return Answer(text=said)


def profile(provider: FakeProvider, *, secret: str = OF_THE_MODE) -> Profile[BaseScenario]:
    return Profile(
        scenarios=[scenario("a-001")],
        modes=[Mode(name="plain", secrets=frozenset({secret}), facts={"told": secret})],
        instruments=Instruments(
            provider=provider, scorer=TellingScorer(), lifecycle=Telling(), backoff=Backoff(first_s=0.0)
        ),
    )


def leaks_in(folder: Path, *more: object) -> list[str]:
    """Name the files, or other texts, in which a secret stands."""
    texts = {str(path): path.read_text() for path in folder.rglob("*") if path.is_file()}
    texts |= {text: text for text in map(str, more)}
    spellings = {spelled for each in SECRETS for spelled in (each, json.dumps(each)[1:-1], quote(each, safe=""))}
    return [name for name, text in texts.items() if any(each in text for each in spellings)]


@pytest.mark.anyio
async def test_nothing_that_a_run_writes_or_tells_has_a_secret_in_it(tmp_path: Path) -> None:
    seen: list[Event] = []
    provider = FakeProvider(tells, close_error=EnvironmentFailure(f"cannot close {OF_THE_MODE}"))

    result = await profile(provider).run(config(tmp_path), observers=[seen.append])

    (row,) = read_rows(result.directory / "rows.jsonl")
    assert row.success
    assert {each.where for each in row.problems} >= {"cleanup"}
    assert row.checkpoint_details[0].actual == {"body": [STAND_IN, STAND_IN]}
    (session,) = (result.directory / "sessions").rglob("*.json")
    assert STAND_IN in session.read_text()
    assert leaks_in(tmp_path, *seen) == []


@pytest.mark.anyio
async def test_nor_what_is_said_of_attempts_that_failed_and_of_a_warm_up(tmp_path: Path) -> None:
    async def breaks(session: FakeSession, text: str) -> Answer:
        await tells(session, text)
        raise TransientError(f"no luck at http://somewhere/?key={quote(OF_THE_MODE)} {OF_THE_STAGE}")

    seen: list[Event] = []
    settings = config(tmp_path, execution={"retries": 1})
    await profile(FakeProvider(breaks)).run(settings, observers=[seen.append])
    with pytest.raises(CanaryError) as raised:
        await profile(FakeProvider(breaks)).run(config(tmp_path, execution={"warmup": True}))

    assert "no luck at http://somewhere/?key=" in str(raised.value)
    assert "CellRetried" in {type(event).__name__ for event in seen}
    assert leaks_in(tmp_path, raised.value, *seen) == []


class Echoing:
    """A scorer, a collector and an analyzer that repeat what they are given."""

    name = "echo"

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.scored: list[tuple[str, str]] = []

    async def score(self, evidence: Evidence[BaseScenario]) -> Score:
        said, told = self._read(evidence)
        self.scored.append((said, told))
        passed = all(each in said and each in told for each in SECRETS)
        check = CheckpointDetail(id="c", description=said, passed=passed, actual={said: told}, error=told)
        if self.fails:
            raise PartialScoreError(f"cannot score {said}", checkpoints=(check,))
        return Score.of((check,))

    def collect(self, evidence: Evidence[BaseScenario]) -> list[CustomMetric]:
        return [CustomMetric("said " + self._read(evidence)[0], 1, self._read(evidence)[1])]

    def analyze(self, evidence: Evidence[BaseScenario]) -> AnalysisResult:
        said, told = self._read(evidence)
        # Not as they are written: what is changed before it is searched is not found.
        checks = "".join(str(each.actual) for each in (evidence.score.checkpoints if evidence.score else ()))
        findings = {each: StringFinding(value=each[::-1]) for each in (said, told, checks)}
        return AnalysisResult(analyzer=self.name, findings=findings, summary=said)

    def _read(self, evidence: Evidence[BaseScenario]) -> tuple[str, str]:
        return evidence.answer.text if evidence.answer else "", str(evidence.trace and evidence.trace.tool_calls)


@pytest.mark.anyio
@pytest.mark.parametrize("fails", [False, True])
async def test_the_scorer_sees_what_was_said_and_nothing_that_it_repeats_is_written(
    fails: bool, tmp_path: Path
) -> None:
    echo, seen = Echoing(fails=fails), list[Event]()
    instruments = Instruments(
        provider=FakeProvider(tells), scorer=echo, lifecycle=Telling(), collectors=[echo], analyzers=[echo]
    )
    echoing = replace(profile(FakeProvider(tells)), instruments=instruments)

    result = await echoing.run(config(tmp_path), observers=[seen.append])

    (row,) = read_rows(result.directory / "rows.jsonl")
    assert row.success is (None if fails else True)
    assert row.checkpoints_passed == 1
    ((said, told),) = echo.scored
    assert all(each in said and each in told for each in SECRETS)
    assert leaks_in(tmp_path, *seen) == []
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("said ***" in text for text in texts)
    assert not any(each[::-1] in text for text in texts for each in (OF_THE_STAGE, json.dumps(OF_THE_MODE)[1:-1]))


@dataclass
class Keyed(FakeProvider):
    secrets: tuple[str, ...] = ()


@pytest.mark.anyio
async def test_the_key_of_a_local_gateway_changes_neither_answer_nor_score(tmp_path: Path) -> None:
    async def answers(session: FakeSession, _text: str) -> Answer:
        session.tool_calls.append(ToolCallEvent(name="gh", output="nothing is not-needed"))
        return Answer(text="sk-0123456789 is not-needed")

    provider = Keyed(answers, secrets=("not-needed", "sk-0123456789"))

    result = await profile(provider).run(config(tmp_path))

    (session,) = (result.directory / "sessions").rglob("*.json")
    trace = SessionTrace.model_validate_json(session.read_bytes())
    assert trace.answer == "*** is not-needed"
    assert trace.tool_calls[0].output == "nothing is not-needed"
    (request,) = provider.requests
    assert request.keys == {"sk-0123456789"}
    assert request.secrets == {OF_THE_MODE, OF_THE_STAGE, "sk-0123456789"}


@pytest.mark.anyio
async def test_nor_what_is_kept_of_an_interrupted_session(tmp_path: Path) -> None:
    with anyio.CancelScope() as scope:

        async def is_interrupted(session: FakeSession, text: str) -> Answer:
            await tells(session, text)
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError

        await profile(FakeProvider(is_interrupted)).run(config(tmp_path))

    (session,) = tmp_path.rglob("sessions/**/0.json")
    assert STAND_IN in session.read_text()
    assert leaks_in(tmp_path) == []


@pytest.mark.anyio
async def test_a_secret_that_is_also_a_name_costs_no_row_its_name(tmp_path: Path) -> None:
    async def answers(_session: FakeSession, _text: str) -> Answer:
        return Answer(text="3")

    named = Profile(
        scenarios=[scenario("password-001")],
        modes=[Mode(name="baseline", secrets=frozenset({"baseline", "password-001"}), facts={"told": "baseline"})],
        instruments=Instruments(provider=FakeProvider(answers), scorer=TellingScorer()),
    )

    result = await named.run(config(tmp_path, modes=["baseline"]))

    (row,) = read_rows(result.directory / "rows.jsonl")
    assert (row.mode, row.scenario_id) == ("baseline", "password-001")
    assert row.extensions == {"mode": {"told": STAND_IN}}
