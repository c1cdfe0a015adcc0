"""A stage for the job controller: fleet, ledger and effects in plain dictionaries, and one job that passes run over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from controllers.expansion import INSTANCE_FINALIZER
from controllers.job import JobController
from controllers.jobs.view import JobView, NodeState, Sibling
from controllers.placing import Mate
from controllers.runtime.decision import Decision, Facts, Release, Reserve
from controllers.runtime.seen import seen
from placement import Amounts, FleetView, NodeView
from resources import conditions
from resources.allocation import Allocation
from resources.canonical import Document
from resources.conditions import Condition
from resources.effect import EffectRecord
from resources.event import Event
from resources.facts import Instance
from resources.job import Job, JobSpec, JobStatus
from resources.pool import Pool, PoolSpec, PoolStatus
from resources.reference import Ref
from tests.builders import a_pool

START = 1_000_000.0
FRACTION = 0.000_25
"""Instants are kept in milliseconds: what a status says is not what a clock said."""
UID = "u-1"


def a_job_spec(**fields: Any) -> Document:
    requirements = {"requiredCapacity": 1, "onRuntimeFailure": "avoidSpare", **fields.pop("requirements", {})}
    names = {"bundle": "ch", "role": "primary", "index": 0, "pool": "local", "jobName": "web"}
    return {**names, "command": ["run"], "requirements": requirements, **fields}


def a_job(
    status: JobStatus | None = None, *, name: str = "ch.primary.web", uid: str = UID, generation: int = 1, **spec: Any
) -> Job:
    document = a_job_spec(**spec)
    return Job(
        ref=Ref("job", name, "default"),
        uid=uid,
        generation=generation,
        resource_version=1,
        spec=JobSpec.model_validate(document),
        status=status or JobStatus(),
        document=document,
        finalizers=(INSTANCE_FINALIZER,),
    )


def a_pool_resource(**fields: Any) -> Pool:
    document = a_pool(**fields)
    return Pool(Ref("pool", "local"), "p", 1, 1, PoolSpec.model_validate(document), PoolStatus(), document)


@dataclass
class Stage:
    """`run` decides once and carries the decision out. Agents and effects move only when a test says so."""

    job: Job = field(default_factory=a_job)
    pool: Pool | None = field(default_factory=a_pool_resource)
    now: float = START
    nodes: dict[str, NodeState] = field(default_factory=dict)
    instances: dict[str, Instance] = field(default_factory=dict)
    effects: dict[str, EffectRecord] = field(default_factory=dict)
    allocations: dict[str, Allocation] = field(default_factory=dict)
    siblings: list[Sibling] = field(default_factory=list)
    fleet: FleetView = field(default_factory=FleetView)
    gone: bool = False
    cited: list[Event] = field(default_factory=list)

    def node(self, name: str, *, vcpu: int = 4, zone: str = "", **views: Any) -> Stage:
        self.nodes[name] = NodeState(name, zone=zone, address=f"at-{name}")
        labels = {"rmctl/driver.process": ("1", "system"), **views.pop("labels", {})}
        view = NodeView(name=name, pool="local", tier="local", zone=zone, cloud="local-servers",
                        capacity=Amounts(vcpu * 1000, vcpu, 4096), labels=labels, **views)  # fmt: skip
        self.fleet.put_node(view)
        return self

    def state(self, name: str, **fields: Any) -> Stage:
        """What a pass sees of a node; a silent or lost one takes no new work."""
        self.nodes[name] = replace(self.nodes[name], **fields)
        view = self.fleet.node(name)
        assert view is not None
        closed = self.nodes[name].silent or self.nodes[name].lost
        self.fleet.put_node(replace(view, no_schedule=("unreachable",) if closed else ()))
        return self

    def sibling(
        self, name: str, *, waits: bool = False, untried: bool = False, on: str | None = None, **spec: Any
    ) -> Stage:
        job = a_job(name=name, uid=name, **{"jobName": name.rsplit(".", 1)[1], **spec})
        self.siblings.append(Sibling(job.ref, Mate(job.ref, job.spec), untried=untried, waits=waits))
        if on is not None:
            amount = int(job.spec.requirements.required_capacity * 1000)
            self.fleet.put_claim(seen(Allocation(f"{name}.1.1", name, job.ref, f"{name}.1.1", "local", on, amount)))
        return self

    def view(self) -> JobView:
        return JobView(
            pool=self.pool,
            allocations=tuple(self.allocations[key] for key in sorted(self.allocations)),
            instances=tuple(self.instances[key] for key in sorted(self.instances)),
            effects=dict(self.effects),
            nodes=dict(self.nodes),
            siblings=tuple(self.siblings),
            fleet=self.fleet,
        )

    def decide(self, **excluded: str) -> Decision:
        return JobController().decide(self.job, self.view(), Facts(now=self.now + FRACTION, seed=1, excluded=excluded))

    def run(self) -> Decision:
        """One pass, committed; deciding on the same inputs twice says the same."""
        decision = self.decide()
        assert self.decide() == decision
        self.commit(decision)
        return decision

    def settle(self, most: int = 10) -> Decision:
        """Passes until one changes nothing."""
        for _ in range(most):
            before = (self.job, dict(self.allocations), dict(self.effects))
            decision = self.run()
            if before == (self.job, self.allocations, self.effects):
                return decision
        raise AssertionError(f"still moving after {most} passes")

    def commit(self, decision: Decision) -> None:
        status = decision.status
        assert isinstance(status, JobStatus)
        for claim in decision.claims:
            match claim:
                case Release(allocation_id=allocation):
                    self.allocations.pop(allocation, None)
                    self.fleet.drop_claim(allocation)
                case Reserve(allocation=allocation):
                    self.allocations[allocation.id] = allocation
                    self.fleet.put_claim(seen(allocation))
        for key in decision.cancel:
            self.withdraw(key)
        for effect in decision.effects:
            assert effect.key not in self.effects, f"{effect.key} twice"
            self.effects[effect.key] = EffectRecord(
                self.job.uid, effect.key, self.job.ref, effect.kind, effect.provider, effect.target,
                self.job.generation, effect.fingerprint, effect.request, "pending", 0, self.now,
            )  # fmt: skip
        merged = conditions.merge(
            self.job.status.conditions, status.conditions, generation=self.job.generation, now=self.now
        )
        stored = status.model_copy(update={"conditions": merged, "observed_generation": self.job.generation})
        if decision.cite is not None:
            self.cited.append(decision.cite)
            stored = stored.model_copy(update={"decision": str(len(self.cited))})
        stored = JobStatus.model_validate_json(stored.model_dump_json(by_alias=True))
        finalizers = self.job.finalizers if decision.finalizers is None else decision.finalizers
        self.job = replace(self.job, status=stored, finalizers=finalizers)
        self.gone = self.job.deleting and not finalizers

    def withdraw(self, key: str) -> None:
        """A start that nobody had tried yet."""
        self.answer(key, "rejected", code="cancelled")

    def spec(self, **fields: Any) -> Stage:
        """Another spec, one generation on."""
        document = {**self.job.document, **fields}
        spec = JobSpec.model_validate(document)
        self.job = replace(self.job, document=document, spec=spec, generation=self.job.generation + 1)
        return self

    def after(self, seconds: float) -> Stage:
        self.now += seconds
        return self

    def answer(self, key: str, state: str, *, code: str | None = None, error: str | None = None) -> Stage:
        record = self.effects[key]
        completed = self.now if state in ("applied", "rejected") else None
        self.effects[key] = replace(
            record, state=state, code=code, error=error, completed_at=completed, attempts=1, started_at=self.now
        )  # type: ignore[arg-type]
        return self

    @property
    def instance_id(self) -> str:
        """Of the instance that is wanted now."""
        return f"{self.job.uid}.{self.job.status.run_generation}.{self.job.status.attempt}"

    def told(self, state: str, instance: str | None = None, **fields: Any) -> Stage:
        """Its agent reports the wanted instance, or another."""
        name = instance or self.instance_id
        attempt = int(name.rsplit(".", 1)[1])
        node = self.allocations[name].node if name in self.allocations else self.instances[name].node
        known = self.instances.get(name) or Instance(self.job.uid, name, "primary", node, attempt, "starting")
        at = self.now + FRACTION
        times = {"ready": {"ready_at": at}, "running": {"started_at": at}}.get(state, {})
        self.instances[name] = replace(known, **{"state": state, "at": at, **times, **fields})
        return self

    def up(self) -> Stage:
        """Placed, started and ready."""
        self.run()
        self.answer(f"start/{self.job.status.run_generation}/{self.job.status.attempt}", "applied")
        self.told("running", pid=77).told("ready").run()
        return self

    def ended(self, *, code: int | None = 1, ran: float = 2.5, **fields: Any) -> Stage:
        self.told("exited", code=code, ran_seconds=ran, **fields).run()
        return self

    def condition(self, type_: str) -> Condition | None:
        return conditions.find(self.job.status.conditions, type_)

    def said(self, type_: str = "Ready") -> tuple[str, str, str] | None:
        found = self.condition(type_)
        return None if found is None else (found.status, found.reason, found.message)


def stage(*nodes: str, **spec: object) -> Stage:
    on = Stage(a_job(**spec))
    for name in nodes or ("node-a", "node-b"):
        on.node(name)
    return on


def begun(on: Stage) -> Stage:
    """The start that was ordered is carried out, and the instance becomes ready."""
    status = on.job.status
    on.answer(f"start/{status.run_generation}/{status.attempt}", "applied").told("running").told("ready").run()
    return on


def crash(on: Stage, **fields: object) -> float:
    """Fail, wait out the spacing, start again; how long that took."""
    on.ended(**fields)  # type: ignore[arg-type]
    due = on.job.status.next_start_at
    assert due is not None
    waited = due - on.now
    on.after(waited).run()
    begun(on)
    return waited
