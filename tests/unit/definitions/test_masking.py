"""What a definition was trusted with, in every shape in which programs print and send it."""

from __future__ import annotations

import base64
import json
import socket
import urllib.parse
from collections.abc import Callable

import pytest

from controllers.definitions.channel import Channel
from controllers.definitions.masking import mask
from resources.canonical import Document

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
    [str, repr, json.dumps, lambda text: json.dumps(text, ensure_ascii=False), urllib.parse.quote,
     lambda text: urllib.parse.quote(text, safe=""), urllib.parse.quote_plus,
     lambda text: str(KeyError(text)), lambda text: str(text.encode().decode())],
    ids=["plain", "repr", "ascii", "json", "path", "query", "form", "error", "again"],
)  # fmt: skip
def test_no_shape_of_a_secret_is_left(shape: Callable[[str], str]) -> None:
    told = heard({"failed": f"with {shape(SECRET)} in it", "status": {shape(SECRET): [shape(SECRET)]}}, SECRET)
    text = json.dumps(told, ensure_ascii=False)
    assert "***" in text
    assert [part for part in ("s3ntinel", "value", "123") if part in text] == []


@pytest.mark.req("T57", "S19")
@pytest.mark.parametrize("user", ["", "x", "me:", "bot:"])
def test_a_header_with_a_secret_says_no_more_than_its_ends(user: str) -> None:
    header = base64.b64encode(f"{user}correct-horse-battery".encode()).decode()
    left = mask(["correct-horse-battery"])(f"Basic {header}").removeprefix("Basic ")
    assert "***" in left
    assert len(left) <= len("***") + len(base64.b64encode(user.encode())) + 6


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
