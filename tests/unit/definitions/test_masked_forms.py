"""What a definition was trusted with, in every shape in which programs print and send it."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest

from controllers.definitions.channel import Channel
from controllers.definitions.masking import mask
from resources.canonical import Document

PLAIN = "correct-horse"
SECRET = """s3ntinel-T\u00f6k"en'/\\value+123"""


def heard(message: Document, *secrets: str) -> Document | None:
    """What the server's end makes of what a runner says."""
    mine, theirs = socket.socketpair()
    with mine, theirs:
        Channel(theirs).send(message)
        return Channel(mine, secrets=secrets).receive()


@pytest.mark.req("T57", "S19")
@pytest.mark.parametrize(
    "shape",
    [str, repr, json.dumps, lambda text: json.dumps(text, ensure_ascii=False), quote,
     lambda text: quote(text, safe=""), quote_plus,
     lambda text: str(KeyError(text)), lambda text: str(text.encode().decode())],
    ids=["plain", "repr", "ascii", "json", "path", "query", "form", "error", "again"],
)  # fmt: skip
def test_no_shape_of_a_secret_is_left(shape: Callable[[str], str]) -> None:
    told = heard({"failed": f"with {shape(SECRET)} in it", "status": {shape(SECRET): [shape(SECRET)]}}, SECRET)
    text = json.dumps(told, ensure_ascii=False)
    assert "***" in text
    assert [part for part in ("s3ntinel", "value", "123") if part in text] == []


@pytest.mark.req("T57")
@pytest.mark.parametrize("secret", ["applied", "status", "reason", "unknown", "failed", "events", "conditions"])
def test_a_value_that_reads_like_a_word_of_the_protocol_breaks_nothing(secret: str) -> None:
    """It is masked wherever it does not stand alone."""
    message = {
        "ask": {"effect": "answered", "key": "k", "state": "applied"},
        "status": {"status": f"it is {secret}"},
        "failed": f"{secret}!",
        "events": [{"reason": "unknown"}],
        "conditions": [],
    }
    wanted = {**message, "status": {"status": "it is ***"}, "failed": "***!"}
    assert heard(message, secret) == wanted


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
    said = mask([secret])(spell(f"a {secret} z"))
    wanted = spell("a * z").replace("%2A", "*").replace("*", "***")
    assert said.replace('"', "'") == wanted.replace('"', "'")  # which of the two repr chooses


@pytest.mark.req("T57", "S19")
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("user", ["", "u", "us", "user:"])
@pytest.mark.parametrize("secret", [SECRET, PLAIN])
def test_a_secret_among_others_in_base64_is_masked(secret: str, user: str, encode: Callable[[bytes], bytes]) -> None:
    """What is left is of its neighbours, and a digit on each side that holds some of their bits."""
    said = mask([secret])(encode(f"{user}{secret} z".encode()).decode()).rstrip("=")
    before, after = said.split("***")
    assert (len(before), len(after) in (3, 4)) == (-(-len(user) * 4 // 3), True)


def test_what_is_as_short_as_a_word_is_left() -> None:
    assert mask(["ef", "token"])("an efficient token") == "an efficient token"
