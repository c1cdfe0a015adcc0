"""Masking: stars in the place of a secret, in the forms in which programs spell one by accident."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from urllib.parse import quote, quote_plus

STARS = b"***"
LEAST_SECRET = 6
"""Characters."""


def mask(secrets: Iterable[str], written: Callable[[str], str] = str) -> Callable[[bytes], bytes]:
    """Puts stars where a secret stands, `written` as the text is that it stands in.

    One that is as short as a word would blank out words, and is left.
    """
    spelled = {written(form) for one in secrets if len(one) >= LEAST_SECRET for form in forms(one)}
    known = sorted((one.encode(errors="surrogateescape") for one in spelled), key=len, reverse=True)

    def masked(text: bytes) -> bytes:
        for one in known:
            text = text.replace(one, STARS)
        return text

    return masked


def forms(secret: str) -> frozenset[str]:
    """As it stands, in Python's words, in JSON, in an address, and in base64 among whatever else."""
    raw = secret.encode(errors="surrogateescape")
    python = {repr(secret)[1:-1], repr(secret + "'\"")[1:-4], ascii(secret)[1:-1], repr(raw)[2:-1]}
    spelled = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    quoted = {quote(raw), quote(raw, safe=""), quote_plus(raw)}
    return frozenset({secret} | python | spelled | quoted | _in_base64(raw))


def _in_base64(raw: bytes) -> set[str]:
    """The letters that are all its own, at each of the three places where it may begin in a group."""
    found = set()
    for before in range(3):
        first, last = -(-before * 4 // 3), (before + len(raw)) * 4 // 3
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(bytes(before) + raw).decode()[first:last])
    return {one for one in found if len(one) >= LEAST_SECRET}
