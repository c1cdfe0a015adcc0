"""Node: follows a registered machine by its heartbeats, adds up its claims, opens or closes it for new work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from controllers.brake import Silence, silence
from controllers.nodes import capacity, life, openness
from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources.allocation import Allocation
from resources.conditions import condition
from resources.event import Event
from resources.facts import NodeFacts
from resources.names import job_key
from resources.node import Node, NodeStatus
from resources.pool import Pool
from resources.reference import Ref

ALONE = Silence(1, ())


@dataclass(frozen=True)
class NodeView:
    """`silence` counts the others, and only when this one is quiet. `server_started_at` restarts every clock."""

    facts: NodeFacts | None = None
    allocations: Sequence[Allocation] = ()
    pool: Pool | None = None
    silence: Silence = ALONE
    server_started_at: float = 0.0


class NodeController:
    kind: ClassVar[str] = "node"
    places: ClassVar[bool] = False

    def observe(self, resource: Node, reader: Reader) -> NodeView:
        pool = reader.find(Ref("pool", resource.spec.pool))
        facts = reader.facts(resource.name)
        told = ALONE
        if facts is not None and life.quiet(facts, None if pool is None else pool.spec, reader):
            others = [n for n in reader.nodes(resource.spec.pool) if isinstance(n, Node) and n.uid != resource.uid]
            told = silence(others, reader.now)
            told = Silence(told.nodes + 1, told.silent)
        return NodeView(
            facts=facts,
            allocations=tuple(reader.allocations(node=resource.name)),
            pool=pool if isinstance(pool, Pool) else None,
            silence=told,
            server_started_at=reader.server_started_at,
        )

    def decide(self, resource: Node, view: NodeView, facts: Facts) -> Decision:
        node = resource
        rules = None if view.pool is None else view.pool.spec
        now = life.look(node, view.facts, rules, view.silence, started=view.server_started_at, now=facts.now)
        reasons = openness.reasons(node, view.facts, now)
        status = NodeStatus(
            observed_generation=node.generation,
            phase=now.phase,
            address=None if view.facts is None else view.facts.inventory.address or None,
            zone=node.spec.zone or (None if view.facts is None else view.facts.inventory.zone or None),
            instance_type=node.spec.instance_type,
            agent_version=None if view.facts is None else view.facts.inventory.agent_version or None,
            boot_id=None if view.facts is None else view.facts.boot_id or None,
            capacity=capacity.amounts(node.spec, view.facts, view.allocations),
            ports=tuple(sorted({port for a in view.allocations for port in a.ports})),
            images=() if view.facts is None else tuple(sorted(view.facts.inventory.images)),
            capabilities=() if view.facts is None else tuple(sorted(view.facts.inventory.capabilities)),
            jobs=_jobs(view.allocations),
            no_schedule=openness.rows(node, reasons, facts.now),
            silent_since=now.silent_since,
            lost_at=now.lost_at,
            given_up=now.given_up,
        )
        ready = life.ready(node, now, view.silence)
        if ready.status == "True":
            ready = condition("Ready", True, "Connected", f"is connected, {_claimed(status)}")
        status = status.model_copy(update={"conditions": (ready, openness.schedulable(node, reasons))})
        turned = now.phase != node.status.phase or now.given_up != node.status.given_up
        return Decision(
            status,
            rooms=capacity.rooms(node, view.facts),
            blocks=openness.blocks(node, reasons),
            events=_events(node, now),
            wake=_wake(node, view.allocations) if turned else (),
            requeue_after=None if now.next_look is None else max(now.next_look - facts.now, 0.0),
        )


def _jobs(allocations: Sequence[Allocation]) -> tuple[str, ...]:
    """As people call them; a job on the move may hold two claims here."""
    names = {a.owner.name if (key := job_key(a.owner.name)) is None else key.people for a in allocations}
    return tuple(sorted(names))


def _claimed(status: NodeStatus) -> str:
    amount = status.capacity.get("vcpu")
    room = "" if amount is None else f"{amount.reserved:g} of {amount.cap:g} vcpu claimed, "
    return f"{room}{len(status.jobs)} job" + "s" * (len(status.jobs) != 1)


def _wake(node: Node, allocations: Sequence[Allocation]) -> tuple[Ref, ...]:
    """Jobs hear when their node turns silent, is lost or comes back; the pool counts how many are silent."""
    return (Ref("pool", node.spec.pool), *sorted({a.owner for a in allocations}))


def _events(node: Node, now: life.Life) -> tuple[Event, ...]:
    if now.phase == node.status.phase:
        return ()
    match now.phase:
        case "running":
            return (Event("NodeStarted", "connected"),)
        case "silent":
            return (Event("NodeStopping", "no heartbeat: silent", "Warning"),)
        case "lost":
            return (Event("NodeStopped", "no heartbeat: lost", "Warning"),)
        case _:
            return ()
