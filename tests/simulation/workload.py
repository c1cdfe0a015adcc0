"""What a simulated client does: applies, changes, deletes, stops, starts, cordons, and remembers what was answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from controllers.nodes.life import LOST_ANNOTATION
from resources.canonical import Document, canonical
from resources.instants import rfc3339
from resources.reference import Ref
from resources.resource import Resource
from store import resources
from store.tx import Tx
from tests.builders import a_job_entry
from tests.simulation.agent import STOPS_SECONDS
from tests.simulation.server import LOST

if TYPE_CHECKING:
    from tests.simulation.world import World

PROJECT = "default"
TEMPLATES = ("encode", "mux")
ANSWER_SECONDS = 30.0
STANDING: dict[tuple[str, str], Document] = {
    ("reservation", "short"): {"pool": "local", "amounts": {"vcpuMilli": 100}, "durationSeconds": 90},
    ("reservation", "held"): {"pool": "local", "amounts": {"vcpuMilli": 1500}, "durationSeconds": 150, "holder": "b0"},
    ("reservation", "vain"): {"pool": "local", "devices": [{"class": "gpu", "count": 1}]},
    ("schedule", "often"): {"cron": "*/2 * * * *", "wakes": [{"kind": "bundle", "key": "b0"}]},
    ("webhook", "idle"): {
        "secret": {"secret": "forge", "key": "token"},
        "wakes": [{"kind": "bundle", "key": "b0"}],
    },
}
"""What is there from the beginning: reservations that come to their end, one of them a bundle's, one in vain, wakes."""
PATIENCES = ((15, 60), (12, 45), (8, 30))
"""After how many seconds a node is silent, and lost."""


