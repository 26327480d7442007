"""Documents that people write: configurations, scenarios, fixtures, seeds; as JSON or YAML, with exact complaints."""

from ghx_bench._base.errors import DocumentError
from ghx_bench._base.problems import Problem
from ghx_bench.documents.document import (
    Document,
    parse_document,
    problem,
    problem_of,
    problems_of,
    read_document,
)
from ghx_bench.documents.model_errors import Complaint, RefusedError
from ghx_bench.documents.text import Position
from ghx_bench.documents.validation import explain, validate_document

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
