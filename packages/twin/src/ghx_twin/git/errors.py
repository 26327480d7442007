"""What the git side of a world refuses.

```
GitError                one line that names the object, path or ref
├── GitLookupError      no such object, or one of another kind; also a LookupError
├── GitPathError        a path that no tree may hold, or that stands in the way of another
├── GitRefError         a ref that may not have this name or point there
└── GitContentError     text that an object cannot hold
```
"""

from typing import ClassVar

from ghx_base.errors import OperationError


class GitError(OperationError):
    """A git operation that cannot be done as asked; nothing has changed."""

    code: ClassVar[str] = "GIT"


class GitLookupError(GitError, LookupError):
    """There is no such object, or it is of another kind than needed."""

    code: ClassVar[str] = "GIT_LOOKUP"


class GitPathError(GitError):
    """A path that no tree may hold, or that stands in the way of another."""

    code: ClassVar[str] = "GIT_PATH"


class GitRefError(GitError):
    """A ref that may not have this name, or may not point there."""

    code: ClassVar[str] = "GIT_REF"


class GitContentError(GitError):
    """Text that an object cannot hold."""

    code: ClassVar[str] = "GIT_CONTENT"
