"""How cruel a run is and what it works on: profiles, and the rates that each seed draws within one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from random import Random


@dataclass(frozen=True)
class Rates:
    """How often things happen in a run: counts over it, or shares of one."""

    kills: float = 0
    stops: float = 0
    """Clean stops of the server."""
    cuts: float = 0
    lags: float = 0
    """Links whose answers come late before they are cut."""
    agent_kills: float = 0
    reboots: float = 0
    crashes: float = 0
    jumps: float = 0
    full: float = 0
    torn: float = 0
    """Share of commands whose answer is lost, half of them before they are carried out."""
    slow: float = 0
    """Share of commands that take long."""
    refusals: float = 0
    """Share of starts that an agent refuses."""
    stalls: float = 0
    """Share of steps at which a task of the server is left out for long."""
    liars: float = 0
    """Share of nodes that lie."""


OPERATIONS = {
    "apply": 6.0,
    "delete": 2.0,
    "stop": 1.0,
    "start": 1.0,
    "restart": 0.7,
    "cordon": 0.7,
    "template": 0.5,
    "give up": 0.2,
    "again": 1.5,
}
"""What the client does, by weight. `again` touches the bundle that it touched last, and at once."""


@dataclass(frozen=True)
class Profile:
    """`most` bounds what a seed draws; `always` holds for every seed."""

    name: str
    most: Rates = Rates()
    always: Rates = Rates()
    operations: Mapping[str, float] = field(default_factory=lambda: OPERATIONS)
    bundles: int = 4
    changes: int = 8
    nodes: int = 3
    pauses: tuple[float, ...] = (0.0, 0.1, 0.5, 3.0, 10.0, 30.0)
    """Seconds between two things that the client does."""
    sizes: tuple[float, ...] = (0.5, 1, 2)
    disconnect: tuple[str, ...] = ("replace", "replace", "stop", "hold")
    copies: float = 0.4
    """Share of bundles with a backup."""
    crashers: float = 0.15
    """Share of jobs that end by themselves."""
    stalled: tuple[str, ...] = ("pass-", "agents-", "waker", "dispatcher")
    """Threads that may fall behind by themselves, by how their names begin."""
    stall_seconds: tuple[float, ...] = (0.5, 3.0, 30.0, 130.0, 150.0)
    file: bool = False
    drift: float = 0.02

    def drawn(self, random: Random) -> Rates:
        """Each kind of fault is left out by some seeds, so that others show what they alone can do."""
        drawn = {}
        for one in fields(Rates):
            most, always = getattr(self.most, one.name), getattr(self.always, one.name)
            share = random.random()
            drawn[one.name] = max(always, most * random.random() if share < 0.6 else 0)
        return replace(Rates(), **drawn)


EVERYTHING = Rates(
    kills=3, stops=1, cuts=3, lags=0.5, agent_kills=2, reboots=2, crashes=4, jumps=1, torn=0.3, slow=0.2, refusals=0.1
)
DELETING = {**OPERATIONS, "delete": 5.0, "again": 5.0}
PROFILES = {
    profile.name: profile
    for profile in (
        Profile("all", replace(EVERYTHING, full=0.5, stalls=0.0005, liars=0.3)),
        Profile("quiet", changes=14, pauses=(0.0, 0.1, 0.5, 3.0)),
        Profile("partitions", Rates(cuts=4, kills=1, crashes=2), Rates(cuts=1), crashers=0.05),
        Profile(
            "answers",
            Rates(kills=3, cuts=3, agent_kills=2, torn=0.5, slow=0.3, refusals=0.2),
            Rates(torn=0.15),
            operations=DELETING,
            changes=12,
            pauses=(0.0, 0.1, 0.5, 1.0, 3.0, 10.0),
        ),
        Profile(
            "crowded",
            Rates(crashes=4, kills=1),
            operations=DELETING,
            bundles=6,
            changes=24,
            sizes=(1, 2, 2, 4),
            pauses=(0.0, 0.0, 0.1, 0.5, 3.0),
            crashers=0.05,
        ),
        Profile("restarts", Rates(kills=5, stops=3, agent_kills=5, reboots=4), Rates(kills=1, agent_kills=1)),
        Profile("clocks", Rates(jumps=4, cuts=3, kills=1, crashes=2), Rates(jumps=1), crashers=0.05),
        Profile(
            "leases",
            Rates(stalls=0.06, crashes=4),
            Rates(stalls=0.02, crashes=1),
            stalled=("pass-", "agents-"),
            stall_seconds=(121.0, 125.0, 150.0),
            changes=5,
            crashers=0.3,
            copies=0.0,
            file=True,
        ),
        Profile("seesaw", operations={"seesaw": 1.0}, nodes=1, changes=25, pauses=(7.0,), drift=0.1),
        Profile("stalls", Rates(stalls=0.004, kills=1, crashes=2, torn=0.1), Rates(stalls=0.0005)),
        Profile(
            "snapshots",
            replace(EVERYTHING, jumps=0),
            operations=DELETING,
            file=True,
            drift=0.01,
            pauses=(0.0, 0.1, 0.5, 3.0, 10.0),
        ),
        Profile("liars", Rates(liars=1, cuts=3, agent_kills=2), Rates(liars=0.4, cuts=1), crashers=0.0),
        Profile(
            "lags",
            Rates(lags=3, kills=0.3),
            Rates(lags=2),
            disconnect=("stop",),
            crashers=0.0,
            bundles=6,
            pauses=(0.0, 1.0),
        ),
        Profile("full", Rates(full=4, kills=1, cuts=1), Rates(full=1)),
        Profile(
            "slow",
            Rates(slow=0.7, torn=0.1, agent_kills=1),
            Rates(slow=0.4),
            operations={"apply": 5.0, "again": 3.0, "restart": 1.0},
            disconnect=("replace", "stop", "hold"),
            bundles=2,
            changes=16,
            pauses=(0.5, 3.0, 10.0, 30.0),
            crashers=0.0,
        ),
        Profile(
            "fickle",
            Rates(cuts=5, crashes=3),
            Rates(cuts=3),
            operations={"apply": 6.0, "restart": 1.0, "patience": 1.0},
            bundles=2,
            changes=16,
            pauses=(3.0, 10.0, 30.0),
            crashers=0.05,
            copies=0.0,
            disconnect=("stop", "stop", "replace"),
        ),
    )
}
