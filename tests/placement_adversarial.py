"""Fleets that are made to mislead an index: decoys in front, no two nodes alike, calendars full of bookings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from placement import LEXICOGRAPHIC, WEIGHTED, WHOLE, Amounts, Claim, FleetView, NodeView, PoolPolicy, Request
from tests.placement_random import RANKINGS, Source, World

INSTANTS = (100.0, 120.0, 140.0, 160.0, 180.0, 200.0)
ASKED = Amounts(2000, 2, 2)


class Adversary(Source):
    """One kind of trap a fleet; the requests are those that it is laid for, and any others."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.trap = self.any(self.decoys, self.unlike, self.booked, self.booked, self.ports_taken, self.held)
        self.count = self.any(12, 25, 40)
        self.names = [f"n{number:02}" for number in range(self.count)]
        self.claims: dict[str, Claim] = {}
        self.nodes: dict[str, NodeView] = {}

    def pool(self) -> World:
        for name in self.names:
            self.trap(name)
        tiers = tuple(self.tier(name) for name in self.any(("t1",), ("t1", "t2"), ("t2", "t1")))
        ranking = self.any(LEXICOGRAPHIC, WEIGHTED._replace(top_n=1), *RANKINGS)
        return self.world_of(PoolPolicy(tiers=tiers, ranking=ranking, provisioning=self.any(True, False)))

    def world_of(self, policy: PoolPolicy) -> World:
        return World(tuple(self.nodes.values()), tuple(self.claims.values()), policy)

    def asks_for(self) -> Request:
        """In the middle of what the trap is about, or anything."""
        asked = self.request()
        window: dict[str, Any] = {"start": self.any(None, *INSTANTS[:-1]), "end": None}
        if self.random.random() < 0.7:
            later = [at for at in INSTANTS if window["start"] is None or at > window["start"]]
            window["end"] = self.any(*later)
        if self.trap == self.booked:
            return replace(asked, devices=asked.devices or self.asks(), **window)
        if self.random.random() < 0.6:
            plain = {"amounts": ASKED, "room": None, "labels": {}, "excluded": {}, "devices": (), "group_devices": ()}
            return replace(asked, **plain, ports=("80/tcp",) if self.trap == self.ports_taken else asked.ports)
        return asked

    def disturb(self, fleet: FleetView) -> None:
        """One more claim, one less, or a node that changes."""
        name = self.any(*self.names)
        change: Callable[[str], None] = self.any(self.trap, self.one_less, self.gone)
        before = dict(self.claims)
        change(name)
        for allocation in before.keys() - self.claims.keys():
            fleet.drop_claim(allocation)
        for allocation, claim in self.claims.items():
            if before.get(allocation) != claim:
                fleet.put_claim(claim)
        if name in self.nodes:
            fleet.put_node(self.nodes[name])
        else:
            fleet.remove_node(name)

    def one_less(self, name: str) -> None:
        mine = [claim.allocation for claim in self.claims.values() if claim.node == name]
        if mine:
            del self.claims[self.any(*mine)]

    def gone(self, name: str) -> None:
        self.nodes.pop(name, None)

    def decoys(self, name: str) -> None:
        """As full as can be, with plenty of two things and one too little of the third; few have room."""
        short = self.any(0, 1, 2)
        free = [amount + self.any(0, 0, 1) for amount in ASKED]
        if self.random.random() < 0.9:
            free[short] = ASKED[short] - 1
        self.put(name, Amounts(6000, 6, 6), Amounts(6000 - free[0], 6 - free[1], 6 - free[2]))

    def unlike(self, name: str) -> None:
        """No two of the same size."""
        number = self.names.index(name)
        has = Amounts(4000 + 7 * number, 4 + number, 4 + 3 * number % 11)
        self.put(name, has, Amounts(self.random.randrange(3000), self.any(0, 1, 2), self.any(0, 1, 2)))

    def booked(self, name: str) -> None:
        """Cards, most of them with a calendar; now and then in parts, which no column can tell."""
        self.put(name, Amounts(6000, 6, 6), Amounts(self.any(0, 500, 500, 4500)), board=self.board(name))
        for slot in range(self.any(0, 1, 2, 3, 6)):
            start = self.any(None, *INSTANTS[:-1])
            later = [at for at in INSTANTS if start is None or at > start]
            timed = self.random.random() < 0.8
            atoms = self.some(*range(5), odd=0.3)
            units = self.one(WHOLE, 300, odd=0.1)
            self.claim_on(
                f"{name}/b{slot}",
                name,
                Amounts(),
                devices=tuple((f"{name}-{at}", units) for at in sorted(atoms)),
                start=start if timed else None,
                end=self.any(None, *later) if timed else None,
            )

    def ports_taken(self, name: str) -> None:
        taken = ("80/tcp",) if self.random.random() < 0.95 else ()
        self.put(name, Amounts(6000, 6, 6), Amounts(self.any(500, 1000, 2000), 0, 0), ports=taken)

    def held(self, name: str) -> None:
        self.put(name, Amounts(6000, 6, 6), Amounts(500, 0, 0), exclusive=self.random.random() < 0.9)

    def put(self, name: str, has: Amounts, used: Amounts, *, board: Any = None, **claim: Any) -> None:
        node = self.node(name)
        self.nodes[name] = replace(node, pool="main", capacity=has, board=board)
        if any(used):
            self.claim_on(f"{name}/used", name, used, **claim)

    def claim_on(self, allocation: str, name: str, amounts: Amounts, **more: Any) -> None:
        owner = f"default/o{self.names.index(name)}.primary.x"
        self.claims[allocation] = Claim(allocation, name, owner, amounts, **more)


adversaries = st.integers(0, 2**48).map(Adversary)
