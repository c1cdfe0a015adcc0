"""Broken promises of the store, each named for what happened."""

from __future__ import annotations

from pathlib import Path

from resources.instants import rfc3339
from resources.reference import Ref


class StoreError(Exception):
    """Anything the store refuses."""


class NotFound(StoreError):
    def __init__(self, ref: Ref) -> None:
        super().__init__(f"{ref} not found")
        self.ref = ref


class AlreadyExists(StoreError):
    def __init__(self, ref: Ref) -> None:
        super().__init__(f"{ref} already exists")
        self.ref = ref


class Conflict(StoreError):
    """The resource moved since it was read. Read again and decide again."""

    def __init__(self, ref: Ref, expected: int, found: int) -> None:
        super().__init__(f"{ref}: changed since you read it (have {expected}, now {found})")
        self.ref = ref
        self.expected = expected
        self.found = found


class BeingDeleted(StoreError):
    def __init__(self, ref: Ref, since: float) -> None:
        super().__init__(f"{ref}: is being deleted since {rfc3339(float(int(since)))}")
        self.ref = ref
        self.since = since


class ClaimLost(StoreError):
    """Another worker owns the key, or the lease ran out: nothing of this pass may be written."""

    def __init__(self, what: object) -> None:
        super().__init__(f"the claim on {what} is no longer held")


class EffectMismatch(StoreError):
    """An effect key stands for one request; another one needs another key."""

    def __init__(self, key: str, stored: str, asked: str) -> None:
        super().__init__(f"effect {key}: recorded with {stored}, asked with {asked}")
        self.key = key


class Short(StoreError):
    """A guard of the ledger answered short: the node cannot take the claim."""

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


MIB = 1024 * 1024


class TooLarge(StoreError):
    def __init__(self, what: str, size: int, limit: int) -> None:
        whole = f"{what} is {size} bytes, limit is {limit} (1 MiB)"
        super().__init__(whole if limit == MIB else f"{what} limit is {limit} bytes, this one has {size}")
        self.what = what
        self.size = size
        self.limit = limit


class ReadOnly(StoreError):
    def __init__(self) -> None:
        super().__init__("this handle only reads")


class WriteInsideWrite(StoreError):
    def __init__(self) -> None:
        super().__init__("a write was started inside a write")


class Corrupt(StoreError):
    def __init__(self, ref: Ref) -> None:
        super().__init__(f"{ref}: stored row does not match its checksum")
        self.ref = ref


class Refused(StoreError):
    """The data folder cannot be used: held by another server, on a network file system, of a newer schema."""


class Owned(Refused):
    """Another server, or another command, has the data folder."""


class Newer(Refused):
    """The database has a schema that only a newer program knows."""

    def __init__(self, found: str, known: str, backup: Path | None = None) -> None:
        instead = f", or restore {backup}, made before the upgrade" if backup else ""
        super().__init__(
            f"the database has schema {found}, this program knows up to {known}: use the newer rmctl{instead}"
        )
        self.found = found
        self.known = known


class Failed(StoreError):
    """The database could not write: nothing is stored, and the same write may work later."""


class Full(Failed):
    def __init__(self) -> None:
        super().__init__("disk full")
