"""Sizes, percentiles and tokens."""

import pytest

from ghx_bench.toolsets.sizes import ESTIMATE, Size, open_ruler, percentile, total


def test_a_text_is_measured_in_characters_bytes_and_tokens() -> None:
    assert ESTIMATE.measure("grün") == Size(characters=4, bytes=5, tokens=1)
    assert ESTIMATE.measure("") == Size(characters=0, bytes=0, tokens=0)
    assert ESTIMATE.measure("12345").tokens == 2


def test_what_is_no_text_is_measured_all_the_same() -> None:
    assert ESTIMATE.measure("\ud800").bytes == 1


def test_json_is_measured_without_space() -> None:
    assert ESTIMATE.measure_json({"a": [1, 2]}).characters == len('{"a":[1,2]}')


def test_sizes_add_up() -> None:
    assert total([ESTIMATE.measure("1234"), ESTIMATE.measure("5")]) == Size(characters=5, bytes=5, tokens=2)


@pytest.mark.parametrize(("percent", "value"), [(50, 5), (95, 10), (100, 10), (10, 1), (1, 1)])
def test_a_percentile_is_one_of_the_values(percent: int, value: int) -> None:
    assert percentile([10, 1, 2, 3, 4, 5, 6, 7, 8, 9], percent) == value


def test_nothing_has_no_percentile() -> None:
    assert percentile([], 50) is None


def test_tokens_are_counted_with_a_vocabulary_from_a_package() -> None:
    pytest.importorskip("bpe_openai", reason="the extra `tokens` is not installed")
    ruler = open_ruler()

    assert not ruler.is_estimate
    assert ruler.tokenizer.startswith("o200k_base")
    assert ruler.measure("hello world").tokens == 2
    assert ruler.measure("<|endoftext|>").tokens > 1  # a text in an answer, not the end of one
