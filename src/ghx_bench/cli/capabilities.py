"""`ghx capabilities`: what there is to call."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ghx_bench._base.problems import did_you_mean, plain
from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.index import ENTRIES
from ghx_bench.cli.argument_parser import Parser, chosen
from ghx_bench.cli.output import write_json
from ghx_bench.cli.usage import UsageError

_GROUP = """Say what there is to call.

  list [DOMAIN]     List capabilities: id, inputs, what they do.
  explain TASK      Say everything about one.
  search WORD ...   List those that have to do with all of some words, or the nearest.

Each takes --json."""

_MOST_NEAREST = 8


def main(arguments: Sequence[str]) -> int:
    """Run the command of this group that is named."""
    group = Parser("ghx capabilities", _GROUP, usage="ghx capabilities list|explain|search ...", add_help=False)
    return chosen(arguments, {"list": list_, "explain": explain, "search": search}, group)


def list_(arguments: Sequence[str]) -> int:
    """List capabilities."""
    parser = Parser("ghx capabilities list", "List capabilities: id, inputs (in brackets if optional), what they do.")
    parser.add_argument("domain", nargs="?", help="only those of this domain: " + ", ".join(_domains()))
    parser.add_switch("--json", "as JSON")
    options = parser.read(arguments)
    if options.domain not in {None, *_domains()}:
        raise UsageError(f"no domain {options.domain!r}; {did_you_mean(options.domain, _domains())}")
    _show([each for each in ENTRIES.values() if options.domain in {None, each.domain}], as_json=options.json)
    return 0


def explain(arguments: Sequence[str]) -> int:
    """Say everything about one capability."""
    parser = Parser("ghx capabilities explain", "Say what one capability takes and gives, with an example.")
    parser.add_argument("task", help="the id of a capability, such as issue.view")
    parser.add_switch("--json", "as JSON, with the schemas of input and output")
    options = parser.read(arguments)
    from ghx_bench.capabilities.registry import capability
    from ghx_bench.cli.schema_text import explained, in_words

    called = capability(options.task)
    if options.json:
        write_json(explained(called))
    else:
        print(in_words(called))  # noqa: T201 - the command line
    return 0


def search(arguments: Sequence[str]) -> int:
    """List the capabilities that have to do with some words, the best first."""
    parser = Parser(
        "ghx capabilities search", "List the capabilities that have to do with all of some words, or the nearest."
    )
    parser.add_argument("word", nargs="+", help="words, such as: close issue")
    parser.add_switch("--json", "as JSON")
    options = parser.read(arguments)
    words = [plain(word) for each in options.word for word in each.split()]
    if not words:
        parser.error("name a word to search for, such as: close issue")
    ranked = sorted(
        ((_likeness(each, words), each) for each in ENTRIES.values()), key=lambda pair: pair[0], reverse=True
    )
    found = [each for likeness, each in ranked if likeness.words == len(words)]
    if not found and not options.json:
        return _show_nearest([each for likeness, each in ranked if likeness.words])
    _show(found, as_json=options.json)
    return 0


class _Likeness(NamedTuple):
    """How many of some words a capability has to do with, and how much; more is more like."""

    words: int
    weight: int


def _likeness(known: Entry, words: Iterable[str]) -> _Likeness:
    """Compare a capability with words: its id counts twice what its description counts."""
    name, text = plain(known.id), plain(f"{known.description} {known.inputs}")
    hits = [2 * (word in name or word.rstrip("s") in name) + (word.rstrip("s") in text) for word in words]
    return _Likeness(words=sum(map(bool, hits)), weight=sum(hits))


def _show_nearest(some: Sequence[Entry]) -> int:
    """Say that nothing has all of the words that were looked for, and show what has the most of them."""
    if not some:
        return _say("Nothing has any of these words; `ghx capabilities list` lists what there is.")
    _say("Nothing has all of these words. The nearest:")
    _show(some[:_MOST_NEAREST], as_json=False)
    return 0


def _say(text: str) -> int:
    print(text)  # noqa: T201 - the command line
    return 0


def _domains() -> list[str]:
    return list(dict.fromkeys(each.domain for each in ENTRIES.values()))


def _show(found: Sequence[Entry], *, as_json: bool) -> None:
    if as_json:
        write_json(
            [
                {"id": each.id, "effect": each.effect, "inputs": each.inputs, "description": each.description}
                for each in found
            ]
        )
        return
    for each in found:
        mark = "" if each.effect == "reads" else f" ({each.effect})"
        print(f"{each.id} {each.inputs}: {each.description}{mark}")  # noqa: T201 - the command line
