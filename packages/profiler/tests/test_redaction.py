"""Secrets do not leave a session: neither in what the agent said and did, nor in what is said about it."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
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
from ghx_profiler.causes import EnvironmentFailure, TransientError
from ghx_profiler.contracts import NoLifecycle
from ghx_profiler.errors import CanaryError
from ghx_profiler.events import Event
from ghx_profiler.runner.instruments import Backoff, Instruments
from ghx_profiler.runner.redaction import SHORTEST, STAND_IN, Redaction, StreamRedaction
from ghx_profiler.score import CheckpointDetail
from ghx_profiler.trace import SessionTrace, ToolCallEvent

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
        "******": 2,
    }


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
