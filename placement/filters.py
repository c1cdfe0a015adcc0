"""The hard rules: each answers None to keep a node, or the reason that a person will read."""

# ruff: noqa: ARG001  every rule has the same signature, whatever it reads

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from placement.amounts import shortage
from placement.bookings import devices_on
from placement.node import NodeView
from placement.request import ANY_VALUE, Request, spoken
from placement.scene import Scene
from placement.wording import held_by, printed, taken

DEDICATED = "dedicated="
Filter = Callable[[Request, NodeView, Scene], str | None]


class Rejection(NamedTuple):
    """Why one node is out."""

    node: str
    filter: str
    reason: str

    @property
    def text(self) -> str:
        """As it is counted and printed; what keeps everybody away speaks for itself."""
        return printed(self.filter, self.reason)


def pin(request: Request, node: NodeView, scene: Scene) -> str | None:
    return None if request.pin is None or request.pin == node.name else f"pinned to {request.pin}"


def pool(request: Request, node: NodeView, scene: Scene) -> str | None:
    return None if node.pool == request.pool else f"pool {node.pool}"


def tier(request: Request, node: NodeView, scene: Scene) -> str | None:
    return None if node.tier == scene.tier.name else f"tier {node.tier}"


def excluded(request: Request, node: NodeView, scene: Scene) -> str | None:
    return request.excluded.get(node.name)


def schedulable(request: Request, node: NodeView, scene: Scene) -> str | None:
    """The first reason that the request does not tolerate.

    It tolerates its own tenant's dedication, and all but dedications where it leases the node as a whole.
    """
    for reason in node.no_schedule:
        if request.lease and not reason.startswith(DEDICATED):
            continue
        if request.tenant is None or reason != f"{DEDICATED}{request.tenant}":
            return reason
    return None


def open_to_somebody(no_schedule: Sequence[str]) -> bool:
    """Whether some tenant could be placed there: no reason at all, or one dedication alone."""
    return not no_schedule or (len(no_schedule) == 1 and no_schedule[0].startswith(DEDICATED))


def reserved(request: Request, node: NodeView, scene: Scene) -> str | None:
    if node.spare is None or not node.spare.exclusive or not node.unconsumed_spare or request.override_reservation:
        return None
    if request.template in node.spare.reserved_for:
        return None
    return f"reserved for {', '.join(node.spare.reserved_for)}"


def labels(request: Request, node: NodeView, scene: Scene) -> str | None:
    for key, value in request.labels.items():
        found = node.label(key)
        if found is None or value not in (ANY_VALUE, found):
            return asked_label(key, value)
    return None


def asked_label(key: str, value: str) -> str:
    return key if value == ANY_VALUE else f"{key}={value}"


def fits(request: Request, node: NodeView, scene: Scene) -> str | None:
    return shortage(node.free, request.asked)


def ports(request: Request, node: NodeView, scene: Scene) -> str | None:
    for port in request.asked_ports:
        if port in node.taken_ports:
            return taken(port)
    return None


def devices(request: Request, node: NodeView, scene: Scene) -> str | None:
    return _of_devices("fits", request, node, scene)


def topology(request: Request, node: NodeView, scene: Scene) -> str | None:
    return _of_devices("topology", request, node, scene)


def pick(request: Request, node: NodeView, scene: Scene) -> str | None:
    return _of_devices("pick", request, node, scene)


def _of_devices(name: str, request: Request, node: NodeView, scene: Scene) -> str | None:
    if request.want is None:
        return None
    found = devices_on(request, node, binpack=scene.tier.packing == "binpack", plugins=scene.plugins)
    return found.reason if found.filter == name else None


def exclusive(request: Request, node: NodeView, scene: Scene) -> str | None:
    """Both ways: a node held by a stranger, and a node with strangers for a job that wants it alone."""
    if not node.owners:
        return None
    held = node.holders - request.allies
    if held:
        return held_by(held)
    if request.exclusive and node.owners - request.allies:
        return "other jobs are here"
    return None


def separate(request: Request, node: NodeView, scene: Scene) -> str | None:
    here = request.separate & node.owners
    return f"{spoken(min(here))} is here" if here else None


def together(request: Request, node: NodeView, scene: Scene) -> str | None:
    return None if scene.group is None or node.name in scene.group else scene.group_reason


def zone(request: Request, node: NodeView, scene: Scene) -> str | None:
    """The hard rule: every placed peer has a claim in this node's zone. A peer on the move may be in two."""
    if request.same_zone != "hard":
        return None
    for owner, zones in scene.zones:
        if node.zone not in zones:
            return f"{spoken(owner)} is in {min(zones) or 'no zone'}"
    return None


FILTERS: tuple[tuple[str, Filter], ...] = (
    ("pin", pin),
    ("pool", pool),
    ("tier", tier),
    ("excluded", excluded),
    ("schedulable", schedulable),
    ("reserved", reserved),
    ("labels", labels),
    ("fits", fits),
    ("ports", ports),
    ("fits", devices),
    ("topology", topology),
    ("exclusive", exclusive),
    ("separate", separate),
    ("together", together),
    ("zone", zone),
)


def refusal(request: Request, node: NodeView, scene: Scene) -> Rejection | None:
    """The first filter that refuses this node; None if all keep it."""
    return next(_each(request, node, scene), None)


def refusals(request: Request, node: NodeView, scene: Scene) -> tuple[Rejection, ...]:
    """Every filter that refuses this node, the counted one first. Plugins are asked about what all others keep."""
    return tuple(_each(request, node, scene))


def _each(request: Request, node: NodeView, scene: Scene) -> Iterator[Rejection]:
    node = node.over(request)
    kept = True
    for name, rule in FILTERS:
        reason = rule(request, node, scene)
        if reason is not None:
            kept = False
            yield Rejection(node.name, name, reason)
    if not kept or scene.plugins is None:
        return
    refused = scene.plugins.refusal(request, node)
    if refused is not None:
        yield Rejection(node.name, *refused)
        return
    reason = pick(request, node, scene)
    if reason is not None:
        yield Rejection(node.name, "pick", reason)
