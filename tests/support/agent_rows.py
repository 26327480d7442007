"""What rows of real agents must say."""

from scripted_sessions import Ran


def assert_all_passed(ran: Ran, cells: int) -> None:
    """Hold that every cell passed, and that its tokens are those that the model claimed."""
    assert len(ran.rows) == cells
    for row in ran.rows:
        where = f"{row.agent} {row.mode} {row.scenario_id}"
        failed = [each.id for each in row.checkpoint_details if not each.passed]
        assert (row.success, row.error, failed) == (True, None, []), where
        assert row.tokens == ran.claimed(row), where
        assert not row.problems, where
