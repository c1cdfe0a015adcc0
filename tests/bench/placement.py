"""B7: one placement through the index against a loop over all nodes, at 10,000 and 100,000 nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from random import Random
from statistics import median, quantiles
from time import perf_counter

from placement import Amounts, Claim, FleetView, NodeView, PoolPolicy, Request, TierPolicy, claim_for, place
from placement.cascade import best_first, ranked
from placement.filters import refusal
from placement.scene import scene_of

Figure = tuple[str, str, str, bool]

POLICY = PoolPolicy(tiers=(TierPolicy(name="local"),))
MACHINES = ((4000, 16384), (8000, 32768), (16000, 65536))
SIZES = ((500, 512), (1000, 1024), (1000, 2048), (2000, 4096), (4000, 8192))
LABELS = ({}, {}, {}, {"rmctl/cap.nvenc": "*"})
PORTS = ((), (), ("8101/tcp",))


def a_fleet(nodes: int, random: Random) -> FleetView:
    """Three sizes of machine in three zones, a tenth with an encoder, a few cordoned, each about half full."""
    fleet = FleetView()
    for number in range(nodes):
        name = f"node-{number:06}"
        vcpu, memory = random.choice(MACHINES)
        nvenc = {"rmctl/cap.nvenc": ("1", "system")} if random.random() < 0.1 else {}
        node = NodeView(
            name=name,
            pool="main",
            tier="local",
            zone=random.choice("abc"),
            labels=nvenc,
            no_schedule=("cordoned",) if random.random() < 0.02 else (),
            capacity=Amounts(vcpu, vcpu // 1000, memory),
        )
        claims = {}
        for slot in range(random.randrange(vcpu // 1500)):
            vcpu_asked, memory_asked = random.choice(SIZES[:3])
            claim = Claim(
                f"{name}/{slot}", name, f"default/old-{number}.primary.{slot}", Amounts(vcpu_asked, 0, memory_asked)
            )
            claims[claim.allocation] = claim
        fleet.put_node(node)
        for claim in claims.values():
            fleet.put_claim(claim)
    return fleet


def requests(random: Random) -> Iterator[Request]:
    """Jobs of twenty kinds, over and over."""
    kinds = [
        (size, random.choice(LABELS), random.choice(PORTS), random.random() < 0.2) for size in SIZES for _ in range(4)
    ]
    for number, ((vcpu, memory), labels, ports, cores) in enumerate(cycle(kinds)):
        yield Request(
            owner=f"default/new-{number}.primary.encode",
            pool="main",
            bundle=f"new-{number}",
            role="primary",
            job="encode",
            amounts=Amounts(vcpu, 1 if cores else 0, memory),
            labels=labels,
            ports=ports,
        )


def brute_force(request: Request, fleet: FleetView) -> str | None:
    """Every rule on every node, the best kept."""
    scene = scene_of(request, fleet, POLICY.tiers[0])
    best = None
    for node in fleet.index("main").members.values():
        if refusal(request, node, scene) is None:
            entry = ranked(request, node, scene, POLICY.ranking)
            if best is None or best_first(entry) < best_first(best):
                best = entry
    return best and best.node


def run(nodes: int, placements: int, judged: int) -> tuple[float, float, float, int]:
    """(median seconds of the loop, of the index, its 99th percentile, answers that differ); each job stays where it is put."""
    random = Random(nodes)
    fleet, source = a_fleet(nodes, random), requests(random)
    quick, slow, wrong, live = [], [], 0, []
    for number in range(placements + 200):
        request = next(source)
        started = perf_counter()
        answer = place(request, fleet, POLICY).answer
        took = perf_counter() - started
        if number >= 200:
            quick.append(took)
            if (number - 200) % (placements // judged) == 0:
                started = perf_counter()
                node = brute_force(request, fleet)
                slow.append(perf_counter() - started)
                wrong += node != getattr(answer, "node", None)
        claim = claim_for(request, getattr(answer, "node", ""), f"new/{number}")
        fleet.put_claim(claim)
        live.append(claim.allocation)
        if len(live) > 400:
            fleet.drop_claim(live.pop(random.randrange(len(live))))
    return median(slow), median(quick), quantiles(quick, n=100)[98], wrong


def measure() -> list[Figure]:
    """Figures with their goals; the loop and the index take turns in one run."""
    small_loop, small, small_p99, small_wrong = run(10_000, 3_000, 30)
    large_loop, large, large_p99, large_wrong = run(100_000, 3_000, 6)

    def ratio(name: str, loop: float, quick: float, goal: float) -> Figure:
        return (
            name,
            f"{loop / quick:.0f} × ({loop * 1e3:.1f} ms, {quick * 1e6:.1f} µs)",
            f"≥ {goal:.0f} ×",
            loop / quick >= goal,
        )

    wrong = small_wrong + large_wrong
    return [
        ratio("B7 10,000 nodes, index against loop", small_loop, small, 100),
        ratio("B7 100,000 nodes, index against loop", large_loop, large, 1000),
        ("B7 10,000 nodes, p99", f"{small_p99 * 1e6:.0f} µs", "≤ 100 µs", small_p99 <= 100e-6),
        ("B7 100,000 nodes, p99", f"{large_p99 * 1e6:.0f} µs", "told only", True),
        ("B7 100,000 against 10,000 nodes", f"{large / small:.2f} ×", "≤ 2 ×", large / small <= 2),
        ("B7 answers that differ from the loop", f"{wrong} of 36", "0", wrong == 0),
    ]
