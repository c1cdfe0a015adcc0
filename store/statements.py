"""Statements compiled once and run on the driver's own cursor: what hot paths execute."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

Values = Mapping[str, Any]
Arguments = Callable[[Values], Sequence[Any]]
"""From named values to what the driver binds, in the order of the statement's marks."""


class Rows:
    """What a query gave: rows with their columns as attributes, read as SQLAlchemy's results are."""

    __slots__ = ("_cursor", "_make")

    def __init__(self, cursor: Any, make: Any) -> None:
        self._cursor = cursor
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._cursor)

    def all(self) -> list[Any]:
        return list(map(self._make, self._cursor.fetchall()))

    def first(self) -> Any:
        """None when there is no row."""
        row = self._cursor.fetchone()
        self._cursor.close()
        return None if row is None else self._make(row)

    def scalar_one_or_none(self) -> Any:
        row = self._cursor.fetchone()
        self._cursor.close()
        return None if row is None else row[0]

    def scalar_one(self) -> Any:
        """Raises TypeError when there is no row, which is a fault of the statement."""
        row = self._cursor.fetchone()
        self._cursor.close()
        return row[0]


class Statement:
    """A Core statement and its compiled forms, one for each set of parameter names it is run with.

    Core's own look-up and result processing cost some 60 µs an execution; the columns here are texts and numbers that
    the driver speaks as they are.
    """

    __slots__ = ("_forms", "_make", "element")

    def __init__(self, element: ClauseElement) -> None:
        self.element = element
        self._forms: dict[tuple[str, ...], tuple[str, Arguments]] = {}
        self._make: Any = None

    def run(self, connection: Any, dialect: Dialect, values: dict[str, Any] | Sequence[Values] | None) -> Any:
        """Rows of a query; of anything else the driver's cursor, which tells `rowcount` and `lastrowid`."""
        if values is None or isinstance(values, dict):
            given: Values = values or {}
            names = tuple(given)
            sql, arguments = self._forms.get(names) or self._form(dialect, names)
            cursor = connection.execute(sql, arguments(given))
        else:
            rows: Sequence[Values] = values
            names = tuple(rows[0])
            sql, arguments = self._forms.get(names) or self._form(dialect, names)
            cursor = connection.executemany(sql, map(arguments, rows))
        if cursor.description is None:
            return cursor
        if self._make is None:
            self._make = _maker([column[0] for column in cursor.description])
        return Rows(cursor, self._make)

    def _form(self, dialect: Dialect, given: tuple[str, ...]) -> tuple[str, Arguments]:
        keys = None if self.element.is_select else list(given)  # type: ignore[attr-defined]
        compiled = self.element.compile(dialect=dialect, column_keys=keys)
        assert isinstance(compiled, SQLCompiler)
        names = tuple(compiled.positiontup or ())
        form = self._forms[given] = str(compiled), _arguments(names, given, compiled.construct_params(_check=False))
        return form


def prepared(element: ClauseElement) -> Statement:
    """Made once, beside the function that runs it."""
    return Statement(element)


def _arguments(names: tuple[str, ...], given: tuple[str, ...], constants: Values) -> Arguments:
    """`constants` are the values that stand in the statement itself."""
    if not names:
        return lambda _values: ()
    if not set(names) <= set(given):
        fixed = {name: constants[name] for name in names if name not in given}
        return lambda values: [values[name] if name in values else fixed[name] for name in names]
    if len(names) == 1:
        return lambda values: (values[names[0]],)
    return itemgetter(*names)


def _maker(columns: Sequence[str]) -> Callable[[Any], Any]:
    """Rows are tuples with the columns as attributes, a column before a tuple's method of that name."""
    base: Any = namedtuple("Row", columns, rename=True)  # type: ignore[misc]  # noqa: PYI024 - the query names the columns

    class Row(base):
        __slots__ = ()

        @property
        def _mapping(self) -> dict[str, Any]:
            return dict(zip(columns, self, strict=True))

    make: Callable[[Any], Any] = Row._make
    return make
