"""A stage for the node controller: what it sees as plain values, and its rows as a commit leaves them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from controllers.brake import Silence
from controllers.node import NodeController, NodeView
from controllers.nodes.health import Seen
from controllers.runtime.decision import Block, Decision, Facts
from resources import conditions
from resources.allocation import Allocation
from resources.devices import Device
from resources.facts import Inventory, NodeFacts
from resources.node import Node, NodeSpec, NodeStatus, NoSchedule
from resources.pool import Pool, PoolSpec, PoolStatus
from resources.reference import Ref
from tests.builders import a_pool

NOW = 1_000_000.0
JOB = Ref("job", "ch.primary.web", "default")


def a_node(**spec: Any) -> Node:
    document = {"pool": "local", **spec}
    return Node(Ref("node", "node-a"), "n", 1, 1, NodeSpec.model_validate(document), NodeStatus(), document)


def facts(heard: float = NOW, *, connected: bool = True, **inventory: Any) -> NodeFacts:
    has = {"capacity_milli": 4000, "cores": 4, "memory_mib": 8192, "address": "10.0.0.1", "zone": "z", **inventory}
    return NodeFacts("node-a", "boot-1", Inventory(**has), heard, connected=connected)


def a_claim(milli: int = 1500) -> Allocation:
    return Allocation("u.1.1", "u", JOB, "u.1.1", "local", "node-a", milli, 1, 100, ("8101/tcp",))


@dataclass
class NodeStage:
    """`at` runs a pass so many seconds after the last heartbeat of the beginning, and keeps what it wrote."""

    node: Node = field(default_factory=a_node)
    facts: NodeFacts | None = field(default_factory=facts)
    claims: list[Allocation] = field(default_factory=list)
    others: Silence = field(default_factory=lambda: Silence(10, ()))
    pool: dict[str, Any] = field(default_factory=dict)
    now: float = NOW
    started: float = 0.0
    rows: list[NoSchedule] = field(default_factory=list)
    health: Seen = field(default_factory=Seen)
    single_use: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    """As they count; what a pass decides of them is kept."""

    def run(self) -> Decision:
        spec = PoolSpec.model_validate(a_pool(**self.pool))
        view = NodeView(
            facts=self.facts,
            allocations=self.claims,
            pool=Pool(Ref("pool", "local"), "p", 1, 1, spec, PoolStatus()),
            silence=self.others,
            server_started_at=self.started,
            blocks=tuple(self.rows),
            health=self.health,
            single_use=self.single_use,
            devices=self.devices,
        )
        decision = NodeController().decide(self.node, view, Facts(now=self.now))
        for change in decision.blocks:
            if isinstance(change, Block):
                self.rows.append(NoSchedule(reason=change.reason, by=change.cause, since=self.now))
            else:
                self.rows = [row for row in self.rows if (row.reason, row.by) != (change.reason, change.cause)]
        self.devices = next((room.devices for room in decision.rooms), ())
        status = decision.status
        assert isinstance(status, NodeStatus)
        self.node = replace(self.node, status=status)
        return decision

    def at(self, seconds: float) -> Decision:
        """Seconds after the last heartbeat of the beginning."""
        self.now = NOW + seconds
        return self.run()

    def said(self, type_: str = "Ready") -> tuple[str, str, str] | None:
        found = conditions.find(self.node.status.conditions, type_)
        return None if found is None else (found.status, found.reason, found.message)
