"""Scorers that come with the profiler: plain functions as scorers, and several scorers as one."""

from ghx_bench.profiler.scorers.composite import CompositeScorer
from ghx_bench.profiler.scorers.predicate import AnswerScorer, PredicateScorer

__all__ = ["AnswerScorer", "CompositeScorer", "PredicateScorer"]
