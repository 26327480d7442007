"""What a repository is made of: its languages, its size and its licence, read from the default branch."""

from collections import Counter
from dataclasses import dataclass

from ghx_bench.twin.git.repository import GitRepository
from ghx_bench.twin.state.records import Repository
from ghx_bench.twin.world import World

_LICENSE_SIGNS = (
    ("mit license", "mit"),
    ("apache license", "apache-2.0"),
    ("affero general public license", "agpl-3.0"),
    ("lesser general public license", "lgpl-3.0"),
    ("general public license version 3", "gpl-3.0"),
    ("version 3, 29 june 2007", "gpl-3.0"),
    ("version 2, june 1991", "gpl-2.0"),
    ("bsd 3-clause", "bsd-3-clause"),
    ("bsd 2-clause", "bsd-2-clause"),
    ("mozilla public license version 2.0", "mpl-2.0"),
    ("released into the public domain", "unlicense"),
)
# names and SPDX ids by GitHub's key
LICENSES = {
    "mit": ("MIT License", "MIT"),
    "apache-2.0": ("Apache License 2.0", "Apache-2.0"),
    "gpl-3.0": ("GNU General Public License v3.0", "GPL-3.0"),
    "gpl-2.0": ("GNU General Public License v2.0", "GPL-2.0"),
    "lgpl-3.0": ("GNU Lesser General Public License v3.0", "LGPL-3.0"),
    "agpl-3.0": ("GNU Affero General Public License v3.0", "AGPL-3.0"),
    "bsd-3-clause": ('BSD 3-Clause "New" or "Revised" License', "BSD-3-Clause"),
    "bsd-2-clause": ('BSD 2-Clause "Simplified" License', "BSD-2-Clause"),
    "mpl-2.0": ("Mozilla Public License 2.0", "MPL-2.0"),
    "unlicense": ("The Unlicense", "Unlicense"),
}
_KEPT = 256
_known: "dict[str, Composition]" = {}  # by tree: what is in a tree never changes, in whichever world it is
_LICENSE_NAMES = ("license", "licence", "copying", "unlicense")


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """What the files of a branch add up to."""

    languages: tuple[tuple[str, int], ...] = ()  # with their bytes, the largest first
    kilobytes: int = 0
    license: str | None = None  # GitHub's key
    license_path: str | None = None

    @property
    def language(self) -> str | None:
        """Return the language that most of it is written in."""
        return self.languages[0][0] if self.languages else None


def composition(world: World, repository: Repository) -> Composition:
    """Read what the default branch is made of; nothing where it does not exist yet."""
    git = world.git(repository)
    tip = git.ref(f"refs/heads/{repository.default_branch}")
    root = git.entry(tip, "") if tip else None
    if root is None:
        return Composition()
    if root.sha not in _known:
        if len(_known) >= _KEPT:
            _known.pop(next(iter(_known)), None)
        _known[root.sha] = _read(world, repository, git, root.sha)
    return _known[root.sha]


def _read(world: World, repository: Repository, git: GitRepository, tree: str) -> Composition:
    blobs = [entry for entry in git.tree(tree, recursive=True) if entry.type == "blob"]
    license_file = next((entry for entry in blobs if _is_license(entry.path)), None)
    return Composition(
        languages=tuple(languages(world, repository).items()),
        kilobytes=-(-sum(entry.size or 0 for entry in blobs) // 1024),
        license=_license_key(git, license_file.sha) if license_file else None,
        license_path=license_file.path if license_file else None,
    )


def _is_license(path: str) -> bool:
    return "/" not in path and path.lower().split(".")[0] in _LICENSE_NAMES


def _license_key(git: GitRepository, sha: str) -> str:
    text = " ".join((git.blob(sha) or b"")[:4000].decode(errors="replace").lower().split())
    return next((key for sign, key in _LICENSE_SIGNS if sign in text), "other")


_LANGUAGES = {
    "C": ("c",), "C#": ("cs",), "C++": ("cc", "cpp", "cxx", "hpp"), "CSS": ("css",), "Dart": ("dart",),
    "Elixir": ("ex", "exs"), "Go": ("go",), "HTML": ("htm", "html"), "Haskell": ("hs",), "Java": ("java",),
    "JavaScript": ("cjs", "js", "jsx", "mjs"), "Kotlin": ("kt", "kts"), "Lua": ("lua",), "PHP": ("php",),
    "Perl": ("pl", "pm"), "Python": ("py", "pyi"), "R": ("r",), "Ruby": ("rb",), "Rust": ("rs",), "Scala": ("scala",),
    "Shell": ("bash", "sh", "zsh"), "Swift": ("swift",), "TypeScript": ("cts", "mts", "ts", "tsx"),
}  # fmt: skip
_TEXTS = {
    "INI": ("ini",), "JSON": ("json",), "Markdown": ("markdown", "md"), "TOML": ("toml",), "Text": ("txt",),
    "XML": ("xml",), "YAML": ("yaml", "yml"),
}  # fmt: skip
_BY_EXTENSION = {extension: name for name, found in {**_LANGUAGES, **_TEXTS}.items() for extension in found}


def language_of(path: str) -> str | None:
    """Return the language that a file name tells, prose and data among them."""
    name, dot, extension = path.rpartition("/")[2].rpartition(".")
    return _BY_EXTENSION.get(extension.lower()) if dot and name else None


def languages(world: World, repository: Repository) -> dict[str, int]:
    """Return the bytes in each programming language on the default branch, most first."""
    git = world.git(repository)
    tip = git.ref(f"refs/heads/{repository.default_branch}")
    sizes: Counter[str] = Counter()
    for entry in git.tree(tip, recursive=True) if tip else ():
        language = language_of(entry.path)
        if entry.type == "blob" and language in _LANGUAGES:
            sizes[language] += entry.size or 0
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))


def primary_language(world: World, repository: Repository) -> str | None:
    """Return the language most of a repository is written in."""
    return next(iter(languages(world, repository)), None)
