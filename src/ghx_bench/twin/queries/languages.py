"""Which languages the files of a repository are written in, judged by their names."""

from collections import Counter

from ghx_bench.twin.state.records import Repository
from ghx_bench.twin.world import World

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
