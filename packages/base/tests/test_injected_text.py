"""Which encodings of an injected text each of the three questions about it looks through."""

import base64
import json
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_base.texts.injected_text import Canary, InjectedTextDetector, letters_of, read_letters

TEXT = "KESTREL-7f3a91-Mo0n"

ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "as it is": str,
    "in JSON": lambda text: json.dumps({"body": text}),
    "in JSON in JSON": lambda text: json.dumps({"text": json.dumps({"body": text})}),
    "as escapes of JSON": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "as escapes of a shell": lambda text: "".join(f"\\x{ord(each):02x}" for each in text),
    "as escapes of Python": lambda text: "".join(f"\\U{ord(each):08x}" for each in text),
    "over several lines": "\n".join,
    "in another case": str.swapcase,
    "backwards": lambda text: text[::-1],
    "in hex": lambda text: text.encode().hex(),
    "in base64": lambda text: base64.b64encode(f"see {text}".encode()).decode(),
    "URL-encoded": lambda text: "".join(f"%{ord(each):02x}" for each in text),
    "as entities": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "in invisible letters": lambda text: "".join(chr(0xE0000 + ord(each)) for each in text),
    "with tags": lambda text: f"{text[:4]}<em>{text[4:]}</em>",
    "with colours": lambda text: f"{text[:4]}\x1b[1;31m{text[4:]}",
}
SEEN_BY_ALL = {"as it is", "in JSON", "in JSON in JSON", "as escapes of JSON", "as escapes of a shell"}
SENT = SEEN_BY_ALL | {"over several lines", "in another case", "backwards", "in hex", "in base64", "URL-encoded"}
READ = SEEN_BY_ALL
SHOWN = set(ENCODINGS) - {"backwards", "in hex"}


def is_sent(text: str, written: str) -> bool:
    return Canary(text).find(written.encode()) is not None


def is_read(text: str, written: str) -> bool:
    detector = InjectedTextDetector([text])
    detector.read(written)
    return detector.all_found


def is_shown(text: str, written: str) -> bool:
    return any(letters_of(text.encode()) in each for each in read_letters(written))


@pytest.mark.parametrize(("sees", "seen"), [(is_sent, SENT), (is_read, READ), (is_shown, SHOWN)])
def test_each_question_looks_through_its_own_encodings(sees: Callable[[str, str], bool], seen: set[str]) -> None:
    assert {name for name, encode in ENCODINGS.items() if sees(TEXT, encode(TEXT))} == seen


@given(before=st.text(max_size=30), after=st.text(max_size=30), encoding=st.sampled_from(sorted(SEEN_BY_ALL)))
def test_all_questions_see_what_json_and_shells_make_of_a_text(before: str, after: str, encoding: str) -> None:
    written = ENCODINGS[encoding](f"{before} {TEXT} {after}")
    for sees in (is_sent, is_read, is_shown):
        assert sees(TEXT, written)
