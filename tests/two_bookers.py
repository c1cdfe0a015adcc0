"""One of several processes that book atoms of one store: `python -m tests.two_bookers DATABASE PLACER NAME`.

Each plans on a view of its own that does not hear of the other's writes, so that the guards have to decide.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from controllers.placers.contract import Context, Placed
from controllers.placers.registry import PLACERS
from controllers.placing import policy_of
from controllers.runtime.environment import Threads
from controllers.runtime.fleet import Fleet
from controllers.scheduling import Scheduling
from resources.devices import Device
from resources.pool import PoolSpec
from resources.reference import Ref
from resources.reservation import Reservation, ReservationSpec, ReservationStatus
from store import bookings, ledger, resources
from store.engine import open_engine
from store.errors import Short
from store.store import Store
from tests.builders import POOL, a_pool
from tests.two_writers import driver

NODES, ATOMS, REQUESTS = 10, 10, 200
LIMITS = {"rmctl/cap.devices.limits": "1"}


def prepare(data: Path) -> None:
    """A hundred atoms on ten nodes."""
    store = Store.open(data, Threads(), synchronous="OFF")
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    for number in range(NODES):
        name = f"n{number}"
        cards = tuple(Device(f"{name}-{at}", "gpu") for at in range(ATOMS))
        store.write(lambda tx, n=name: resources.create(tx, Ref("node", n), {"pool": POOL.name}, labels=LIMITS))
        store.write(lambda tx, n=name: ledger.set_room(tx, n, POOL.name, {"vcpu": (1000, 1000)}))
        store.write(lambda tx, n=name, c=cards: bookings.set_devices(tx, n, c))
    store.close()


def a_reservation(name: str, draw: Random) -> Reservation:
    start = float(draw.randrange(0, 40) * 10)
    ask = draw.choice(({"class": "gpu", "count": draw.choice((1, 2, 4))}, {"class": "gpu", "units": 400}))
    document = {"pool": POOL.name, "devices": [ask], "durationSeconds": draw.choice((10, 50, 100))}
    spec = ReservationSpec.model_validate(document).model_copy(update={"start": 1000.0 + start})
    return Reservation(Ref("reservation", name, "default"), name, 1, 1, spec, ReservationStatus(), document)


def main(database: Path, placer: str, name: str) -> tuple[int, int]:
    """How many it placed, and how many races it lost."""
    store = Store(open_engine(database, synchronous="OFF", module=driver()), Threads())
    store.start()
    fleet = Fleet(store, Scheduling(placer=placer))
    fleet.hydrate()
    print("ready", flush=True)
    sys.stdin.readline()
    draw, placed, lost = Random(name), 0, 0
    policy = policy_of(PoolSpec.model_validate(a_pool()))
    for number in range(REQUESTS):
        asked = a_reservation(f"{name}-{number}", draw)
        excluded: dict[str, str] = {}
        for _ in range(3):
            with fleet.planning():
                context = Context(fleet.view, policy, 1000.0, number, dict(excluded), [asked])
                answer = PLACERS[placer].place(asked, context)
            if not isinstance(answer, Placed):
                break
            try:
                store.write(lambda tx: [ledger.reserve(tx, c.allocation, c.labels) for c in answer.claims])  # noqa: B023
            except Short as short:
                excluded[short.node] = short.reason
                lost += 1
            else:
                placed += 1
                break
    store.close()
    return placed, lost


if __name__ == "__main__":
    print(*main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]), flush=True)
