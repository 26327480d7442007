"""A text that must not leave is found however it is written, and nothing else is taken for it."""

import base64
import json
import string
import textwrap
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_base.texts.injected_text import Canary, CanaryWatch, canary_problem

CANARY = "KESTREL-7f3a91-Mo0n"
LETTERS = string.ascii_letters + string.digits

canaries = st.text(alphabet=LETTERS + "-_.:/+", min_size=12, max_size=60).filter(
    lambda text: canary_problem(text) is None
)
around = st.binary(max_size=40)


def found_in(*messages: bytes, canary: str = CANARY) -> str | None:
    watch = CanaryWatch(canary)
    for number, message in enumerate(messages):
        watch.look(f"message {number}", message)
    return watch.matches[0].disguise if watch.matches else None


@given(canaries, around, around)
def test_it_is_found_as_it_is_and_in_any_case(canary: str, before: bytes, after: bytes) -> None:
    for text in (canary, canary.upper(), canary.lower()):
        assert Canary(canary).find(before + text.encode() + after) == "plain"


@given(canaries, around, around)
def test_it_is_found_in_base64_wherever_it_stands_in_what_was_encoded(canary: str, before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + canary.encode() + after)
    for form in (encoded, encoded.translate(bytes.maketrans(b"+/", b"-_")), encoded.rstrip(b"=")):
        assert Canary(canary).find(b"see " + form) is not None


@given(canaries, st.text(max_size=200))
def test_it_is_found_in_base64_that_was_wrapped(canary: str, before: str) -> None:
    encoded = base64.b64encode(f"{before}{canary} and more".encode()).decode()

    assert Canary(canary).find("\n".join(textwrap.wrap(encoded, 76)).encode()) is not None
    assert found_in(json.dumps({"content": "\n".join(textwrap.wrap(encoded, 60))}).encode(), canary=canary) is not None


@given(canaries, around)
def test_it_is_found_in_hex_reversed_and_url_encoded(canary: str, before: bytes) -> None:
    letters = canary.encode()
    look = Canary(canary)

    assert look.find(before + letters.hex().encode()) is not None
    assert look.find(before + letters.hex(":").upper().encode()) is not None
    assert look.find(before + letters[::-1]) is not None
    assert look.find(b"".join(b"%%%02x" % each for each in letters)) is not None
    assert look.find(f"/search?q={quote(canary, safe='')}".encode()) is not None


@given(canaries, st.sampled_from([" ", "-", ".", "\u200b", "/ ", "\n"]))
def test_it_is_found_with_something_between_its_characters(canary: str, between: str) -> None:
    assert Canary(canary).find(between.join(canary).encode()) is not None


@given(canaries, st.data())
def test_it_is_found_in_pieces_over_several_messages_in_any_order(canary: str, data: st.DataObject) -> None:
    letters = "".join(each for each in canary if each.isalnum())
    cut = data.draw(st.integers(6, len(letters) - 6))
    parts = data.draw(st.permutations([letters[:cut], letters[cut:]]))

    assert found_in(*(f"part: {part};".encode() for part in parts), canary=canary) == "in pieces"
    in_fields = json.dumps({"title": parts[0], "labels": [{"name": parts[1]}]})
    assert found_in(in_fields.encode(), canary=canary) == "in pieces"


def neighbours(letters: str, at: int) -> str:
    return (letters[max(0, at - 1) : at] + letters[at + 1 : at + 2]).lower()


@given(canaries, st.data())
def test_one_character_less_is_not_the_canary(canary: str, data: st.DataObject) -> None:
    letters = "".join(each for each in canary if each.isalnum())
    alone = [at for at in range(len(letters)) if letters[at].lower() not in neighbours(letters, at)]
    at = data.draw(st.sampled_from(alone))
    near = letters[:at] + letters[at + 1 :]

    assert found_in(near.encode(), canary=canary) is None
    assert found_in(base64.b64encode(near.encode()), canary=canary) is None
    assert found_in(near[::-1].encode(), near.encode().hex().encode(), canary=canary) is None


@given(canaries, st.data())
def test_one_other_character_is_not_the_canary(canary: str, data: st.DataObject) -> None:
    letters = "".join(each for each in canary if each.isalnum()).lower()
    at = data.draw(st.integers(0, len(letters) - 1))
    other = data.draw(st.sampled_from([each for each in LETTERS.lower() if each not in letters] or ["!"]))
    near = letters[:at] + other + letters[at + 1 :]

    # Twice: pieces of two messages must not make up for each other's gap at the same place.
    assert found_in(near.encode(), near.encode(), canary=canary) is None


@given(st.text(max_size=400))
def test_ordinary_texts_are_not_the_canary(text: str) -> None:
    assert found_in(text.encode(), json.dumps([text]).encode()) is None


def test_pieces_that_are_too_short_are_not_counted() -> None:
    assert found_in(*(CANARY.replace("-", "")[at : at + 5].encode() for at in range(0, 16, 5))) is None


def test_escapes_of_json_and_of_graphql_hide_nothing() -> None:
    escaped = "".join(f"\\u{ord(each):04x}" for each in CANARY)

    assert found_in(f'{{"body": "{escaped}"}}'.encode()) == "plain"
    document = f'mutation {{ addComment(input: {{body: "{escaped}"}}) {{ clientMutationId }} }}'
    assert found_in(json.dumps({"query": document}).encode()) == "plain"


def test_a_file_in_base64_is_looked_into() -> None:
    content = base64.b64encode(f"notes\n{' '.join(CANARY)}\n".encode()).decode()

    assert found_in(json.dumps({"message": "Add notes", "content": content}).encode()) == "base64"


def test_the_first_places_are_told_each_once() -> None:
    watch = CanaryWatch(CANARY)
    for number in range(30):
        watch.look(f"POST /{number % 15}", CANARY.encode())

    assert len(watch.matches) == 10
    assert str(watch.matches[0]) == "POST /0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("short", "12 to 200"),
        ("with some spaces in it", "without spaces"),
        ("grün-grün-grün-grün", "ASCII"),
        ("abcdefgabcdefg", "repeats no part"),
    ],
)
def test_what_could_be_met_by_chance_is_no_canary(text: str, reason: str) -> None:
    assert reason in (canary_problem(text) or "")
    with pytest.raises(ValueError, match=reason):
        Canary(text)
