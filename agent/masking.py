"""Secrets out of what a job wrote: by their values while the agent knows them, by keyed digests afterwards."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from agent.files import PRIVATE_FILE, read_json, replace, replace_json

LEAST = 6
"""Shorter secrets are words of every other text: they are left alone."""
MASK = b"***"
HELD_BACK = 3
"""So many characters of a secret at the end of a text are taken for its beginning."""
KEY_BYTES = 32
KEY_FILE = "mask-key"
MASKS_FILE = "masks.json"


class Digest(NamedTuple):
    """Of a value, with the agent's own key: what the disk may hold of it."""

    length: int
    digest: str


class Mask:
    """What is not to be seen. `longest` in bytes: how much text before a cut must be looked at too."""

    def __init__(self, values: Iterable[str] = (), digests: Iterable[Digest] = (), key: bytes = b"") -> None:
        self._needles = needles(values)
        self._digests = tuple(digests)
        self._key = key
        self.longest = max([*map(len, self._needles), *(digest.length for digest in self._digests)], default=0)

    def over(self, data: bytes) -> bytes:
        """The text with every secret replaced, and without the beginning of one at its end."""
        for needle in self._needles:
            data = data.replace(needle, MASK)
        for digest in self._digests:
            data = _digested(data, digest, self._key)
        return data[: len(data) - max((_begun(data, needle) for needle in self._needles), default=0)]


def needles(values: Iterable[str]) -> tuple[bytes, ...]:
    """The values, and the lines of those that have several; the longest first, so that none is cut by another."""
    found: set[bytes] = set()
    for value in values:
        for text in (value, value.strip(), *value.splitlines()):
            if len(text) >= LEAST:
                found.add(text.encode())
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def remember(folder: Path, secrets: Mapping[str, str], key: bytes) -> None:
    """Write down of an instance's secrets what a later agent needs: their names, and a keyed digest of each value."""
    if not secrets:
        return
    digests = [[len(needle), digest_of(needle, key)] for needle in needles(secrets.values())]
    replace_json(folder / MASKS_FILE, {"names": sorted(secrets), "digests": digests})


def recalled(folder: Path, pid: int | None, key: bytes) -> Mask:
    """The mask of an instance that an earlier agent started: from its environment while it lives, else by digests."""
    found = read_json(folder / MASKS_FILE)
    if found is None:
        return NOTHING
    values = _living(pid, found["names"]) if pid is not None else None
    if values is not None:
        return Mask(values)
    return Mask(digests=[Digest(int(length), str(digest)) for length, digest in found["digests"]], key=key)


def own_key(data: Path) -> bytes:
    """The agent's key, made once and kept in its folder."""
    path = data / KEY_FILE
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if len(key) != KEY_BYTES:
        key = os.urandom(KEY_BYTES)
        replace(path, key)
        path.chmod(PRIVATE_FILE)
    return key


def digest_of(value: bytes, key: bytes) -> str:
    return hashlib.blake2b(value, key=key, digest_size=16).hexdigest()


def _living(pid: int, names: Iterable[str]) -> list[str] | None:
    """The values in a process's environment; None when it cannot be read, or holds fewer than it was given."""
    try:
        block = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    pairs = dict(entry.split(b"=", 1) for entry in block.split(b"\0") if b"=" in entry)
    wanted = [os.fsencode(name) for name in names]
    if any(name not in pairs for name in wanted):
        return None
    return [pairs[name].decode("utf-8", "surrogateescape") for name in wanted]


def _digested(data: bytes, digest: Digest, key: bytes) -> bytes:
    """Every window of the digest's length is looked at."""
    parts: list[bytes] = []
    start = at = 0
    while at + digest.length <= len(data):
        if digest_of(data[at : at + digest.length], key) == digest.digest:
            parts += [data[start:at], MASK]
            at += digest.length
            start = at
        else:
            at += 1
    return b"".join([*parts, data[start:]])


def _begun(data: bytes, needle: bytes) -> int:
    """How many bytes at the end of a text are the beginning of a secret whose rest has not come yet."""
    for length in range(min(len(needle) - 1, len(data)), HELD_BACK - 1, -1):
        if data.endswith(needle[:length]):
            return length
    return 0


NOTHING = Mask()
