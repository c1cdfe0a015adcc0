"""Where an instance stands that a claim was made for: the one place that says whether it can still be alive."""

from __future__ import annotations

from typing import NamedTuple

from controllers.fences import fenced, over
from controllers.jobs import ids
from controllers.jobs.view import START, JobView, NodeState
from resources.allocation import Allocation
from resources.effect import CANCELLED, EffectRecord
from resources.facts import Instance
from resources.job import JobSpec

SEEN_SECONDS = 60.0
"""An agent that took a start tells of the instance at once; one that has not by then does not know it."""
ASK_SECONDS = 5.0


class Unsent(NamedTuple):
    """Room is claimed for a start that is still to come."""


class Sent(NamedTuple):
    """The start is on its way, or taken and not heard of yet."""

    record: EffectRecord


class Doubtful(NamedTuple):
    """Nobody knows whether the start happened."""

    record: EffectRecord


class Alive(NamedTuple):
    row: Instance


class Refused(NamedTuple):
    """The agent would not start it."""

    record: EffectRecord


class Exited(NamedTuple):
    row: Instance


class Vanished(NamedTuple):
    """It was started, and its agent does not know it."""


class Lost(NamedTuple):
    """Its node is lost and what the job says for that case has run its course."""


Fate = Unsent | Sent | Doubtful | Alive | Refused | Exited | Vanished | Lost
ENDED = (Refused, Exited, Vanished, Lost)
"""Nothing of it is alive any more, so the room may be given back."""


def fate_of(claim: Allocation, spec: JobSpec, view: JobView, now: float) -> Fate:
    """What a row of an agent says counts more than what became of the effect."""
    row = view.instance(claim.instance)
    if row is not None and not row.alive:
        return Exited(row)
    key = ids.read(claim.instance)
    start = view.effects.get(key.start_key)
    if start is None and row is None:
        return Unsent()
    if row is None and start is not None and start.state == "rejected":
        return Refused(start)
    if gone(view.node(claim.node), spec, start):
        return Lost()
    if row is not None:
        return Alive(row)
    assert start is not None
    if start.state == "indeterminate":
        return Doubtful(start)
    return Vanished() if _forgotten(start, key, view, now) else Sent(start)


def gone(node: NodeState, spec: JobSpec, start: EffectRecord | None) -> bool:
    """Whether what runs on a lost node is given up. Its fence has ended it by then; else it may wait for a person."""
    return node.lost and (node.given_up or over(spec.on_disconnect, start))


def may_live(node: NodeState, start: EffectRecord | None) -> bool:
    """Whether an instance may be alive on a node that does not say so."""
    return not node.given_up and not (node.lost and fenced(start))


def unseen(view: JobView) -> list[EffectRecord]:
    """Starts sent to nodes that were never heard again: they may have happened without anybody's knowledge."""
    return [
        start
        for start in view.effects.values()
        if start.kind == START and start.attempts and (start.state != "rejected" or start.code == CANCELLED)
        if view.instance(start.request["instance"]) is None and _unheard(view.node(start.target), start)
    ]


def _unheard(node: NodeState, start: EffectRecord) -> bool:
    return not node.connected and node.heard_at < (start.completed_at or start.started_at or start.created_at)


def next_look(start: EffectRecord, now: float) -> float | None:
    """When to look again at a start without an instance: at the end of its time, then until its agent can be asked."""
    return None if start.state != "applied" else max(_unseen_until(start), now + ASK_SECONDS)


def _unseen_until(start: EffectRecord) -> float:
    return (start.completed_at or start.created_at) + SEEN_SECONDS


def _forgotten(start: EffectRecord, key: ids.InstanceId, view: JobView, now: float) -> bool:
    """Only an agent that is connected can be taken at its silence about one instance."""
    node = view.node(start.target)
    if start.state != "applied" or node.silent or not node.connected:
        return False
    stop = view.effects.get(key.stop_key)
    if stop is not None and stop.final:
        return True
    return now >= _unseen_until(start)
