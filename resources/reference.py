"""`Ref`: kind, project and name; how one resource speaks of another."""

from __future__ import annotations

from typing import NamedTuple

from resources.names import shown


class Ref(NamedTuple):
    """`project` is empty for cluster-wide kinds."""

    kind: str
    name: str
    project: str = ""

    def __str__(self) -> str:
        return shown(self.kind, self.name)
