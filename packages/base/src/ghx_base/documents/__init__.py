"""Documents that people write: configurations, scenarios, fixtures, seeds; as JSON or YAML, with exact complaints."""

from ghx_base.documents.document import (
    Document,
    parse_document,
    problem,
    problem_of,
    problems_of,
    read_document,
)
from ghx_base.documents.model_errors import Complaint, RefusedError
from ghx_base.documents.text import Position
from ghx_base.documents.validation import explain, validate_document
from ghx_base.errors import DocumentError
from ghx_base.problems import Problem

__all__ = [
    "Complaint",
    "Document",
    "DocumentError",
    "Position",
    "Problem",
    "RefusedError",
    "explain",
    "parse_document",
    "problem",
    "problem_of",
    "problems_of",
    "read_document",
    "validate_document",
]
