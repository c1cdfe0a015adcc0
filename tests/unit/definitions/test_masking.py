"""A secret is masked in whatever form a program spells it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest

from controllers.definitions.masking import mask

SECRET = "s3ntinel-Tök\"en/\\v'al+??>>12"
PLAIN = "correct-horse"


@pytest.mark.req("T57", "S19")
@pytest.mark.parametrize(
    "spell",
    [
        str,
        repr,
        ascii,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: repr(text.encode()),
        lambda text: repr({text: 1}),
        quote,
        lambda text: quote(text, safe=""),
        quote_plus,
        lambda text: urlencode({"token": text}),
    ],
)
@pytest.mark.parametrize("secret", [SECRET, SECRET.replace('"', ""), SECRET.replace("'", ""), PLAIN])
def test_what_programs_make_of_a_secret_is_masked_whole(secret: str, spell: Callable[[str], str]) -> None:
    said = mask([secret])(spell(f"a {secret} z").encode()).decode()
    wanted = spell("a * z").replace("%2A", "*").replace("*", "***")
    assert said.replace('"', "'") == wanted.replace('"', "'")  # which of the two repr chooses


@pytest.mark.req("T57", "S19")
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("user", ["", "u", "us", "user:"])
@pytest.mark.parametrize("secret", [SECRET, PLAIN])
def test_a_secret_among_others_in_base64_is_masked(secret: str, user: str, encode: Callable[[bytes], bytes]) -> None:
    """What is left is of its neighbours, and a digit on each side that holds some of their bits."""
    said = mask([secret])(encode(f"{user}{secret} z".encode())).decode().rstrip("=")
    before, after = said.split("***")
    assert (len(before), len(after) in (3, 4)) == (-(-len(user) * 4 // 3), True)


def test_what_is_as_short_as_a_word_is_left() -> None:
    assert mask(["ef", "token"])(b"an efficient token") == b"an efficient token"
