"""What an agent said in the end, as checkpoints see it: the task `session.answer`."""

import re
from collections.abc import Iterable, Iterator

from pydantic import Field

from ghx_base.wire import WireModel

ANSWER_TASK = "session.answer"
"""The task of a checkpoint that looks at the agent's final answer instead of at GitHub; it takes no input."""

_AROUND = " \t\r\n.,;:!?()[]{}<>\"'`*_~|=@#$€“”‘’«»"  # noqa: RUF001 - quotes of prose are meant
_LIST_MARK = re.compile(r"^[ \t]*(\d{1,3})[.)][ \t]+(?=\S)", re.MULTILINE)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?%?")
# `1,234` and `12,345,678` are numbers with groups; `11,13,15` are three numbers, and so are `101,102,103`.
_GROUPED = re.compile(r"(?<![\d,])(?:\d{1,2}(?:,\d{3})+|\d{3},\d{3})(?![\d,])")
_PHRASE = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”")
_SEPARATOR = re.compile(r"[\s|,;={}\[\]\"“”]+|[—–→]|(?<=[^\s-])--+(?=[^\s-])|(?<=[^\W\d]):(?=[\d#@])")  # noqa: RUF001 - prose
"""What parts words: white space, commas, the bars of a table, quotes, what JSON is made of, and dashes."""

_MOST_IN_A_WORD = 2
_SHORTEST_LIST = 2


class SessionAnswer(WireModel):
    """The final answer of an agent, taken apart, so that conditions need not be about its phrasing."""

    text: str = Field(description="The answer as it is; empty where the agent gave none.")
    numbers: tuple[int | float, ...] = Field(description="The numbers in it, each once, in their order.")
    names: tuple[str, ...] = Field(
        description="Its words without punctuation around them, each once, and what it quotes, as a whole."
    )


def read_answer(text: str) -> SessionAnswer:
    """Take an answer apart.

    A number stands by itself: parts of versions, dates, times and identifiers are none, since `v1.4.2` says nothing
    of 4, and neither are those that count the items of a list. A word keeps its case and what is inside it, so that
    logins, branches, files, labels and versions are themselves; a quotation of several words is a name as well.
    """
    words = list(_words(_without_list_marks(text)))
    quotations = (next(filter(None, match.groups())).strip() for match in _PHRASE.finditer(text))
    phrases = [each for each in quotations if " " in each]
    return SessionAnswer(
        text=text,
        numbers=tuple(dict.fromkeys(_numbers(words))),
        names=tuple(dict.fromkeys((*words, *phrases))),
    )


def _without_list_marks(text: str) -> str:
    """Return a text without the numbers that count the items of a list: 1., then 2.; `137. The newest ...` is none."""
    marks = list(_LIST_MARK.finditer(text))
    numbers = [int(each[1]) for each in marks]
    if len(numbers) < _SHORTEST_LIST or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return text
    return _LIST_MARK.sub("", text)


def _words(text: str) -> Iterator[str]:
    for each in _SEPARATOR.split(_GROUPED.sub(lambda match: match[0].replace(",", ""), text)):
        word = each.strip(_AROUND)
        if any(map(str.isalnum, word)):
            yield word


def _numbers(words: Iterable[str]) -> Iterator[int | float]:
    for word in words:
        # `3/5` has two to a reader, `acme/widgets#12` and an address that ends with /12 one; 2026/03/01 is a date.
        parts = word.rpartition("#")[2].rstrip("+").split("/")
        numbers = [part for part in parts if _NUMBER.fullmatch(part)]
        for part in numbers if len(numbers) <= _MOST_IN_A_WORD else ():
            plain = part.rstrip("%")
            yield float(plain) if "." in plain else int(plain)
