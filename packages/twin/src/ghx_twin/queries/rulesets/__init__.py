"""Rulesets: which rules hold for a ref and for whom, and what a push or a merge violates."""

from ghx_twin.queries.rulesets.applying import (
    ActiveRule,
    bypass_mode,
    rules_of,
    rules_that_bind,
    rulesets_of,
    source_of,
)
from ghx_twin.queries.rulesets.pushes import content_violations, describe_violations, push_violations

__all__ = [
    "ActiveRule",
    "bypass_mode",
    "content_violations",
    "describe_violations",
    "push_violations",
    "rules_of",
    "rules_that_bind",
    "rulesets_of",
    "source_of",
]
