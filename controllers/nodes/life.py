"""Where a registered node stands by its heartbeats: running, silent, lost, and when to look again."""

from __future__ import annotations

from dataclasses import dataclass

from controllers.brake import Silence
from controllers.runtime.controller import Reader
from resources.conditions import Condition, condition
from resources.facts import NodeFacts
from resources.instants import instant
from resources.node import Node, NodePhase
from resources.pool import Brake, Disconnect, PoolSpec

LOST_ANNOTATION = "rmctl/lost"
"""When a person said that this node will not come back; void once it was heard again."""
BRAKED_SECONDS = 5.0
"""How often a node that the brake keeps from being lost is looked at again."""
REST_SECONDS = 60.0
"""How often a healthy node is looked at: the moment in which it falls silent is watched for all nodes together."""
NEAR_SECONDS = 1.0
"""So close to its silence a node watches for itself, whatever the clock does between the two looks."""
LATE_SECONDS = 2.0
"""A silence that is seen so late began when it began; one seen later begins with being seen."""


@dataclass(frozen=True)
class Life:
    phase: NodePhase
    silent_since: float | None = None
    lost_at: float | None = None
    given_up: bool = False
    braked: bool = False
    next_look: float | None = None
    lost_after: float = 0.0
    """Seconds without a heartbeat after which it is lost."""


def look(
    node: Node, facts: NodeFacts | None, pool: PoolSpec | None, silence: Silence, *, started: float, now: float
) -> Life:
    """Silent and lost are counted from the last heartbeat, or from the server's own start if that is later.

    A node that was silent stays so until its agent is heard again: a server that starts learns nothing new from that.
    It is seen silent for all the time between the two limits, whatever the clock jumps over. `silence`: the others.
    A pool that became less patient has to wait as long as it promised the node: fences and heartbeats there go by that.
    """
    if node.spec.provider != "agent" or facts is None:
        return Life("prospective" if node.spec.provider != "agent" else "booting")
    limits = Disconnect() if pool is None else pool.disconnect
    was = node.status
    unheard = was.phase in ("silent", "lost") and not (
        facts.connected and facts.last_heartbeat > (was.silent_since or 0.0)
    )
    last = max(facts.last_heartbeat, started)
    heard_within = _silence(facts, limits)
    if not unheard and now < last + heard_within:
        rests = facts.connected and now + NEAR_SECONDS < last + facts.silent_seconds
        return Life("running", next_look=max(last + heard_within, now + REST_SECONDS) if rests else last + heard_within)
    began = last + heard_within if now <= last + heard_within + LATE_SECONDS else now
    since = was.silent_since if unheard and was.silent_since is not None else began
    if was.phase == "lost" and unheard:
        return Life("lost", since, was.lost_at, given_up=was.given_up or _given_up(node, facts))
    given_up = _given_up(node, facts)
    patience = max(limits.lost_seconds, facts.lost_seconds)
    due = max(last + patience, since + patience - heard_within)
    if now < due and not given_up:
        return Life("silent", since, next_look=due, lost_after=patience)
    together = Silence(silence.nodes, (*silence.silent, node.name))
    if together.holds(Brake() if pool is None else pool.brake) and not given_up:
        return Life("silent", since, braked=True, next_look=now + BRAKED_SECONDS)
    return Life("lost", since, now, given_up=given_up)


def quiet(facts: NodeFacts, pool: PoolSpec | None, reader: Reader) -> bool:
    """Whether the node has not been heard for as long as makes it silent."""
    limits = Disconnect() if pool is None else pool.disconnect
    return reader.now >= max(facts.last_heartbeat, reader.server_started_at) + _silence(facts, limits)


def ready(node: Node, life: Life, silence: Silence) -> Condition:
    match life.phase:
        case "running":
            return condition("Ready", True, "Connected", "is connected")
        case "silent" if life.braked:
            told = Silence(silence.nodes, (*silence.silent, node.name)).told(node.spec.pool)
            return condition("Ready", None, "Silent", f"is silent, and not declared lost: {told}")
        case "silent":
            said = f"is silent; without a heartbeat for {life.lost_after:g} s it is lost"
            return condition("Ready", None, "Silent", said)
        case "lost" if life.given_up:
            return condition("Ready", False, "Lost", "is lost, and given up")
        case "lost":
            cure = f"is lost: its agent is not heard. Start it again, or rmctl node lost {node.name}"
            return condition("Ready", False, "Lost", cure)
        case "booting":
            cure = f"has never been heard of: rmctl node join {node.name} prints what to run there"
            return condition("Ready", False, "NoInventory", cure)
        case _:
            return condition("Ready", False, "Booting", "waits for a provider, and this version provisions no machines")


def _given_up(node: Node, facts: NodeFacts) -> bool:
    """Said after the node was last heard, whether its stream still looks open or not. What is no time says nothing."""
    said = node.annotations.get(LOST_ANNOTATION)
    try:
        return said is not None and instant(said) > facts.last_heartbeat
    except ValueError:
        return False


def _silence(facts: NodeFacts, limits: Disconnect) -> float:
    """Seconds without a heartbeat after which it is silent."""
    return max(limits.silent_seconds, facts.silent_seconds)
