"""The node's own secret: made before the first join, kept where only the agent can read it."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import NamedTuple

from agent.errors import SettingsRefused
from agent.files import replace

TOKEN = re.compile(r"([A-Za-z0-9_-]{16,128})(?:\.([0-9a-f]{64}))?", re.ASCII)


class Token(NamedTuple):
    """A join token: its secret, and the digest of the server's CA when the server is on another machine."""

    secret: str
    ca_sha256: str


def parse_token(text: str) -> Token:
    """Raises SettingsRefused without repeating what was given."""
    match = TOKEN.fullmatch(text.strip())
    if match is None:
        raise SettingsRefused("the join token is not one that `rmctl node token` prints")
    return Token(match[1], match[2] or "")


def keep(path: Path) -> str:
    """The credential in the file, made if there is none: 256 bits."""
    try:
        found = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        found = ""
    if not found:
        found = secrets.token_urlsafe(32)
        replace(path, found.encode() + b"\n")
    return found
