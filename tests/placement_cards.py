"""Boards for tests of devices: name only what the test is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from placement import Ask, Atom, Board, board
from resources.selector_text import parse_devices
from tests.placement_worlds import a_node


def cards(
    count: int,
    *,
    links: str | Mapping[tuple[int, int], str] = "NV4",
    numa: Iterable[int | None] = (),
    sick: Iterable[int] = (),
    parents: Mapping[int, str] | None = None,
    name: str = "gpu",
    **attributes: str,
) -> Board:
    """GPUs gpu-00, gpu-01, …; `links` is one word for all pairs or one a pair, what is not named is not known."""
    on, ill = list(numa) or [0] * count, set(sick)
    atoms = [
        Atom(
            f"{name}-{at:02}",
            "gpu",
            tuple(sorted(attributes.items())),
            on[at],
            healthy=at not in ill,
            parent=(parents or {}).get(at),
            position=at,
        )
        for at in range(count)
    ]
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    words = {pair: links if isinstance(links, str) else links.get(pair, "?") for pair in pairs}
    return board(atoms, {(f"{name}-{a:02}", f"{name}-{b:02}"): word for (a, b), word in words.items()})


def gpus(count: int = 1, text: str = "", **fields: Any) -> Ask:
    return Ask("gpu", count, selector=parse_devices(text), **fields)


def a_gpu_node(name: str = "a", count: int = 8, **fields: Any):
    given = {key: fields.pop(key) for key in ("labels", "zone", "no_schedule") if key in fields}
    return a_node(name, 64, board=cards(count, **fields), **given)
