"""A transaction as statements see it: a connection, the clock when it runs, and what to tell after COMMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.sql import Executable

from resources.reference import Ref
from store.errors import ReadOnly
from store.held import Held
from store.statements import Statement

Parameters = dict[str, Any] | Sequence[Mapping[str, Any]] | None


def _nothing_new() -> str:
    raise ReadOnly


class Tx:
    """`notes` are handed to the store's listeners, in order, once COMMIT has returned.

    A rolled-back request leaves none. `spoilt` is for lists: where there is one, rows that rotted go there, and the
    rest is read; without one they are an error.
    """

    __slots__ = ("_dialect", "_driver", "connection", "new_uuid", "notes", "now", "spoilt", "writable")

    def __init__(self, held: Held, now: float, *, writable: bool, new_uuid: Any = None) -> None:
        self.connection = held.connection
        self._driver = held.driver
        self._dialect = held.dialect
        self.now = now
        self.writable = writable
        self.new_uuid = new_uuid or _nothing_new
        self.notes: list[object] = []
        self.spoilt: dict[Ref, None] | None = None

    def execute(self, statement: Statement | Executable, parameters: Parameters = None) -> Any:
        """Rows of a prepared statement, or SQLAlchemy's result of one built on the spot."""
        if isinstance(statement, Statement):
            return statement.run(self._driver, self._dialect, parameters)
        return self.connection.execute(statement, parameters)

    def write(self, statement: Statement | Executable, parameters: Parameters = None) -> Any:
        if not self.writable:
            raise ReadOnly
        return self.execute(statement, parameters)

    def note(self, value: object) -> None:
        self.notes.append(value)
