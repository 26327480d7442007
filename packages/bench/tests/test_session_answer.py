"""What an agent said, taken apart, and asked about by checkpoints."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from eval_stage import checkpoint, lifecycle_for, scenario, scored, staged
from hypothesis import given
from hypothesis import strategies as st

from ghx_bench.checking.scenario_rules import Known, scenario_errors, scenario_warnings
from ghx_bench.scenario.session_answer import read_answer
from ghx_bench.stages.twin_stage import TwinLifecycle

ANY_MANNER = [
    "There are 137 open issues.",
    "**137**",
    "| open | 137 |",
    "Open: `137`",
    "- 137 (as of today)",
    "137/140",
]


@pytest.mark.parametrize("text", ANY_MANNER)
def test_a_number_is_found_however_it_is_written(text: str) -> None:
    assert 137 in read_answer(text).numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,234 of 5,678,901", (1234, 5678901)),
        ("#12, acme/widgets#13 and https://github.com/acme/widgets/pull/14.", (12, 13, 14)),
        ("12% of 3.5 or -2", (12, 3.5, -2)),
        ("v1.4.2, 1.4.3, 2026-03-01, 2026/03/01 and 10:30", ()),
        ("fix-12, run12, 3rd, 1e5 and 0x10", ()),
        ("1. The first\n2) The second\n3. The third has 4", (4,)),
        ("137. The newest is #163, Title.", (137, 163)),
        ("126.\n\nOf these 12 are new", (126, 12)),
        ("Windows: 11,13,15", (11, 13, 15)),
        ("#11,#13;#15", (11, 13, 15)),
        ("101,102,103 and 137,500", (101, 102, 103, 137500)),
        ('{"open":137,"newest":163} or count=126', (137, 163, 126)),
        ("7, then 8, then 7 again", (7, 8)),
        ("", ()),
    ],
)
def test_numbers_stand_by_themselves(text: str, numbers: tuple[float, ...]) -> None:
    assert read_answer(text).numbers == numbers


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It was @ada.", "ada"),
        ("The job `test (3.11)` failed.", "test (3.11)"),
        ("See **fix-login**, please", "fix-login"),
        ("Released as v1.4.2.", "v1.4.2"),
        ("on 2026-03-01", "2026-03-01"),
        ("[acme/widgets](https://github.com/acme/widgets)", "acme/widgets"),
        ("'src/app.py':", "src/app.py"),
        ('The title is "Crash on start".', "Crash on start"),
        ("|lint|build|", "build"),
        ("ada,bob", "bob"),
        ("bug—and nothing else", "bug"),
    ],
)
def test_a_name_is_found_without_what_is_around_it(text: str, name: str) -> None:
    assert name in read_answer(text).names


def test_a_part_of_a_name_is_not_the_name() -> None:
    assert "fix" not in read_answer("The branch is fix-login.").names
    assert read_answer("ada ADA ada").names == ("ada", "ADA")


@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_every_integer_is_read_back(number: int) -> None:
    assert read_answer(f"I count {number} of them, and {abs(number):,} without sign").numbers[0] == number


@given(st.text())
def test_any_text_can_be_taken_apart(text: str) -> None:
    answer = read_answer(text)

    assert answer.text == text
    assert len(set(answer.names)) == len(answer.names)


SAYS_137 = {"type": "contains_item", "path": "numbers", "value": 137}
COUNTED = checkpoint("session.answer", {}, SAYS_137, "counted")


@pytest.fixture(scope="module")
async def lifecycle(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[TwinLifecycle]:
    lifecycle = lifecycle_for(scenario())
    async with lifecycle.run(tmp_path_factory.mktemp("run")):
        yield lifecycle


@pytest.mark.anyio
async def test_a_checkpoint_asks_what_the_agent_said(lifecycle: TwinLifecycle) -> None:
    later = checkpoint(
        "session.answer", {}, {"type": "field_contains", "path": "text", "value": "{{checkpoints.counted.numbers.0}}"}
    )
    async with staged(lifecycle, scenario(COUNTED, later)) as stage:
        right = await scored(stage, answer="There are 137 of them.")
        wrong = await scored(stage, answer="There are 30 of them.")
        silent = await scored(stage)

    assert right.success
    assert right.checkpoints[0].actual == {
        "text": "There are 137 of them.",
        "numbers": [137],
        "names": ["There", "are", "137", "of", "them"],
    }
    assert [each.passed for each in wrong.checkpoints] == [False, True]
    assert [each.passed for each in silent.checkpoints] == [False, False]


def test_paths_into_an_answer_and_its_input_are_checked() -> None:
    astray = checkpoint("session.answer", {}, {"type": "contains_item", "path": "number", "value": 1}, "astray")
    eager = checkpoint("session.answer", {"repo": "a/b"}, SAYS_137, "eager")
    misspelt = checkpoint("session.anwser", {}, SAYS_137, "misspelt")

    (warning,) = scenario_warnings(scenario(COUNTED, astray), Known(), solution=Path("none"))
    (refused, unknown) = scenario_errors(scenario(eager, misspelt), Known())

    assert (warning.reason, warning.suggestion) == (
        "what session.answer returns has no 'number'",
        "did you mean 'numbers'?",
    )
    assert refused.reason == "session.answer takes no input 'repo'"
    assert unknown.suggestion == "did you mean 'session.answer'?"
