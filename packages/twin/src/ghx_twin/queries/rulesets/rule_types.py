"""The rules that a ruleset can have, with their parameters, in GitHub's words."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, TypeAdapter, field_validator, model_validator

from ghx_base.texts.patterns import PatternError, compile_pattern, matches
from ghx_twin.queries.repositories.globs import check_glob

LONGEST_PATTERN = 1000


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlainRule(_Model):
    """A rule without parameters."""

    type: Literal["creation", "deletion", "non_fast_forward", "required_linear_history", "required_signatures"]


class UpdateParameters(_Model):
    """Whether a fork may still fetch from its upstream."""

    update_allows_fetch_and_merge: StrictBool = False


class UpdateRule(_Model):
    """Only those who can bypass it may update matching refs."""

    type: Literal["update"]
    parameters: UpdateParameters = UpdateParameters()


class PullRequestParameters(_Model):
    """What a pull request must have before it is merged."""

    allowed_merge_methods: tuple[Literal["merge", "squash", "rebase"], ...] = Field(
        default=("merge", "squash", "rebase"), min_length=1
    )
    dismiss_stale_reviews_on_push: StrictBool = False
    require_code_owner_review: StrictBool = False
    require_last_push_approval: StrictBool = False
    required_approving_review_count: StrictInt = Field(default=0, ge=0, le=10)
    required_review_thread_resolution: StrictBool = False


class PullRequestRule(_Model):
    """Changes come by pull requests alone."""

    type: Literal["pull_request"]
    parameters: PullRequestParameters = PullRequestParameters()


class RequiredCheck(_Model):
    """A check by its name; any app may report it."""

    context: str = Field(min_length=1)
    integration_id: StrictInt | None = None


class StatusCheckParameters(_Model):
    """Which checks must have passed."""

    do_not_enforce_on_create: StrictBool = False
    required_status_checks: tuple[RequiredCheck, ...] = ()
    strict_required_status_checks_policy: StrictBool = False


class StatusCheckRule(_Model):
    """Checks must have passed before the ref moves."""

    type: Literal["required_status_checks"]
    parameters: StatusCheckParameters


class PatternParameters(_Model):
    """A text that something must have, or with `negate` must not have."""

    name: str | None = None
    negate: StrictBool = False
    operator: Literal["starts_with", "ends_with", "contains", "regex"]
    pattern: str = Field(min_length=1, max_length=LONGEST_PATTERN)

    @model_validator(mode="after")
    def _check_pattern(self) -> Self:
        if self.operator == "regex":
            try:
                compile_pattern(self.pattern)
            except PatternError as error:
                raise ValueError(f"the pattern is no regular expression: {error}") from None
        return self

    def accepts(self, text: str) -> bool:
        """Return whether a text is as the pattern wants it."""
        match self.operator:
            case "starts_with":
                found = text.startswith(self.pattern)
            case "ends_with":
                found = text.endswith(self.pattern)
            case "contains":
                found = self.pattern in text
            case "regex":
                found = matches(self.pattern, text)
        return found != self.negate

    def describe(self, subject: str) -> str:
        """Return the requirement as a sentence about its subject; its own name where it has one."""
        if self.name:
            return self.name
        verbs = {
            "starts_with": "start with a matching pattern",
            "ends_with": "end with a matching pattern",
            "contains": "contain a matching pattern",
            "regex": "match a given regex pattern",
        }
        return f"{subject} must {'not ' if self.negate else ''}{verbs[self.operator]}: {self.pattern}"


PatternType = Literal[
    "branch_name_pattern",
    "commit_author_email_pattern",
    "commit_message_pattern",
    "committer_email_pattern",
    "tag_name_pattern",
]


class PatternRule(_Model):
    """Names of refs, messages or addresses of commits follow a pattern."""

    type: PatternType
    parameters: PatternParameters


class FilePathParameters(_Model):
    """Paths that no push may change."""

    restricted_file_paths: tuple[Annotated[str, Field(max_length=LONGEST_PATTERN)], ...]

    @field_validator("restricted_file_paths")
    @classmethod
    def _check_paths(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            try:
                check_glob(path)
            except PatternError as error:
                raise ValueError(f"{path!r} is no pattern of paths: {error}") from None
        return paths


class FilePathRule(_Model):
    """A push must not change certain paths."""

    type: Literal["file_path_restriction"]
    parameters: FilePathParameters


class FileExtensionParameters(_Model):
    """Endings of names that no push may bring."""

    restricted_file_extensions: tuple[str, ...]


class FileExtensionRule(_Model):
    """A push must not bring certain kinds of files."""

    type: Literal["file_extension_restriction"]
    parameters: FileExtensionParameters


class FileSizeParameters(_Model):
    """The largest file that may be pushed, in megabytes."""

    max_file_size: StrictInt = Field(ge=1, le=100)


class FileSizeRule(_Model):
    """A push must not bring large files."""

    type: Literal["max_file_size"]
    parameters: FileSizeParameters


class PathLengthParameters(_Model):
    """The longest path that may be pushed, in characters."""

    max_file_path_length: StrictInt = Field(ge=1, le=32767)


class PathLengthRule(_Model):
    """A push must not bring long paths."""

    type: Literal["max_file_path_length"]
    parameters: PathLengthParameters


Rule = Annotated[
    PlainRule
    | UpdateRule
    | PullRequestRule
    | StatusCheckRule
    | PatternRule
    | FilePathRule
    | FileExtensionRule
    | FileSizeRule
    | PathLengthRule,
    Field(discriminator="type"),
]
RULE: TypeAdapter[Rule] = TypeAdapter(Rule)

NOT_ENFORCED = frozenset(
    {
        "code_scanning",
        "copilot_code_review",
        "license_compliance_scanning",
        "merge_queue",
        "required_deployments",
        "workflows",
    }
)
"""Rules that GitHub has too; one that is stored and never enforced would be a plausible lie."""
PUSH_RULES = frozenset({"file_path_restriction", "file_extension_restriction", "max_file_size", "max_file_path_length"})
"""Rules of push rulesets, which hold for every ref."""
