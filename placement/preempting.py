"""Which claims would have to go for a request to fit: planned only, nothing is taken from anybody."""

from __future__ import annotations

from collections.abc import Iterable

from placement.answers import Placed
from placement.fleet import FleetView
from placement.policy import PoolPolicy
from placement.request import Request
from placement.shortcut import place


def victims(
    request: Request, fleet: FleetView, policy: PoolPolicy, preemptible: Iterable[str]
) -> tuple[str, ...] | None:
    """Allocations without which it would fit, none of them in vain; None where even all of them are too few.

    The first ones given are spared before the later ones.
    """
    able = [name for name in preemptible if fleet.claim(name) is not None]
    scratch = fleet.copy()
    for name in able:
        scratch.drop_claim(name)
    if not isinstance(place(request, scratch, policy).answer, Placed):
        return None
    needed = []
    for name in able:
        claim = fleet.claim(name)
        assert claim is not None
        scratch.put_claim(claim)
        if not isinstance(place(request, scratch, policy).answer, Placed):
            scratch.drop_claim(name)
            needed.append(name)
    return tuple(needed)
