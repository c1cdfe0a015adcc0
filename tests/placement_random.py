"""Random fleets, policies and requests from small domains, so that ties and clashes occur.

A hypothesis strategy draws the seed and a plain generator does the rest: values drawn one by one are lopsided, and the
rare turns of a plan need fleets that are half full and mostly well.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from placement import (
    LEXICOGRAPHIC,
    WEIGHTED,
    WHOLE,
    Amounts,
    Ask,
    Atom,
    Board,
    Claim,
    FleetView,
    Forbid,
    NodeView,
    PoolPolicy,
    Ranking,
    Request,
    Shape,
    Spare,
    TierPolicy,
    board,
)
from resources.selector_text import parse_devices

NAMES = tuple("abcdefghij")
ALLOCATIONS = tuple(str(number) for number in range(12))
JOBS = ("ch.primary.a", "ch.primary.b", "ch.primary.c", "ch.backup.a", "ch.backup.b", "o.primary.x", "p.primary.y")
OWNERS = tuple(f"default/{job}" for job in JOBS)
SYSTEM_LABEL = "rmctl/cap.gpu"
RANKINGS = (
    LEXICOGRAPHIC,
    LEXICOGRAPHIC,
    WEIGHTED._replace(top_n=1),
    Ranking(((("booted", 1000), ("packing", 500)), (("same_zone", 1000),))),
    Ranking(((("same_zone", 1000),), (("packing", 1000), ("warmth", 2000), ("resilience", 500)))),
    Ranking(((("topology", 1000), ("booted", 500)), (("packing", 700), ("topology", 100)), (("same_zone", 1000),))),
)
RESERVED = {"r1": "default/ch", "r2": "default/ch.primary.a", "r3": None}
"""Reservations by uid, and whom they are for."""
SELECTORS = tuple(map(parse_devices, ("", "model = a", "model != a", "vram >= 24", "disk = ssd", "!model, vram < 48")))


class World(NamedTuple):
    """What a fleet view is made from."""

    nodes: tuple[NodeView, ...]
    claims: tuple[Claim, ...]
    policy: PoolPolicy

    def fleet(self) -> FleetView:
        fleet = FleetView()
        for node in self.nodes:
            fleet.put_node(node)
        for claim in self.claims:
            fleet.put_claim(claim)
        return fleet


class Source:
    """Draws with a bias: the first value is the ordinary one."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def one(self, *values: Any, odd: float = 0.25) -> Any:
        """The first value, or with probability `odd` one of the others."""
        return self.random.choice(values[1:]) if self.random.random() < odd else values[0]

    def any(self, *values: Any) -> Any:
        return self.random.choice(values)

    def some(self, *values: Any, odd: float = 0.5) -> frozenset[Any]:
        return frozenset(value for value in values if self.random.random() < odd)

    def board(self, node: str) -> Board:
        """Up to five cards and a network card; what is drawn once for a type is alike on many nodes."""
        kind = Random(self.any(1, 2, 3, 4))
        atoms = [
            Atom(
                f"{node}-{at}",
                "nic" if at == 4 else "gpu",
                tuple(sorted({"model": kind.choice("ab"), "vram": kind.choice(("24", "48"))}.items()))[
                    kind.choice((0, 0, 1)) :
                ],
                kind.choice((0, 0, 1, None)),
                healthy=self.one(True, False, odd=0.1),
                bookable=self.one(True, False, odd=0.05),
                parent=kind.choice((None, None, "card")),
                position=at,
            )
            for at in range(kind.choice((2, 4, 5)))
        ]
        pairs = [(a.id, b.id) for a in atoms for b in atoms if a.id < b.id]
        return board(atoms, {pair: kind.choice(("NV4", "NV4", "NV4", "PIX", "PHB", "SYS", "?")) for pair in pairs})

    def asks(self) -> tuple[Ask, ...]:
        def ask() -> Ask:
            if self.random.random() < 0.3:
                return Ask("gpu", 1, self.any(300, 500, 700), self.one(*SELECTORS))
            count, topology = self.any(1, 2, 2, 3), self.one("any", "nvlink-all")
            return Ask(self.one("gpu", "nic", odd=0.1), count, WHOLE, self.one(*SELECTORS), topology)

        return tuple(ask() for _ in range(self.one(1, 2, 3)))

    def node(self, name: str | None = None) -> NodeView:
        name = name or self.any(*NAMES)
        labels: dict[str, tuple[str, str]] = {}
        if self.random.random() < 0.6:
            labels[SYSTEM_LABEL] = self.one(("1", "system"), ("1", "agent"), ("2", "system"))
        if self.random.random() < 0.6:
            labels["disk"] = self.any(("ssd", "agent"), ("hdd", "agent"))
        spare = Spare(self.any((), ("vod",), ("live", "vod")), self.any(False, True), self.one(False, True))
        reasons = (("cordoned",), ("unreachable", "cordoned"), ("dedicated=acme",), ("cordoned", "dedicated=acme"))
        return NodeView(
            name=name,
            pool=self.one("main", "next", odd=0.05),
            tier=self.one("t1", "t2", "t2", "t3", odd=0.4),
            zone=self.any("x", "x", "y", "y", ""),
            cloud=self.any("aws", "local-servers"),
            booted=self.one(True, False),
            labels=labels,
            no_schedule=self.one((), *reasons, odd=0.15),
            capacity=Amounts(self.any(2000, 4000, 4000, 6000), self.one(4, 2, 0), self.one(6, 3, 0)),
            images=self.some("i1", "i2"),
            spare=self.one(None, spare),
            board=self.board(name) if self.random.random() < 0.6 else None,
        )

    def amounts(self) -> Amounts:
        return Amounts(self.any(500, 1000, 1500, 2000), self.one(0, 1, 2), self.one(0, 1, 2))

    def claim(self, allocation: str | None = None) -> Claim:
        node, timed = self.any(*NAMES), self.random.random() < 0.35
        reservation = self.any(None, "r1", *RESERVED) if timed else None
        inside = reservation is not None and self.random.random() < 0.3
        atoms = self.some(*range(5), odd=0.3) if self.random.random() < 0.4 else ()
        return Claim(
            allocation or self.any(*ALLOCATIONS),
            node,
            self.any(*OWNERS),
            self.amounts(),
            self.one((), ("80/tcp",), ("81/tcp", "80/udp")),
            self.one(False, True, odd=0.1),
            self.one(None, "acme"),
            tuple((f"{node}-{at}", self.one(WHOLE, 300, 500)) for at in sorted(atoms)),
            self.any(None, 0.0, 0.0, 0.0, 150.0, 155.0) if timed else None,
            self.any(None, 90.0, 160.0, 250.0, 250.0) if timed else None,
            reservation,
            inside,
            None if inside or reservation is None else RESERVED[reservation],
        )

    def shape(self) -> Shape:
        capacity = self.any(Amounts(1000, 1, 1), Amounts(4000, 4, 4))
        return Shape(self.any("small", "large"), capacity, self.one({}, {SYSTEM_LABEL: "1"}))

    def tier(self, name: str) -> TierPolicy:
        return TierPolicy(
            name=name,
            kind=self.any("aws", "local-servers"),
            packing=self.any("binpack", "spread"),
            elastic=self.any(True, False),
            shapes=tuple(self.shape() for _ in range(self.any(0, 1, 2))),
            zones=self.any((), ("x",), ("x", "y")),
            max_nodes=self.any(None, 1, 4),
        )

    def policy(self) -> PoolPolicy:
        return PoolPolicy(
            tiers=tuple(self.tier(name) for name in self.any(("t1", "t2"), ("t2", "t1"), ("t1",), ("t3", "t2", "t1"))),
            ranking=self.any(*RANKINGS),
            archived=self.one(False, True, odd=0.02),
            provisioning=self.any(True, False),
        )

    def request(self) -> Request:
        bundle, role, job = self.any(*JOBS[:5], JOBS[3]).split(".")
        amounts = self.amounts()
        replica = frozenset(owner for owner in OWNERS if f"{bundle}.{role}." in owner)
        names = self.one("", "a", "ab")
        excluded = dict.fromkeys(names, "recovering from this node")
        return Request(
            owner=f"default/{bundle}.{role}.{job}",
            pool="main",
            bundle=bundle,
            role=role,
            job=job,
            amounts=amounts,
            room=self.one(None, amounts.plus(Amounts(1000)), amounts.plus(Amounts(500, 1, 1))),
            ports=self.one((), ("80/tcp",), ("81/tcp", "80/tcp"), odd=0.4),
            group_ports=self.one((), ("80/udp",)),
            labels=self.one({}, {SYSTEM_LABEL: "*"}, {"disk": "ssd"}, {"disk": "*", SYSTEM_LABEL: "1"}, odd=0.4),
            pin=self.one(None, "a", odd=0.05),
            excluded=excluded,
            second_chance=self.any(frozenset(), frozenset(excluded)),
            exclusive=self.one(False, True),
            together=self.one(frozenset(), self.some(*replica)),
            separate=self.one(frozenset(), self.some(*replica)),
            forbid=Forbid(
                self.one(frozenset("a"), frozenset(), frozenset("bc"), odd=0.6),
                self.any(frozenset(), frozenset("x")),
                self.any(frozenset(), frozenset({"aws"})),
            ),
            same_zone=self.any("off", "soft", "hard"),
            peers=self.one(replica, frozenset()),
            images=self.some("i1", "i2", "i3"),
            template=self.any(None, "vod", "live"),
            override_reservation=self.one(False, True),
            spare=self.any("avoid", "prefer", "any"),
            tenant=self.any(None, "acme"),
            devices=self.one((), self.asks(), odd=0.4),
            group_devices=self.one((), self.asks(), odd=0.05),
            start=self.any(None, 100.0),
            end=self.one(None, 155.0, 200.0),
            at_once=self.one(True, False),
            holders=self.one(frozenset({f"default/{bundle}", f"default/{bundle}.{role}.{job}"}), frozenset()),
        )

    def world(self) -> World:
        names = self.random.sample(NAMES, self.any(*range(len(NAMES) + 1)))
        allocations = self.random.sample(ALLOCATIONS, self.any(*range(len(ALLOCATIONS) + 1)))
        return World(
            tuple(self.node(name) for name in names),
            tuple(self.claim(allocation) for allocation in allocations),
            self.policy(),
        )

    def write(self) -> tuple[str, Any]:
        """One write to a fleet view: its verb and what it is given."""
        verb = self.any("put_node", "put_claim", "put_claim", "drop_claim", "drop_claim", "remove_node")
        match verb:
            case "put_node":
                return verb, self.node()
            case "put_claim":
                return verb, self.claim()
            case "drop_claim":
                return verb, self.any(*ALLOCATIONS)
            case _:
                return verb, self.any(*NAMES)


sources = st.integers(0, 2**48).map(Source)