class Client:
    """`acknowledged` holds what each bundle must be stored as, None for none; a lost answer leaves it open."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random
        self._last = ""
        self.acknowledged: dict[str, str | None] = {}
        self.given_up: set[str] = set()
        """Nodes that a person said will not come back."""

    def run(self) -> None:
        profile = self._world.profile
        for name in TEMPLATES:
            self._template(name)
        for (kind, name), document in STANDING.items():
            self._place(Ref(kind, name, PROJECT), document)
        names, weights = list(profile.operations), list(profile.operations.values())
        for _ in range(profile.changes):
            self._world.scheduler.sleep(self._random.choice(profile.pauses))
            operation = self._random.choices(names, weights)[0]
            getattr(self, "_" + operation.replace(" ", "_"))()

    def _write(self, work: Callable[[Tx], Any]) -> Any:
        while self._world.server is None:
            self._world.scheduler.sleep(0.5)
        server = self._world.server
        self._world.counts["writes"] += 1
        return server.call(lambda: server.store.write(work), ANSWER_SECONDS)

    def _some(self) -> str:
        self._last = f"b{self._random.randrange(self._world.profile.bundles)}"
        return self._last

    def _apply(self) -> None:
        self._put(self._some(), self._bundle())

    def _again(self) -> None:
        name = self._last or self._some()
        self._put(name, self._random.choice([None, self._bundle()]))

    def _delete(self) -> None:
        self._put(self._some(), None)

    def _seesaw(self) -> None:
        """Two jobs share one room: one is stopped, and about when its room comes free the other one asks for it."""
        down, up = self._random.sample(("b0", "b1"), 2)
        for name in (down, up):
            if name not in self.acknowledged:
                entry = a_job_entry("j0", requirements={"requiredCapacity": 4}, startMode="manual")
                self._put(name, {"pool": "local", "jobs": [entry]})
        self._turn(down, active=False)
        there_and_back = 2 * self._world.nodes[0].link.up.latency
        self._world.scheduler.sleep(self._random.choice(STOPS_SECONDS) + there_and_back)
        self._turn(up, active=True)

    def _turn(self, bundle: str, *, active: bool) -> None:
        def turn(tx: Tx) -> None:
            job = resources.find(tx, Ref("job", f"{bundle}.primary.j0", PROJECT))
            if job is not None:
                _set_active(tx, job, active=active, now=not active)

        self._write(turn)

    def _put(self, name: str, document: Document | None) -> None:
        ref = Ref("bundle", name, PROJECT)

        def apply(tx: Tx) -> str | None:
            found = resources.find(tx, ref)
            if document is None:
                if found is not None:
                    resources.request_deletion(tx, found)
                return None
            if found is None:
                resources.create(tx, ref, document, finalizers=("rmctl/jobs",))
            elif not found.deleting:
                resources.replace(tx, found, document=document)
            elif canonical(found.document) != canonical(document):
                resources.revive(tx, found, document)
            else:
                return None
            return canonical(document)

        self.acknowledged.pop(name, None)
        answer = self._write(apply)
        if answer is not LOST and not isinstance(answer, Exception):
            self.acknowledged[name] = answer

    def _bundle(self) -> Document:
        pick, profile = self._random.choice, self._world.profile
        jobs = [self._entry(f"j{number}") for number in range(pick([1, 1, 2, 3]))]
        if len(jobs) > 1 and self._random.random() < 0.3:
            jobs[1][pick(["coLocateWith", "separateFrom"])] = ["j0"]
        more: Document = {}
        if self._random.random() < profile.copies:
            more["resiliencePolicy"] = {"sameNode": pick(["forbid", "allow"])}
            more["update"] = {"strategy": pick(["backupFirst", "allAtOnce"]), "readyTimeoutSeconds": 60}
        return {"pool": "local", "jobs": jobs, **more}

    def _entry(self, name: str) -> Document:
        pick, profile = self._random.choice, self._world.profile
        parameters: Document = {"v": self._random.randrange(2)}
        if self._random.random() < profile.crashers:
            parameters |= {"exits": pick([0.5, 5, 20, 400]), "code": pick([1, 1, 0])}
        elif self._random.random() < 0.03:
            parameters["invalid"] = True
        more: Document = {"template": pick(TEMPLATES)} if self._random.random() < 0.3 else {}
        requirements: Document = {
            "requiredCapacity": pick(profile.sizes),
            "essential": pick([True, True, False]),
            "onRuntimeFailure": pick(["avoidSpare", "avoidSpare", "avoidSpare", "drop"]),
        }
        if self._random.random() < 0.2:
            requirements["requiredHostPorts"] = [pick(["8001/tcp", "8002/tcp"])]
        return a_job_entry(
            name,
            parameters=parameters,
            requirements=requirements,
            onDisconnect=pick(profile.disconnect),
            startMode=pick(["auto"] * 7 + ["manual"]),
            **more,
        )

    def _stop(self) -> None:
        self._switch(active=False, now=self._random.random() < 0.5)

    def _start(self) -> None:
        self._switch(active=True)

    def _switch(self, *, active: bool, now: bool = False) -> None:
        draw = self._random.random()

        def switch(tx: Tx) -> None:
            jobs = [job for job in resources.list_all(tx, "job", PROJECT) if not job.deleting]
            if jobs:
                job = jobs[int(draw * len(jobs))]
                _set_active(tx, job, active=active, now=now)

        self._write(switch)

    def _restart(self) -> None:
        ref = Ref("bundle", self._some(), PROJECT)

        def restart(tx: Tx) -> str | None:
            found = resources.find(tx, ref)
            if found is None or found.deleting:
                return None
            document = {**found.document, "restartedAt": rfc3339(tx.now)}
            return canonical(resources.replace(tx, found, document=document).document)

        self.acknowledged.pop(ref.name, None)
        answer = self._write(restart)
        if answer is not LOST and not isinstance(answer, Exception):
            self.acknowledged[ref.name] = answer

    def _cordon(self) -> None:
        ref = Ref("node", self._random.choice(self._world.nodes).name)
        cordoned = self._random.random() < 0.5

        def cordon(tx: Tx) -> None:
            found = resources.find(tx, ref)
            if found is not None:
                resources.replace(tx, found, document={**found.document, "cordoned": cordoned})

        self._write(cordon)

    def _give_up(self) -> None:
        """A person says of a node that is away that it will not come back."""
        away = [node for node in self._world.nodes if not node.link.open]
        if away:
            ref = Ref("node", self._random.choice(away).name)
            self.given_up.add(ref.name)

            def give_up(tx: Tx) -> None:
                found = resources.find(tx, ref)
                if found is not None and found.status.phase in ("silent", "lost"):
                    said = {**found.annotations, LOST_ANNOTATION: rfc3339(tx.now)}
                    resources.replace(tx, found, annotations=said)

            self._write(give_up)

    def _patience(self) -> None:
        """Another word on when a node is silent, and when it is lost."""
        ref, limits = Ref("pool", "local"), self._random.choice(PATIENCES)

        def change(tx: Tx) -> None:
            pool = resources.get(tx, ref)
            disconnect = {"silentSeconds": limits[0], "lostSeconds": limits[1]}
            resources.replace(tx, pool, document={**pool.document, "disconnect": disconnect})

        self._world.lost_seconds = min(self._world.lost_seconds, limits[1])
        self._write(change)

    def _place(self, ref: Ref, document: Document) -> None:
        self._write(lambda tx: resources.find(tx, ref) or resources.create(tx, ref, document))

    def _template(self, name: str | None = None) -> None:
        ref = Ref("template", name or self._random.choice(TEMPLATES), PROJECT)
        document: Document = {"env": {"LEVEL": str(self._random.randrange(3))}}

        def put(tx: Tx) -> None:
            found = resources.find(tx, ref)
            if found is None:
                resources.create(tx, ref, document)
            else:
                resources.replace(tx, found, document=document)

        self._write(put)


def _set_active(tx: Tx, job: Resource[Any, Any], *, active: bool, now: bool) -> None:
    """As `rmctl start` and `rmctl stop` do; `now` ends what runs."""
    more = {"restartedAt": rfc3339(tx.now)} if now else {}
    resources.replace(tx, job, document={**job.document, "active": active, **more})
