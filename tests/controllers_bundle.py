"""A stage for the bundle controller: one bundle and its jobs in a dictionary, and passes that run over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from controllers.bundle import BundleController
from controllers.bundles.view import BundleView, Domain
from controllers.run_fingerprint import run_fingerprint
from controllers.runtime.decision import Apply, Decision, Delete, Facts
from resources import conditions
from resources.bundle import Bundle, BundleSpec, BundleStatus
from resources.conditions import condition
from resources.job import Job, JobSpec, JobStatus
from resources.reference import Ref
from resources.template import TemplateSpec
from tests.builders import a_bundle

NOW = 1_000_000.0
CEILING = "RestartCeiling: exit 1; all 6 restarts of the last hour are used (13:46:40Z)"


@dataclass
class BundleStage:
    """One bundle and its jobs. `run` decides once and carries it out; jobs move when a test says so."""

    bundle: Bundle
    jobs: dict[str, Job] = field(default_factory=dict)
    templates: dict[str, TemplateSpec] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)
    now: float = NOW

    @classmethod
    def of(cls, *entries: dict[str, Any], **fields: Any) -> BundleStage:
        document = a_bundle(*entries, **fields)
        ref = Ref("bundle", "ch", "default")
        return cls(Bundle(ref, "b", 1, 1, BundleSpec.model_validate(document), BundleStatus(), document))

    def change(self, *entries: dict[str, Any], **fields: Any) -> BundleStage:
        document = {**self.bundle.document, **fields, **({"jobs": list(entries)} if entries else {})}
        spec = BundleSpec.model_validate(document)
        self.bundle = replace(self.bundle, document=document, spec=spec, generation=self.bundle.generation + 1)
        return self

    def decide(self) -> Decision:
        view = BundleView(tuple(self.jobs[name] for name in sorted(self.jobs)), self.templates, self.domains)
        return BundleController().decide(self.bundle, view, Facts(now=self.now))

    def run(self) -> Decision:
        decision = self.decide()
        assert self.decide() == decision
        for child in decision.children:
            self._write(child)
        status = decision.status
        assert isinstance(status, BundleStatus)
        merged = conditions.merge(
            self.bundle.status.conditions, status.conditions, generation=self.bundle.generation, now=self.now
        )
        stored = status.model_copy(update={"conditions": merged})
        stored = BundleStatus.model_validate_json(stored.model_dump_json(by_alias=True))
        finalizers = self.bundle.finalizers if decision.finalizers is None else decision.finalizers
        self.bundle = replace(self.bundle, status=stored, finalizers=finalizers)
        return decision

    def _write(self, child: Apply | Delete) -> None:
        name = child.ref.name
        if isinstance(child, Delete):
            self.jobs[name] = replace(self.jobs[name], deletion_timestamp=self.now)
            return
        old = self.jobs.get(name)
        if old is None:
            spec = JobSpec.model_validate(child.spec)
            self.jobs[name] = Job(
                child.ref, f"u-{name}", 1, 1, spec, JobStatus(), child.spec, dict(child.labels), {}, child.finalizers
            )
            return
        kept = {key: value for key, value in old.document.items() if key in ("active", "restartedAt")}
        document = {**kept, **child.spec}
        spec = JobSpec.model_validate(document)
        self.jobs[name] = replace(old, document=document, spec=spec, generation=old.generation + 1)

    def job(
        self,
        name: str,
        phase: str = "running",
        ready: tuple[bool | None, str] = (True, "Running"),
        *,
        message: str = "said by its controller",
        unfit: str = "",
        **status: Any,
    ) -> BundleStage:
        """Its controller has had its say on the spec as it stands."""
        job = self.jobs[name]
        told = [condition("Ready", *ready, message)]
        if unfit:
            told.append(condition("Unschedulable", True, "NoFit", unfit))
        fields = {
            "phase": phase,
            "conditions": tuple(c.model_copy(update={"observed_generation": job.generation}) for c in told),
            "observed_generation": job.generation,
            "run_fingerprint": run_fingerprint(job.spec),
            "history_generation": job.spec.history_generation,
            **status,
        }
        self.jobs[name] = replace(job, status=job.status.model_copy(update=fields))
        return self

    def all(self, *args: Any, **status: Any) -> BundleStage:
        for name in self.jobs:
            self.job(name, *args, **status)
        return self

    def seen(self) -> BundleStage:
        """Every controller has passed over its job's present spec without changing what it says of the run."""
        for name, job in self.jobs.items():
            status = job.status.model_copy(
                update={"observed_generation": job.generation, "history_generation": job.spec.history_generation}
            )
            self.jobs[name] = replace(job, status=status)
        return self

    def given_up(self, name: str, terminal: str) -> BundleStage:
        return self.job(name, "dropped", (False, "Dropped"), terminal=terminal)

    def said(self, type_: str = "Ready") -> tuple[str, str, str] | None:
        found = conditions.find(self.bundle.status.conditions, type_)
        return None if found is None else (found.status, found.reason, found.message)

    def written(self, decision: Decision) -> list[str]:
        return [child.ref.name for child in decision.children]

    def up(self) -> BundleStage:
        self.run()
        self.all()
        self.run()
        return self
