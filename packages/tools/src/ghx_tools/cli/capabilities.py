"""`ghx capabilities`: list, explain and search capabilities."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ghx_base.problems import did_you_mean, plain
from ghx_tools.capabilities.entries import Entry
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.cli.argument_parser import Parser, run_subcommand
from ghx_tools.cli.output import write_json
from ghx_tools.cli.usage import UsageError

_GROUP = """Say what there is to call.

  list [DOMAIN]     List capabilities: id, inputs, what they do.
  explain TASK      Say everything about one.
  search WORD ...   List those that have to do with all of some words, or the nearest.

Each takes --json."""

_MOST_NEAREST = 8


def main(arguments: Sequence[str]) -> int:
    """Run the command of this group that is named."""
    group = Parser("ghx capabilities", _GROUP, usage="ghx capabilities list|explain|search ...", add_help=False)
    return run_subcommand(arguments, {"list": list_, "explain": explain, "search": search}, group)


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
    from ghx_tools.capabilities.registry import capability
    from ghx_tools.cli.schema_text import describe, to_wire

    called = capability(options.task)
    if options.json:
        write_json(to_wire(called))
    else:
        print(describe(called))
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
        ((_compare(each, words), each) for each in ENTRIES.values()), key=lambda pair: pair[0], reverse=True
    )
    results = [each for match, each in ranked if match.words == len(words)]
    if results or options.json:
        _show(results, as_json=options.json)
    else:
        _show_nearest([each for match, each in ranked if match.words])
    return 0


class _Match(NamedTuple):
    """How many of some words a capability has, and how prominently; more sorts higher."""

    words: int
    weight: int


def _compare(entry: Entry, words: Iterable[str]) -> _Match:
    """Compare a capability with words: a hit in its id counts twice as much as one in its description."""
    name, text = plain(entry.id), plain(f"{entry.description} {entry.inputs}")
    # Without a final s, so that "labels" finds "label" and the other way round.
    hits = [2 * (word in name or word.rstrip("s") in name) + (word.rstrip("s") in text) for word in words]
    return _Match(words=sum(map(bool, hits)), weight=sum(hits))


def _show_nearest(some: Sequence[Entry]) -> None:
    """Say that nothing has all of the words that were looked for, and show what has the most of them."""
    if not some:
        print("Nothing has any of these words; `ghx capabilities list` lists what there is.")
        return
    print("Nothing has all of these words. The nearest:")
    _show(some[:_MOST_NEAREST], as_json=False)


def _domains() -> list[str]:
    return list(dict.fromkeys(each.domain for each in ENTRIES.values()))


def _show(entries: Sequence[Entry], *, as_json: bool) -> None:
    if as_json:
        write_json(
            [
                {"id": each.id, "effect": each.effect, "inputs": each.inputs, "description": each.description}
                for each in entries
            ]
        )
        return
    for each in entries:
        mark = "" if each.effect == "reads" else f" ({each.effect})"
        print(f"{each.id} {each.inputs}: {each.description}{mark}")
