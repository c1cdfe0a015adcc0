"""Which secrets there are: names, keys, a keyed digest of each value and when it was set; never a value."""

from __future__ import annotations

from typing import NamedTuple

from store import remarks
from store.tx import Tx

PREFIX = "secret/"


class SecretKey(NamedTuple):
    """`at` in unix seconds."""

    project: str
    name: str
    key: str
    digest: str
    at: float


def put(tx: Tx, project: str, name: str, key: str, digest: str) -> None:
    remarks.put(tx, _remark(project, name, key), {"digest": digest, "at": tx.now})


def remove(tx: Tx, project: str, name: str, key: str | None = None) -> int:
    """One key, or all of a secret; how many went."""
    if key is not None:
        return int(remarks.remove(tx, _remark(project, name, key)))
    return sum(remarks.remove(tx, remark) for remark in remarks.below(tx, _remark(project, name, "")))


def list_all(tx: Tx, project: str | None = None) -> tuple[SecretKey, ...]:
    """By project, name and key."""
    prefix = PREFIX if project is None else f"{PREFIX}{project}/"
    found = []
    for remark, value in remarks.below(tx, prefix).items():
        _, where, name, key = remark.split("/", 3)
        found.append(SecretKey(where, name, key, str(value["digest"]), float(value["at"])))
    return tuple(found)


def stands(tx: Tx, project: str, name: str, key: str) -> bool:
    return remarks.find(tx, _remark(project, name, key)) is not None


def _remark(project: str, name: str, key: str) -> str:
    return f"{PREFIX}{project}/{name}/{key}"
