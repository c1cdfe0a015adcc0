"""Secrets out of what a job wrote, with their values at hand and without."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.masking import MASK, NOTHING, Digest, Mask, digest_of, own_key, recalled, remember

KEY = b"k" * 32


def by_digests(*values: str) -> Mask:
    return Mask(digests=[Digest(len(value), digest_of(value.encode(), KEY)) for value in values], key=KEY)


@pytest.mark.req("S19")
@pytest.mark.parametrize("mask", [Mask(["sesame-open"]), by_digests("sesame-open")], ids=["values", "digests"])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"the word is sesame-open, say it", b"the word is ***, say it"),
        (b"sesame-opensesame-open", b"******"),
        (b"sesame and open", b"sesame and open"),
        (b"", b""),
        (b"\xff\xfe sesame-open \x00", b"\xff\xfe *** \x00"),
    ],
)
def test_a_value_is_masked_wherever_it_stands(mask: Mask, text: bytes, shown: bytes) -> None:
    assert mask.over(text) == shown


@pytest.mark.req("S19")
def test_a_short_value_is_a_word_of_every_other_text() -> None:
    assert Mask(["ok", "12345"]).over(b"all is ok, 12345 times") == b"all is ok, 12345 times"
    assert NOTHING.longest == 0


def test_each_line_of_a_value_is_masked_on_its_own() -> None:
    key = "-----BEGIN-----\nabcdefgh\nij\n-----END-----"
    assert Mask([key]).over(b"> abcdefgh\n> ij\n") == b"> ***\n> ij\n"


def test_the_longer_value_goes_first() -> None:
    assert Mask(["secret", "secret-and-more"]).over(b"secret-and-more secret") == b"*** ***"


def test_the_beginning_of_a_value_at_the_end_waits_for_its_rest() -> None:
    mask = Mask(["sesame-open"])
    assert (mask.over(b"word: sesame-op"), mask.over(b"word: se")) == (b"word: ", b"word: se")
    assert mask.over(b"word: sesame-open\n") == b"word: ***\n"


@given(st.lists(st.text("abc", min_size=6, max_size=9), max_size=3), st.text("abc", max_size=60))
def test_no_value_is_left_and_digests_mask_what_values_mask(values: list[str], text: str) -> None:
    data = text.encode()
    shown = Mask(values).over(data)
    assert not any(value.encode() in shown for value in values)
    if len(values) == 1:
        masked = by_digests(*values).over(data)
        assert masked[: len(shown)] == shown
        assert values[0].encode() not in masked


def test_what_is_written_down_tells_no_value(tmp_path: Path) -> None:
    key = own_key(tmp_path)
    assert own_key(tmp_path) == key
    folder = tmp_path / "instance"
    folder.mkdir()
    remember(folder, {"TOKEN": "sesame-open", "PIN": "12"}, key)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sesame" not in written
    assert recalled(folder, None, key).over(b"sesame-open") == MASK
    assert recalled(folder, None, b"another key" * 3).over(b"sesame-open") == b"sesame-open"
    assert recalled(tmp_path, None, key) is NOTHING
