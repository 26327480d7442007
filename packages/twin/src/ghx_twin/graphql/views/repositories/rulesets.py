"""Rulesets and their rules."""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from ghx_twin.graphql.views.base import RecordView, View
from ghx_twin.nodes import NodeId
from ghx_twin.queries.rulesets import source_of
from ghx_twin.state.records import Ruleset


@dataclass(frozen=True, slots=True)
class RuleOf:
    """One rule of a ruleset, by its place in it."""

    ruleset: Ruleset
    place: int

    @property
    def type(self) -> str:
        """Return the type of the rule, as GraphQL spells it."""
        return cast("str", self.ruleset.rules[self.place]["type"]).upper()


class RulesetView(RecordView[Ruleset]):
    """A ruleset of a repository or organization."""

    typename: ClassVar[str] = "RepositoryRuleset"
    sources: ClassVar = {"subject": Ruleset}
    __slots__ = ()

    def conditions(self) -> "RuleConditionsView":
        """Return which refs and repositories it is for."""
        return RuleConditionsView(self.context, self.subject)

    def enforcement(self) -> str:
        """Return whether it holds."""
        return self.subject.enforcement.upper()

    def rules(self, kind: str | None = None) -> list[RuleOf]:
        """Return its rules, all or those of one type."""
        rules = [RuleOf(self.subject, place) for place in range(len(self.subject.rules))]
        return [one for one in rules if kind is None or one.type == kind]

    def source(self) -> Any:
        """Return the repository or organization it belongs to."""
        return self.context.view_of(source_of(self.context.world, self.subject))

    def target(self) -> str:
        """Return the kind of refs it is for."""
        return self.subject.target.upper()


class RuleView(View[RuleOf]):
    """One rule."""

    typename: ClassVar[str] = "RepositoryRule"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id."""
        return str(NodeId("RRL", self.subject.ruleset.id, self.subject.place))

    def type(self) -> str:
        """Return what it rules."""
        return self.subject.type

    def repository_ruleset(self) -> Any:
        """Return the ruleset it is of."""
        return self.context.view_of(self.subject.ruleset)


class RuleConditionsView(View[Ruleset]):
    """Which refs and repositories a ruleset is for."""

    typename: ClassVar[str] = "RepositoryRuleConditions"
    __slots__ = ()

    def ref_name(self) -> "NameConditionView | None":
        """Return the patterns of refs."""
        return self._condition("ref_name")

    def repository_name(self) -> "NameConditionView | None":
        """Return the patterns of repositories, of an organization's ruleset."""
        return self._condition("repository_name")

    def _condition(self, name: str) -> "NameConditionView | None":
        condition = self.subject.conditions.get(name)
        return None if condition is None else NameConditionView(self.context, condition)


class NameConditionView(View[Any]):
    """Patterns of names."""

    typename: ClassVar[str] = "RefNameConditionTarget"
    __slots__ = ()

    def include(self) -> list[str]:
        """Return which names it is for."""
        return self.subject.get("include", [])

    def exclude(self) -> list[str]:
        """Return which of these it is not for."""
        return self.subject.get("exclude", [])

    def protected(self) -> bool:
        """Return whether the repositories cannot be renamed: never here."""
        return False


def keep_targets(rulesets: list[Ruleset], targets: list[str] | None) -> list[Ruleset]:
    """Return the rulesets for some kinds of refs; all without any."""
    return [one for one in rulesets if targets is None or one.target.upper() in targets]
