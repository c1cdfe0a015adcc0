"""B9: GPU placement on 10,000 nodes of eight cards, with selectors, nvlink-all and windows, against the full plan."""

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
from tests.bench.figures import Figure, percentile

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
    failed, said = refused(fleet)
    window, slowest, no_window, windows_right = windows(fleet)
    wrong += (not said) + (not windows_right)
    return [
        Figure(
            "B9 placed", f"{found * 1e6:.0f} µs, full plan {median(slow) * 1e3:.0f} ms", "≤ 150 µs", found <= 150e-6
        ),
        Figure("B9 nowhere, reasons", f"{failed * 1e6:.0f} µs", "≤ 500 µs", failed <= 500e-6),
        Figure(
            "B9 any future window",
            f"{window * 1e6:.0f} µs, the slowest tenth from {slowest * 1e6:.0f}",
            "≤ 1000 µs",
            window <= 1e-3,
        ),
        Figure("B9 no such window", f"{no_window * 1e6:.0f} µs", "≤ 1000 µs", no_window <= 1e-3),
        Figure("B9 same answer", f"{JUDGED + 2 - wrong} of {JUDGED + 2}", "all", wrong == 0),
    ]


def refused(fleet: FleetView) -> tuple[float, bool]:
    """A no with the counts of its reasons, while claims go and come; and whether the full plan says the same."""
    seconds = []
    for number in range(ROUNDS // 4):
        request = a_request(number, 8, "gpuModel = L4", "nvlink-all")
        seconds.append(timed(request, fleet, place)[0])
        claim = fleet.claim(f"new/{number}")
        if claim is not None:
            fleet.drop_claim(claim.allocation)
            fleet.put_claim(claim)
    return median(seconds), place(request, fleet, POLICY).answer == plan(request, fleet, POLICY).answer


def windows(fleet: FleetView) -> tuple[float, float, float, bool]:
    """Every node has three bookings to come, and every question is about another window."""
    random = Random(7)
    for number in range(NODES):
        name = f"n{number:05}"
        for slot in range(3):
            start = random.uniform(0, 100_000)
            cards = random.sample(range(CARDS), random.choice((1, 2, 4)))
            devices = tuple((f"{name}-{card}", 1000) for card in cards)
            owner = f"default/r{number}-{slot}"
            end = start + random.uniform(1_000, 30_000)
            fleet.put_claim(Claim(f"{name}/r{slot}", name, owner, Amounts(), devices=devices, start=start, end=end))

    def asked(number: int, count: int, selector: str) -> Request:
        start = random.uniform(0, 90_000)
        return a_request(number, count, selector, "nvlink-all", start=start, end=start + random.uniform(100, 20_000))

    found = [timed(asked(number, 2, "gpuModel = H100"), fleet, place)[0] for number in range(60)][1:]
    nowhere = [timed(asked(number, 8, "gpuModel = L4"), fleet, place)[0] for number in range(60)][1:]
    last, none = asked(0, 4, "gpuModel in (H100, A100)"), asked(0, 8, "gpuModel = L4")
    same = [place(request, fleet, POLICY).answer == plan(request, fleet, POLICY).answer for request in (last, none)]
    return median(found), percentile(found, 0.9), median(nowhere), all(same)
