"""Masking: what a definition was trusted with is hidden in whatever it says."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

STARS = "***"
LEAST_SECRET = 6
"""Characters."""
WORDS = frozenset(
    """
    Normal Unknown Warning absent answered applied cancelled checkpoint conditions deadline deferred description effect
    ensure errors events failed finalizers input lastTransitionTime loaded manual message observed observedGeneration
    proposals reason rejected request reserve result schema schemas severity status unknown unobserved unusable workflow
    """.split()
)
"""Of what is said between a server and a runner: one that stands alone says nothing about a secret that reads so."""


def mask(secrets: Iterable[str]) -> Callable[[str], str]:
    """Puts stars where a secret stands. One that is as short as a word would blank out words, and is left."""
    forms = {form for one in secrets if len(one) >= LEAST_SECRET for form in _forms(one)}
    if not forms:
        return str
    found = re.compile("|".join(map(re.escape, sorted(forms, key=lambda form: (-len(form), form)))))
    return lambda text: found.sub(STARS, text)


def masked(value: Any, hide: Callable[[str], str]) -> Any:
    """What was said, as JSON, with every text and every key of it gone through `hide`."""
    match value:
        case str():
            return value if value in WORDS else hide(value)
        case list():
            return [masked(one, hide) for one in value]
        case dict():
            return {masked(key, hide): masked(one, hide) for key, one in value.items()}
        case _:
            return value


def _forms(secret: str) -> Iterator[str]:
    """As it is, and as programs print and send it."""
    raw = os.fsencode(secret)
    yield from (secret, repr(secret)[1:-1], ascii(secret)[1:-1], repr(raw)[2:-1])
    yield repr(secret + "'\"")[1:-4]  # as part of a text with quotes of both sorts
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (quote(raw), quote(raw, safe=""), quote_plus(raw))
    for before in range(3):  # what stands before it in base64 moves its bits
        for encoded in (base64.b64encode, base64.urlsafe_b64encode):
            text = encoded(bytes(before) + raw).decode()
            yield text[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6]
