"""Requests that ask less of a node's devices: fewer of them, of any kind, or not all joined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from placement.boards import WHOLE
from placement.devices import Ask, spelled
from placement.request import Request
from resources.selectors import ANYTHING, Selector


def fewer(request: Request) -> Iterator[tuple[str, Request]]:
    """Each ask for several with the next smaller count, the largest first; what it then asks, and how that is said."""
    most = max((ask.count for ask in request.devices), default=1)
    for less in range(1, most):
        for at, ask in enumerate(request.devices):
            if ask.units == WHOLE and ask.count > less:
                count = ask.count - less
                yield f"the job asked for {count} {ask.kind}", _with(request, at, replace(ask, count=count))


def apart(request: Request) -> Iterator[tuple[str, Request]]:
    """Each ask for joined devices with any."""
    for at, ask in enumerate(request.devices):
        if ask.topology != "any":
            yield (
                f"its {ask.count} {ask.kind} need not be joined by NVLink",
                _with(request, at, replace(ask, topology="any")),
            )


def unselected(request: Request) -> Iterator[tuple[str, Request]]:
    """Each ask without one condition of its selector, then without any."""
    for at, ask in enumerate(request.devices):
        every = ask.selector.expressions
        for one in every:
            rest = Selector(tuple(other for other in every if other != one))
            text = f"it did not ask for {spelled(Selector((one,)))}"
            yield text, _with(request, at, replace(ask, selector=rest))
        if len(every) > 1:
            yield f"it did not ask for {spelled(ask.selector)}", _with(request, at, replace(ask, selector=ANYTHING))


def _with(request: Request, at: int, ask: Ask) -> Request:
    return replace(request, devices=(*request.devices[:at], ask, *request.devices[at + 1 :]))
