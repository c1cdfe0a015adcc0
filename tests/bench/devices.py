"""B9: GPU placement on 10,000 nodes of eight cards, with selectors and nvlink-all, against the full plan."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from statistics import median
from time import thread_time

from placement import (
    Amounts,
    Ask,
    Atom,
    Claim,
    FleetView,
    NodeView,
    Placed,
    PoolPolicy,
    Request,
    TierPolicy,
    board,
    claim_for,
    place,
    plan,
)
from resources.selector_text import parse_devices
from tests.bench.figures import Figure

NODES, CARDS, WARM_UP, ROUNDS, JUDGED = 10_000, 8, 200, 1_200, 6
POLICY = PoolPolicy(tiers=(TierPolicy(name="local"),))
MODELS = (("H100", "80"), ("A100", "40"), ("L4", "24"))
KINDS = (
    (1, "gpuModel = H100", "any"),
    (2, "vramGiB >= 40", "nvlink-all"),
    (4, "gpuModel in (H100, A100)", "nvlink-all"),
    (8, "gpuModel = H100", "nvlink-all"),
)


def a_node(name: str, random: Random) -> NodeView:
    """All cards of an H100 are linked, those of an A100 by fours, those of an L4 not at all."""
    kind = random.randrange(3)
    model, vram = MODELS[kind]
    atoms = [
        Atom(f"{name}-{at}", "gpu", (("gpuModel", model), ("vramGiB", vram)), at // 4, position=at)
        for at in range(CARDS)
    ]
    links = {
        (atoms[a].id, atoms[b].id): "NV4" if kind == 0 or (kind == 1 and a // 4 == b // 4) else "PHB"
        for a in range(CARDS)
        for b in range(a + 1, CARDS)
    }
    capacity = Amounts(64_000, 64, 1 << 19)
    return NodeView(
        name=name, pool="main", tier="local", zone=random.choice("abc"), capacity=capacity, board=board(atoms, links)
    )


def a_fleet(random: Random) -> FleetView:
    fleet = FleetView()
    for number in range(NODES):
        name = f"n{number:05}"
        fleet.put_node(a_node(name, random))
        for slot in range(random.randrange(5)):
            cards = random.sample(range(CARDS), random.choice((1, 1, 2)))
            amounts = Amounts(random.choice((1000, 2000, 4000)), 0, 1024)
            devices = tuple((f"{name}-{card}", 1000) for card in cards)
            fleet.put_claim(
                Claim(f"{name}/{slot}", name, f"default/o{number}.primary.{slot}", amounts, devices=devices)
            )
    return fleet


def a_request(number: int, count: int, selector: str, topology: str, **window: float) -> Request:
    ask = Ask("gpu", count, selector=parse_devices(selector), topology=topology)  # type: ignore[arg-type]
    return Request(
        owner=f"default/q{number}.primary.e", pool="main", bundle=f"q{number}", role="primary", job="e",
        amounts=Amounts(4000, 0, 2048), devices=(ask,), **window,
    )  # fmt: skip


def timed(request: Request, fleet: FleetView, planner: Callable[..., object]) -> tuple[float, object]:
    began = thread_time()
    done = planner(request, fleet, POLICY)
    return thread_time() - began, done.answer  # type: ignore[attr-defined]


def measure() -> list[Figure]:
    """Jobs come and stay; now and then the full plan is asked the same."""
    fleet = a_fleet(Random(5))
    quick: list[float] = []
    slow: list[float] = []
    wrong = 0
    for number in range(ROUNDS):
        request = a_request(number, *KINDS[number % len(KINDS)])
        seconds, answer = timed(request, fleet, place)
        quick.append(seconds)
        if number % (ROUNDS // JUDGED) == 0:
            seconds, told = timed(request, fleet, plan)
            slow.append(seconds)
            wrong += told != answer
        if isinstance(answer, Placed):
            fleet.put_claim(claim_for(request, answer.node, f"new/{number}", answer.devices))
    found = median(quick[WARM_UP:])
    failed = median(timed(a_request(n, 8, "gpuModel = L4", "nvlink-all"), fleet, place)[0] for n in range(50))
    later = {"start": 1000.0, "end": 2000.0}
    window = median(
        timed(a_request(n, 2, "gpuModel = H100", "nvlink-all", **later), fleet, place)[0] for n in range(50)
    )
    return [
        Figure(
            "B9 placed", f"{found * 1e6:.0f} µs, full plan {median(slow) * 1e3:.0f} ms", "≤ 150 µs", found <= 150e-6
        ),
        Figure("B9 nowhere", f"{failed * 1e6:.0f} µs", "≤ 500 µs", failed <= 500e-6),
        Figure("B9 future window", f"{window * 1e6:.0f} µs", "≤ 1000 µs", window <= 1e-3),
        Figure("B9 same answer", f"{JUDGED - wrong} of {JUDGED}", "all", wrong == 0),
    ]
