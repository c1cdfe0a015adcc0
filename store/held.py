"""A connection that one task holds: its transactions begin and end by plain statements of the driver."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from store.errors import Failed, Full


class Held:
    """SQLAlchemy's own way to begin and end costs some 40 µs, a statement of the driver two.

    Statements built on the spot may still run through `connection`: they find the transaction open.
    """

    __slots__ = ("connection", "dialect", "driver", "errors")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.dialect = connection.dialect
        self.driver: Any = connection.connection.dbapi_connection
        self.errors: tuple[type[Exception], ...] = (DBAPIError, connection.dialect.loaded_dbapi.Error)
        """What a failing statement raises, built on the spot or prepared."""

    @property
    def in_transaction(self) -> bool:
        return bool(self.driver.in_transaction)

    def begin(self, *, writing: bool) -> None:
        self.driver.execute("BEGIN IMMEDIATE" if writing else "BEGIN")

    def commit(self) -> None:
        self.driver.execute("COMMIT")
        self._forget()

    def rollback(self) -> None:
        """Also where the database has given the transaction up already."""
        if self.in_transaction:
            self.driver.execute("ROLLBACK")
        self._forget()

    def savepoint(self) -> None:
        self.driver.execute("SAVEPOINT request")

    def release(self) -> None:
        self.driver.execute("RELEASE request")

    def undo(self) -> None:
        """Back to the savepoint, which is gone then."""
        self.driver.execute("ROLLBACK TO request")
        self.driver.execute("RELEASE request")

    def _forget(self) -> None:
        if self.connection.in_transaction():
            self.connection.rollback()


def named(error: BaseException) -> BaseException:
    """What SQLite could not do under the store's own names, a full disk apart."""
    cause = getattr(error, "orig", error)
    if not isinstance(cause, sqlite3.OperationalError):
        return error
    found = Full() if "full" in str(cause) else Failed(str(cause))
    found.__cause__ = error
    return found
