"""What a capability does where an answer is lost: a change is made once, or its caller is told to look."""

from collections.abc import Sequence

import pytest
from capability_calls import NAME, OWNER, Ghx

from ghx_twin.faults import Fault
from ghx_twin.state.records import Comment

ALL = [f"Comment {number}" for number in range(1, 51)]
WRITE = "mutation*addComment*"


def comments(ghx: Ghx) -> list[str]:
    return [each.body for each in ghx.twin.world.database.all(Comment)]


def trouble() -> Sequence[Fault]:
    """Return two secondary rate limits, and five failures: two before the comment was written, three after."""
    return [
        *(Fault(operation=WRITE, skip=skip, times=1, rate_limit="secondary", wait_s=1) for skip in (9, 29)),
        *(Fault(operation=WRITE, skip=skip, times=1, status=502) for skip in (2, 17)),
        *(Fault(operation=WRITE, skip=skip, times=1, status=502, after=True) for skip in (5, 22, 40)),
    ]


def test_fifty_comments_are_written_once_each_through_limits_and_failures(ghx: Ghx) -> None:
    before = comments(ghx)
    ghx.twin.world.faults.add(*trouble())

    urls = {ghx.on_issue("issue.comments.create", body=body)["url"] for body in ALL}

    assert comments(ghx) == [*before, *ALL]
    assert len(urls) == 50
    assert sum(each.fault is not None for each in ghx.twin.world.journal) == 7


@pytest.mark.parametrize(
    "fault",
    [
        Fault(operation=WRITE, times=1, status=502, after=True),
        Fault(operation=WRITE, times=1, reset="unanswered", after=True),
        Fault(operation=WRITE, times=1, reset="halfway"),
        Fault(operation=WRITE, times=2, reset="unanswered"),
    ],
    ids=["lost", "reset after", "halfway", "reset before"],
)
@pytest.mark.parametrize("task", ["issue.comments.create", "pr.comments.create"])
def test_a_comment_whose_answer_is_lost_is_found(ghx: Ghx, task: str, fault: Fault) -> None:
    call = ghx.on_issue if task.startswith("issue") else ghx.on_pull
    before = comments(ghx)
    call(task, body="Same words")
    ghx.twin.world.faults.add(fault)

    made = call(task, body="Same words")

    assert comments(ghx) == [*before, "Same words", "Same words"]
    assert made["body"] == "Same words"


def test_comments_of_a_chain_are_written_once_each(ghx: Ghx) -> None:
    steps = [
        ("issue.comments.create", {"owner": OWNER, "name": NAME, "issueNumber": number, "body": f"On {number}"})
        for number in (1, 3)
    ]
    before = comments(ghx)
    ghx.twin.world.faults.add(Fault(operation=WRITE, times=1, status=502, after=True))

    assert ghx.chain(*steps).status == "success"

    assert comments(ghx) == [*before, "On 1", "On 3"]


@pytest.mark.parametrize("after", [False, True])
def test_another_change_is_not_repeated_and_its_error_says_that_it_may_be_done(ghx: Ghx, after: bool) -> None:
    ghx.twin.world.faults.add(Fault(status=502, times=1, operation="mutation*", after=after))

    envelope = ghx.run("issue.create", owner=OWNER, name=NAME, title="Once")

    assert envelope.error is not None
    assert (envelope.error.code, (envelope.error.details or {})["mayBeDone"]) == ("SERVER", True)
    assert ghx.waits == []
