"""Passes: claim, observe, decide, commit; one dispatcher hands keys to the workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from controllers.runtime import pausing
from controllers.runtime.backoff import backoff
from controllers.runtime.commit import commit
from controllers.runtime.controller import Controller
from controllers.runtime.decision import Decision, Facts
from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from resources.event import Event
from resources.resource import Resource
from store import events, queue, resources
from store.environment import Environment
from store.errors import ClaimLost, Conflict, Short
from store.notes import Woken
from store.queue import Claim
from store.store import Store, notes_of
from store.tx import Tx

log = structlog.get_logger("rmctl.pass")
ATTEMPTS = 3
"""Lost races in one pass before its key waits."""
IDLE_SECONDS = 5.0
"""Polling is the truth: the queue is looked at this often though nothing woke the dispatcher."""


class RoomGained(Exception):
    """The pool gained room after the decision not to place was made."""


class Passes:
    """`workers` passes run at once; every key is in at most one of them."""

    def __init__(
        self,
        store: Store,
        fleet: Fleet,
        environment: Environment,
        controllers: Mapping[str, Controller[Any, Any]],
        *,
        workers: int = 8,
        started_at: float,
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._environment = environment
        self._controllers = controllers
        self._workers = workers
        self._started_at = started_at
        self._free = workers
        self._ready: deque[Claim] = deque()
        self._due = environment.signal()
        self._handed = [environment.signal() for _ in range(workers)]
        self._idle: deque[int] = deque(range(workers))
        self._stopping = False
        self._tasks: list[Any] = []
        self.ran = 0

    def start(self) -> None:
        self._store.subscribe(lambda notes: self._due.set() if next(notes_of(notes, Woken), None) else None)
        self._tasks = [
            self._environment.spawn(f"pass-{number}", lambda number=number: self._work(number))  # type: ignore[misc]
            for number in range(self._workers)
        ]
        self._tasks.append(self._environment.spawn("dispatcher", self._dispatch))

    def stop(self, timeout: float = 5.0) -> None:
        """No more claims; passes under way get `timeout` seconds each, and what was not begun is released."""
        self._stopping = True
        self._due.set()
        for signal in self._handed:
            signal.set()
        for task in self._tasks:
            task.join(timeout)

    def _dispatch(self) -> None:
        while not self._stopping:
            self._due.clear()
            wait = IDLE_SECONDS
            if self._idle:
                claims, next_due = self._store.write(self._take)
                for claim in claims:
                    self._ready.append(claim)
                    self._handed[self._idle.popleft()].set()
                if claims and self._idle:
                    continue
                if next_due is not None and self._idle:
                    wait = min(wait, max(next_due - self._environment.now(), 0.0))
            if wait > 0:
                self._due.wait(wait)

    def _take(self, tx: Tx) -> tuple[tuple[Claim, ...], float | None]:
        claims = queue.claim(tx, limit=len(self._idle), token=self._environment.token, backoff=self._backoff)
        return claims, queue.next_due(tx)

    def _backoff(self, errors: int) -> float:
        return backoff(errors, self._environment.random())

    def _work(self, number: int) -> None:
        mine = self._handed[number]
        while True:
            mine.wait()
            mine.clear()
            while self._ready:
                try:
                    claim = self._ready.popleft()
                except IndexError:
                    break
                if self._stopping:
                    self._release(claim)
                else:
                    self.run(claim)
            if self._stopping:
                return
            self._idle.append(number)
            self._due.set()

    def _release(self, claim: Claim) -> None:
        with suppress(ClaimLost):
            self._store.write(lambda tx: queue.release(tx, claim))

    def run(self, claim: Claim) -> None:
        """One pass over a claimed key, whatever becomes of it."""
        began = self._environment.monotonic()
        self.ran += 1
        try:
            outcome = self._reconcile(claim)
        except ClaimLost:
            outcome = "claim lost"
        except Conflict as conflict:
            outcome = self._rerun(claim, conflict)
        except Exception as error:  # a controller's fault costs its own key a backoff, never the server
            log.exception("pass failed", kind=claim.ref.kind, name=claim.ref.name)
            outcome = self._fail(claim, error)
        log.debug(
            "pass",
            kind=claim.ref.kind,
            name=claim.ref.name,
            pass_id=f"{claim.lease_generation}",
            outcome=outcome,
            seconds=round(self._environment.monotonic() - began, 6),
        )

    def _reconcile(self, claim: Claim) -> str:
        controller = self._controllers.get(claim.ref.kind)
        excluded: dict[str, str] = {}
        for _ in range(ATTEMPTS):
            planning = self._fleet.planning() if controller is not None and controller.places else nullcontext()
            with planning:
                resource, decision = self._decide(claim, controller, excluded)
                assumed = self._fleet.assume(decision) if decision is not None else ()
            if resource is None or decision is None:
                self._store.write(lambda tx: queue.settle(tx, claim))
                return "gone" if resource is None else "no controller"
            try:
                self._store.write(partial(self._commit, claim=claim, resource=resource, decision=decision))
            except Short as short:
                self._fleet.withdraw(assumed)
                excluded[short.node] = short.reason
            except RoomGained:
                self._fleet.withdraw(assumed)
            except BaseException:
                self._fleet.withdraw(assumed)
                raise
            else:
                return "settled" if decision.requeue_after is None else "requeued"
        self._store.write(lambda tx: queue.requeue(tx, claim, 0.0))
        return "lost races"

    def _decide(
        self, claim: Claim, controller: Controller[Any, Any] | None, excluded: Mapping[str, str]
    ) -> tuple[Resource[Any, Any] | None, Decision | None]:
        with self._store.read() as tx:
            resource = resources.find(tx, claim.ref)
            if resource is None or controller is None:
                return resource, None
            paused = pausing.held(tx, resource)
            if paused is not None:
                return resource, paused
            view = controller.observe(resource, SnapshotReader(tx, self._fleet, self._started_at))
            released = pausing.released(tx, resource)
        seed = self._environment.random().getrandbits(32)
        facts = Facts(now=self._environment.now(), seed=seed, excluded=dict(excluded))
        decision = controller.decide(resource, view, facts)
        return resource, replace(decision, wake=(*decision.wake, *released)) if released else decision

    def _commit(self, tx: Tx, claim: Claim, resource: Resource[Any, Any], decision: Decision) -> None:
        if decision.no_place_since is not None:
            pool, revision = decision.no_place_since
            if self._fleet.capacity_revision(pool) != revision:
                raise RoomGained
        commit(tx, claim, resource, decision)

    def _rerun(self, claim: Claim, conflict: Conflict) -> str:
        def rerun(tx: Tx) -> None:
            queue.rerun(tx, claim, self._backoff(claim.errors + 1))
            if claim.conflicts >= queue.RERUNS:
                _tell(tx, claim, Event("ReconcileConflict", str(conflict), "Warning"))

        try:
            self._store.write(rerun)
        except ClaimLost:
            return "claim lost"
        return "conflict"

    def _fail(self, claim: Claim, error: Exception) -> str:
        def fail(tx: Tx) -> None:
            queue.fail(tx, claim, self._backoff(claim.errors + 1))
            _tell(tx, claim, Event("ReconcileFailed", f"{type(error).__name__}: {error}"[:1024], "Warning"))

        try:
            self._store.write(fail)
        except ClaimLost:
            return "claim lost"
        return "failed"


def _tell(tx: Tx, claim: Claim, event: Event) -> None:
    resource = resources.find(tx, claim.ref)
    if resource is not None:
        events.add(tx, claim.ref, resource.uid, event)
