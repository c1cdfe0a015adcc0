"""Node: follows a registered machine by its heartbeats, adds up its claims, opens or closes it for new work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from controllers.brake import Silence, silence
from controllers.nodes import capacity, cards, health, life, openness, single_use
from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources.allocation import Allocation
from resources.conditions import condition
from resources.devices import Device
from resources.event import Event
from resources.facts import NodeFacts
from resources.names import people
from resources.node import NicStatus, Node, NodeStatus, NoSchedule, SpareStatus
from resources.pool import Health, Pool
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
    blocks: Sequence[NoSchedule] = ()
    health: health.Seen = health.NOTHING
    single_use: Sequence[str] = ()
    """Jobs here with which the machine is to go."""
    devices: Sequence[Device] = ()
    """As they counted for placement until now."""


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
        allocations = tuple(reader.allocations(node=resource.name))
        rules = pool.spec.health if isinstance(pool, Pool) else Health()
        return NodeView(
            facts=facts,
            allocations=allocations,
            devices=reader.devices(resource.name),
            pool=pool if isinstance(pool, Pool) else None,
            silence=told,
            server_started_at=reader.server_started_at,
            blocks=tuple(reader.blocks(resource.name)),
            health=health.observe(resource, rules, reader),
            single_use=single_use.users(allocations, reader),
        )

    def decide(self, resource: Node, view: NodeView, facts: Facts) -> Decision:
        node = resource
        rules = None if view.pool is None else view.pool.spec
        now = life.look(node, view.facts, rules, view.silence, started=view.server_started_at, now=facts.now)
        how = Health() if rules is None else rules.health
        well = health.look(node, view.health, how, facts.now)
        taken = single_use.taken_for(node, view.single_use)
        ending = single_use.ending(node, taken, view.allocations, facts.now)
        reasons = openness.reasons(
            node, view.facts, now, unhealthy=well.unhealthy is not None, terminating=ending is not None
        )
        rows = openness.rows(node, reasons, view.blocks, facts.now)
        begin = cards.next_turn(view.allocations, facts.now)
        devices, proving, look = cards.counted(view.facts, view.devices, node.status, rules, facts.now)
        status = NodeStatus(
            observed_generation=node.generation,
            phase=now.phase,
            provider_id=node.status.provider_id,
            address=None if view.facts is None else view.facts.inventory.address or None,
            zone=node.spec.zone or (None if view.facts is None else view.facts.inventory.zone or None),
            instance_type=node.spec.instance_type,
            agent_version=None if view.facts is None else view.facts.inventory.agent_version or None,
            boot_id=None if view.facts is None else view.facts.boot_id or None,
            machine_id=None if view.facts is None else view.facts.inventory.machine_id or None,
            nics=_nics(view.facts),
            capacity=capacity.amounts(node.spec, view.facts, view.allocations, facts.now),
            gpus=cards.gpus(devices, view.allocations, facts.now),
            devices_well_since=proving,
            ports=tuple(sorted({port for a in view.allocations for port in a.ports})),
            images=() if view.facts is None else tuple(sorted(view.facts.inventory.images)),
            capabilities=() if view.facts is None else tuple(sorted(view.facts.inventory.capabilities)),
            jobs=_jobs(view.allocations),
            no_schedule=rows,
            rejections=well.rejections,
            unhealthy=well.unhealthy,
            healthy_since=well.healthy_since,
            spare=_spare(node, view.allocations),
            single_use=taken,
            terminate=ending,
            silent_since=now.silent_since,
            lost_at=now.lost_at,
            given_up=now.given_up,
        )
        ready = life.ready(node, now, view.silence)
        if ready.status == "True":
            ready = condition("Ready", True, "Connected", f"is connected, {_claimed(status)}")
        told = (ready, openness.schedulable(node, rows, status.capacity), health.told(node, well, how))
        status = status.model_copy(update={"conditions": tuple(one for one in told if one is not None)})
        sick = _with_sick_devices(node, devices, view.allocations)
        turned = now.phase != node.status.phase or now.given_up != node.status.given_up
        return Decision(
            status,
            rooms=capacity.rooms(node, view.facts, devices),
            blocks=openness.blocks(reasons, view.blocks, node.name),
            effects=() if ending is None else (single_use.termination(node),),
            events=(*_events(node, now), *_turns(node, status)),
            wake=(*(_wake(node, view.allocations) if turned else _pool_of(node, status)), *sick),
            requeue_after=_after((now.next_look, well.next_look, look, begin), facts.now),
        )


def _nics(facts: NodeFacts | None) -> tuple[NicStatus, ...]:
    found = () if facts is None else facts.inventory.nics
    return tuple(NicStatus(name=nic.name, addresses=nic.addresses, speed_mbit=nic.speed_mbit) for nic in found)


def _jobs(allocations: Sequence[Allocation]) -> tuple[str, ...]:
    """As people call them; a job on the move may hold two claims here."""
    return tuple(sorted({people(a.owner.name) for a in allocations if a.owner.kind == "job"}))


def _claimed(status: NodeStatus) -> str:
    amount = status.capacity.get("vcpu")
    room = "" if amount is None else f"{amount.reserved:g} of {amount.cap:g} vcpu claimed, "
    return f"{room}{len(status.jobs)} job" + "s" * (len(status.jobs) != 1)


def _wake(node: Node, allocations: Sequence[Allocation]) -> tuple[Ref, ...]:
    """Jobs hear when their node turns silent, is lost or comes back; the pool counts how many are silent."""
    return (Ref("pool", node.spec.pool), *sorted({a.owner for a in allocations}))


def _with_sick_devices(node: Node, devices: Sequence[Device], allocations: Sequence[Allocation]) -> tuple[Ref, ...]:
    """Reservations of a device that has just turned sick, or is gone, may be booked anew elsewhere."""
    well = {device.id for device in devices if device.healthy}
    fallen = {gpu.id for gpu in node.status.gpus if gpu.healthy and gpu.id not in well}
    booked = (a.owner for a in allocations if a.owner.kind == "reservation" for b in a.devices if b.device in fallen)
    return tuple(sorted(set(booked)))


def _pool_of(node: Node, status: NodeStatus) -> tuple[Ref, ...]:
    """It counts how many of its nodes are unhealthy."""
    turned = (status.unhealthy is None) != (node.status.unhealthy is None)
    return (Ref("pool", node.spec.pool),) if turned else ()


def _spare(node: Node, allocations: Sequence[Allocation]) -> SpareStatus | None:
    if node.spec.spare is None:
        return None
    known = node.status.spare
    return SpareStatus(consumed=bool(allocations) or (known is not None and known.consumed))


def _after(looks: Sequence[float | None], now: float) -> float | None:
    return min((max(at - now, 0.0) for at in looks if at is not None), default=None)


def _turns(node: Node, status: NodeStatus) -> Iterator[Event]:
    """What is told once."""
    was = node.status
    if status.unhealthy is not None and was.unhealthy is None:
        yield Event("NodeUnhealthy", status.unhealthy.message, "Warning")
    if status.unhealthy is None and was.unhealthy is not None:
        yield Event("NodeHealthy", "takes jobs again")
    if status.terminate is not None and was.terminate is None:
        yield Event("NodeTerminated", status.terminate.reason)


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
