"""For tests of definitions: the real queue, store and passes, with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from controllers.definitions.executing import resolve
from controllers.definitions.loading import load
from controllers.definitions.passes import DefinitionPasses
from controllers.definitions.sdk import Definition
from controllers.runtime.environment import Threads
from resources import registry
from resources.canonical import Document
from resources.conditions import Condition, find
from resources.defined import status_of
from resources.effect import EffectRecord
from resources.reference import Ref
from resources.validation import FieldError, Invalid
from resources.wire import to_wire
from resources.workflow_run import Completion, RunRecord
from rmctl.rehearsals import Rehearsals
from store import effects, events, queue, resources, workflow_runs
from store.store import Store
from store.tx import Tx

START = 1_800_000_000.0
MOST_PASSES = 1000
__all__ = ["Clock", "Invalid", "Seen", "Trial"]


class Clock(Threads):
    """Unix seconds that stand still until the test advances them."""

    def __init__(self, time: float = START) -> None:
        super().__init__()
        self.time = time

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += seconds


@dataclass(frozen=True)
class Seen:
    """A resource as everybody sees it."""

    document: Document
    conditions: tuple[Condition, ...]

    @property
    def status(self) -> Document:
        """As JSON: camelCase, without what is null."""
        found: Document = self.document["status"]
        return found

    @property
    def finalizers(self) -> tuple[str, ...]:
        return tuple(self.document["metadata"].get("finalizers", ()))

    @property
    def generation(self) -> int:
        return int(self.document["metadata"]["generation"])

    def condition(self, type_: str) -> str:
        """`True/Reason`; empty where there is none."""
        found = find(self.conditions, type_)
        return f"{found.status}/{found.reason}" if found else ""

    @property
    def ready(self) -> bool:
        found = find(self.conditions, "Ready")
        return found is not None and found.status == "True" and found.observed_generation == self.generation


class Trial:
    """One definition on a store in memory. Use it in a `with`, or close it."""

    def __init__(self, definition: Definition | Path | str, *, project: str = "default") -> None:
        """A definition, or the path of its file."""
        self.definition = definition if isinstance(definition, Definition) else load(Path(definition))
        self.clock = Clock()
        self._project = project
        self._store = Store.in_memory(self.clock)
        self._runners = Rehearsals(self.definition, self.clock)
        self._passes = DefinitionPasses(self._store, self.clock, self._runners, self._runners)
        registry.define(self.definition.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    def apply(self, key: str, spec: Document) -> None:
        """As `rmctl apply`, and no pass is run. Raises Invalid for a spec that the definition does not take."""
        (proposal,) = resolve(self.definition, [spec])["proposals"]
        if "errors" in proposal:
            raise Invalid([FieldError(**error) for error in proposal["errors"]])
        ref = self._ref(key)

        def write(tx: Tx) -> None:
            live = resources.find(tx, ref)
            if live is None:
                resources.create(tx, ref, spec, status=status_of(proposal["status"]))
            else:
                resources.replace(tx, live, document=spec)

        self._store.write(write)

    def delete(self, key: str) -> None:
        """As `rmctl delete`, and no pass is run."""
        self._store.write(lambda tx: resources.request_deletion(tx, resources.get(tx, self._ref(key))))

    def wake(self, key: str) -> None:
        """As if something had happened to it."""
        self._store.write(lambda tx: queue.enqueue(tx, self._ref(key)))

    def run(self, passes: int = MOST_PASSES) -> int:
        """Passes until nothing is due at this instant, at most so many; how many there were."""
        for number in range(passes):
            claims = self._store.write(lambda tx: self._passes.take(tx, 1))
            if not claims:
                return number
            self._passes.run(claims[0])
        return passes

    def run_for(self, seconds: float) -> int:
        """As `run`, moving the clock to each instant at which something is due."""
        until, ran = self.clock.time + seconds, self.run()
        while ran < MOST_PASSES and (due := self._next_due()) is not None and due <= until:
            self.clock.time = max(due, self.clock.time)
            ran += self.run()
        self.clock.time = until
        return ran

    def get(self, key: str) -> Seen | None:
        """None once it is gone."""
        with self._store.read() as tx:
            found = resources.find(tx, self._ref(key))
        return None if found is None else Seen(to_wire(found), found.status.conditions)

    def effects(self, key: str) -> tuple[EffectRecord, ...]:
        """What is on record for it, oldest first."""
        with self._store.read() as tx:
            return effects.of(tx, resources.get(tx, self._ref(key)).uid)

    def events(self, key: str) -> tuple[str, ...]:
        """`Type: message`, newest first."""
        with self._store.read() as tx:
            return tuple(f"{one.type}: {one.message}" for one in events.list_for(tx, self._ref(key)))

    def runs(self, key: str) -> tuple[RunRecord, ...]:
        """The child runs that it asked for, oldest first. No workflow is run: `finish` and `fail` say how one ends."""
        with self._store.read() as tx:
            return workflow_runs.of(tx, resources.get(tx, self._ref(key)).uid)

    def finish(self, key: str, request: str, result: Any = None) -> None:
        """The newest run of a request succeeds."""
        self._end(key, request, "succeeded", result=result)

    def fail(self, key: str, request: str, error: str) -> None:
        """The newest run of a request fails."""
        self._end(key, request, "failed", error=error)

    def interrupt(self, key: str, request: str) -> None:
        """Whoever ran it gives it up; the next pass that asks gets another attempt."""
        self._end(key, request, "interrupted", error="interrupted")

    def _end(self, key: str, request: str, state: Any, *, result: Any = None, error: str | None = None) -> None:
        runs = {one.key: one for one in self.runs(key)}
        if request not in runs:
            raise ValueError(f"{key} asked for no run under the key {request}; its keys: {', '.join(runs) or 'none'}")
        run = runs[request]
        said = Completion(run.uid, run.key, run.run_id, run.attempt, state, result, error)
        refused = self._store.write(lambda tx: workflow_runs.complete(tx, said))
        if refused:
            raise ValueError(f"{request}: {refused}")

    @contextmanager
    def crash_after(self, effect: str) -> Iterator[None]:
        """Inside, the process dies between the deed with this key and its note. Raises AssertionError if none did."""
        self._runners.fatal, self._runners.died = effect, False
        try:
            yield
        finally:
            self._runners.fatal = ""
        if not self._runners.died:
            raise AssertionError(f"no effect with the key {effect} was made: nothing died")

    def _ref(self, key: str) -> Ref:
        return Ref(self.definition.name, key, self._project)

    def _next_due(self) -> float | None:
        with self._store.read() as tx:
            return queue.next_due(tx, queue.DEFINED)
