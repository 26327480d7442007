"""Times that clients write in queries."""

from datetime import UTC, datetime


def parsed_time(text: str | None) -> str | None:
    """Return an ISO 8601 time in GitHub's spelling; None for what is no time, which GitHub overlooks."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.strip().replace(" ", "+"))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        utc = aware.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # no time, or one before the year 1 in UTC
        return None
    return f"{utc.isoformat(timespec='seconds')}Z"
