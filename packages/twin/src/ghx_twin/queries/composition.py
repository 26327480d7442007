"""What a repository consists of: languages, size and licence, read from the default branch."""

from collections import Counter
from dataclasses import dataclass

from ghx_twin.git.repository import GitRepository
from ghx_twin.state.records import Repository
from ghx_twin.world import World

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
_MOST_ENTRIES = 10_000  # at 20 µs each; every picture of a repository waits for this, once for each tree
_KEPT = 256
_known: "dict[str, Composition]" = {}  # by the sha of a tree, which means the same in every world
_LICENSE_NAMES = ("license", "licence", "copying", "unlicense")


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """Languages, size and licence of the files of a branch."""

    languages: tuple[tuple[str, int], ...] = ()  # with their bytes, the largest first
    kilobytes: int = 0
    license: str | None = None  # GitHub's key
    license_path: str | None = None

    @property
    def language(self) -> str | None:
        """Return the language with the most bytes."""
        return self.languages[0][0] if self.languages else None


def composition(world: World, repository: Repository) -> Composition:
    """Return the composition of the default branch; an empty one where it does not exist yet."""
    git = world.git(repository)
    tip = git.ref(f"refs/heads/{repository.default_branch}")
    root = git.entry(tip, "") if tip else None
    if root is None:
        return Composition()
    summary = _known.get(root.sha)
    if summary is None:
        if len(_known) >= _KEPT:
            _known.pop(next(iter(_known)), None)
        summary = _known[root.sha] = _read(git, root.sha)
    return summary


def _read(git: GitRepository, tree: str) -> Composition:
    blobs = [entry for entry in git.tree(tree, recursive=True, most=_MOST_ENTRIES) if entry.type == "blob"]
    sizes: Counter[str] = Counter()
    for entry in blobs:
        if (language := language_of(entry.path)) in _LANGUAGES:
            sizes[language] += entry.size or 0
    top = (entry for entry in blobs if "/" not in entry.path)
    license_file = next((entry for entry in top if entry.path.lower().split(".")[0] in _LICENSE_NAMES), None)
    license_key = None
    if license_file:
        text = " ".join((git.blob(license_file.sha) or b"")[:4000].decode(errors="replace").lower().split())
        license_key = next((key for sign, key in _LICENSE_SIGNS if sign in text), "other")
    return Composition(
        languages=tuple(sorted(sizes.items(), key=lambda item: (-item[1], item[0]))),
        kilobytes=-(-sum(entry.size or 0 for entry in blobs) // 1024),
        license=license_key,
        license_path=license_file.path if license_file else None,
    )


def language_of(path: str) -> str | None:
    """Return the language of a file by its name; prose and data have one too."""
    name, dot, extension = path.rpartition("/")[2].rpartition(".")
    return _BY_EXTENSION.get(extension.lower()) if dot and name else None
