"""What the files of a repository tell about it."""

from typing import Any, ClassVar

from ghx_twin.graphql.community import Community, Contact, Funding, IssueForm, PullTemplate
from ghx_twin.graphql.connections import Connection, Edge
from ghx_twin.graphql.subjects import ConductSubject, LanguageSubject, LicenseSubject
from ghx_twin.graphql.views.base import Linked, View
from ghx_twin.graphql.views.repositories.repository_parts import RepositorySettings
from ghx_twin.queries.composition import LICENSES, composition


class CommunityFields(RepositorySettings):
    """The fields of a repository that its files answer."""

    __slots__ = ()

    def disk_usage(self) -> int:
        """Return its size in kilobytes."""
        return composition(self.context.world, self.subject).kilobytes

    def languages(self, order_by: dict[str, str] | None = None) -> list[LanguageSubject]:
        """Return the languages it is written in, with their bytes."""
        languages = [
            LanguageSubject(name, size) for name, size in composition(self.context.world, self.subject).languages
        ]
        return languages[::-1] if order_by and order_by["direction"] == "ASC" else languages

    def primary_language(self) -> Any:
        """Return the language most of it is written in."""
        return self.context.view_of(next(iter(self.languages()), None))

    def license_info(self) -> Any:
        """Return its licence."""
        key = composition(self.context.world, self.subject).license
        return self.context.view_of(LicenseSubject(key)) if key else None

    def code_of_conduct(self) -> Any:
        """Return its code of conduct."""
        code = self._community.code_of_conduct()
        return self.context.view_of(ConductSubject(self.subject, *code)) if code else None

    def issue_templates(self) -> list[Any]:
        """Return its templates for issues."""
        return [self.context.view_of(one) for one in self._community.issue_forms()]

    def pull_request_templates(self) -> list[Any]:
        """Return its templates for pull requests."""
        return [self.context.view_of(one) for one in self._community.pull_templates()]

    def contact_links(self) -> list[Any]:
        """Return where else to ask."""
        return [self.context.view_of(one) for one in self._community.contacts()]

    def funding_links(self) -> list[Any]:
        """Return where to give money."""
        return [self.context.view_of(one) for one in self._community.funding()]

    def is_blank_issues_enabled(self) -> bool:
        """Return whether an issue can be written without a template."""
        return self._community.allows_blank_issues()

    def is_security_policy_enabled(self) -> bool:
        """Return whether there is a security policy."""
        return self._community.has_security_policy()

    def security_policy_url(self) -> str | None:
        """Return the address of the security policy."""
        return f"{self.url()}/security/policy" if self.is_security_policy_enabled() else None

    @property
    def _community(self) -> Community:
        return Community(self.context, self.subject)


class LanguageView(View[LanguageSubject]):
    """A programming language."""

    typename: ClassVar[str] = "Language"
    sources: ClassVar = {"subject": LanguageSubject}
    __slots__ = ()


class LanguageEdge(Edge):
    """A language and how much is written in it."""

    __slots__ = ()
    subject: LanguageSubject

    def size(self) -> int:
        """Return the bytes."""
        return self.subject.size


class LanguageConnection(Connection[list[LanguageSubject]]):
    """Languages and their bytes."""

    edge = LanguageEdge
    __slots__ = ()

    def total_size(self) -> int:
        """Return the bytes in all of them."""
        return sum(one.size for one in self.items)


class LicenseView(View[LicenseSubject]):
    """A licence."""

    typename: ClassVar[str] = "License"
    sources: ClassVar = {"subject": LicenseSubject}
    __slots__ = ()

    def name(self) -> str:
        """Return its full name."""
        return LICENSES[self.subject.key][0] if self.subject.key in LICENSES else "Other"

    def nickname(self) -> str | None:
        """Return what people call it."""
        family, _, version = self.subject.key.partition("-")
        nicknames = {"gpl": "GNU GPLv", "lgpl": "GNU LGPLv", "agpl": "GNU AGPLv"}
        return f"{nicknames[family]}{version.removesuffix('.0')}" if family in nicknames else None

    def spdx_id(self) -> str:
        """Return its id in the list of all licences."""
        return LICENSES[self.subject.key][1] if self.subject.key in LICENSES else "NOASSERTION"

    def url(self) -> str | None:
        """Return the address of its text."""
        return f"http://choosealicense.com/licenses/{self.subject.key}/" if self.subject.key in LICENSES else None


class CodeOfConductView(Linked, View[ConductSubject]):
    """A code of conduct."""

    typename: ClassVar[str] = "CodeOfConduct"
    __slots__ = ()

    def body(self) -> str:
        """Return its text."""
        return self.subject.text

    def key(self) -> str:
        """Return which one it is."""
        return "contributor_covenant" if "contributor covenant" in self.subject.text.lower() else "other"

    def name(self) -> str:
        """Return what it is called."""
        return "Contributor Covenant" if self.key() == "contributor_covenant" else "Other"

    def resource_path(self) -> str:
        """Return the path of its page."""
        home = self.context.full_name(self.subject.repository)
        return f"/{home}/blob/{self.subject.repository.default_branch}/{self.subject.path}"


class IssueTemplateView(View[IssueForm]):
    """A template for issues."""

    typename: ClassVar[str] = "IssueTemplate"
    sources: ClassVar = {"subject": IssueForm}
    __slots__ = ()


class PullRequestTemplateView(View[PullTemplate]):
    """A template for pull requests."""

    typename: ClassVar[str] = "PullRequestTemplate"
    sources: ClassVar = {"subject": PullTemplate}
    __slots__ = ()

    def repository(self) -> Any:
        """Return whose template it is."""
        return self.context.view_of(self.subject.repository)


class ContactLinkView(View[Contact]):
    """Where else to ask."""

    typename: ClassVar[str] = "RepositoryContactLink"
    sources: ClassVar = {"subject": Contact}
    __slots__ = ()


class FundingLinkView(View[Funding]):
    """Where to give money."""

    typename: ClassVar[str] = "FundingLink"
    sources: ClassVar = {"subject": Funding}
    __slots__ = ()
