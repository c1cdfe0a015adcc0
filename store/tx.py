"""A transaction as statements see it: a connection, the clock when it runs, and what to tell after COMMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.sql import Executable

from store.errors import ReadOnly

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


class Tx:
    """`notes` are handed to the store's listeners, in order, once COMMIT has returned.

    A rolled-back request leaves none.
    """

    __slots__ = ("connection", "new_uuid", "notes", "now", "writable")

    def __init__(self, connection: Connection, now: float, *, writable: bool, new_uuid: Any = None) -> None:
        self.connection = connection
        self.now = now
        self.writable = writable
        self.new_uuid = new_uuid
        self.notes: list[object] = []

    def execute(self, statement: Executable, parameters: Parameters = None) -> CursorResult[Any]:
        return self.connection.execute(statement, parameters)

    def write(self, statement: Executable, parameters: Parameters = None) -> CursorResult[Any]:
        if not self.writable:
            raise ReadOnly
        return self.connection.execute(statement, parameters)

    def note(self, value: object) -> None:
        self.notes.append(value)
