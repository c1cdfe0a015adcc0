"""The table of `get`: one NAME column that pastes into every other verb."""

from __future__ import annotations

from collections.abc import Sequence

from cli.durations import age
from cli.tables import lines
from cli.views.finalizers import first_blocker
from cli.views.registry import view
from cli.views.wire import Document, World, metadata, ready, status, title

HEADER = ("NAME", "READY", "REASON", "AGE", "WHERE", "DETAIL")
WIDE = ("GENERATION", "ADDRESS", "LABELS")
READY_COLUMN = 1


def header(*, wide: bool = False) -> tuple[str, ...]:
    return (*HEADER[:-1], *WIDE, HEADER[-1]) if wide else HEADER


def rows(found: Sequence[Document], world: World, *, wide: bool = False) -> list[tuple[str, ...]]:
    return [row(item, world, wide=wide) for item in found]


def row(item: Document, world: World, *, wide: bool = False) -> tuple[str, ...]:
    state, cells = ready(item), view(item).row(item, world)
    since = world.since(metadata(item).get("creationTimestamp"))
    left = (title(item), state.status, state.reason, age(since) if since is not None else "-", cells.where)
    detail = first_blocker(item, world) or cells.detail
    return (*left, *_wide(item), detail) if wide else (*left, detail)


def _wide(item: Document) -> tuple[str, ...]:
    generation, observed = metadata(item).get("generation", 0), status(item).get("observedGeneration", 0)
    labels = ",".join(f"{key}={value}" for key, value in sorted((metadata(item).get("labels") or {}).items()))
    return (f"{observed}/{generation}", str(status(item).get("address") or "-"), labels or "-")


def table(cells: Sequence[Sequence[str]]) -> list[str]:
    return lines(cells, tinted=READY_COLUMN)


def advice(found: Sequence[Document]) -> str:
    """One line about what is not ready; empty when all is well. A job explains more than its bundle."""
    bad = [item for item in found if ready(item).status != "True"]
    if not bad:
        return ""
    first = next((item for item in bad if item.get("kind") == "job"), bad[0])
    return f"{len(bad)} not ready. Next: rmctl why {title(first)}"
