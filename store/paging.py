"""Rows of a kind a page at a time: each page begins behind the last key of the one before it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, func, or_, select

from store.rows import verified
from store.salvage import readable
from store.statements import prepared
from store.tables import resources as table
from store.tx import Tx

Key = tuple[str, str]
"""Project and name."""


def _behind(what: Select[Any]) -> Select[Any]:
    return what.where(
        table.c.kind == bindparam("k"),
        table.c.project >= bindparam("p"),
        or_(table.c.project > bindparam("p"), table.c.name > bindparam("n")),
    )


def _behind_in(what: Select[Any]) -> Select[Any]:
    return what.where(table.c.kind == bindparam("k"), table.c.project == bindparam("p"), table.c.name > bindparam("n"))


_rows = select(table).order_by(table.c.project, table.c.name).limit(bindparam("limit"))
_number = select(func.count()).select_from(table)
_of_all = prepared(_behind(_rows))
_of_one = prepared(_behind_in(_rows))
_left_of_all = prepared(_behind(_number))
_left_of_one = prepared(_behind_in(_number))


def page(tx: Tx, kind: str, project: str | None, after: Key | None, limit: int) -> tuple[Any, ...]:
    """Verified rows, at most `limit` by project and name, code points; of one project, or of all for None."""
    statement = _of_all if project is None else _of_one
    return readable(tx, tx.execute(statement, {**_values(kind, project, after), "limit": limit}), verified)


def left(tx: Tx, kind: str, project: str | None, after: Key | None) -> int:
    """How many come behind a key."""
    statement = _left_of_all if project is None else _left_of_one
    return int(tx.execute(statement, _values(kind, project, after)).scalar_one())


def _values(kind: str, project: str | None, after: Key | None) -> dict[str, str]:
    """No name is empty, so what follows the empty name is everything."""
    first, name = after or ("", "")
    return {"k": kind, "p": first if project is None else project, "n": name}
