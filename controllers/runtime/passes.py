"""Passes: observe, decide, commit; those of one worker that are ready together share a commit."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from controllers.runtime import failing, pausing
from controllers.runtime.backoff import backoff
from controllers.runtime.commit import commit
from controllers.runtime.controller import Controller
from controllers.runtime.crew import Crew, Source
from controllers.runtime.decision import Decision, Facts
from controllers.runtime.epoch import Epoch
from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from resources import conditions
from resources.event import Event
from resources.resource import Resource
from store import queue, resources
from store.environment import Environment
from store.errors import ClaimLost, Conflict, Failed, Short
from store.notes import Woken
from store.queue import Claim
from store.store import Store, notes_of
from store.tx import Tx

log = structlog.get_logger("rmctl.pass")
TOGETHER = 32
"""Passes of one worker that share a commit."""
SLOW_SECONDS = 0.005
"""Of a worker's passes: from then on another worker helps with what is ready."""

Write = Callable[[Tx], None]
Pass = Generator[Write, None, None]
"""Gives its writes one after the other; it goes on after COMMIT, or with the error that was raised."""
Steps = Generator[Write, None, str]
"""Part of a pass; ends with its outcome."""


class RoomGained(Exception):
    """The pool gained room after the decision not to place was made."""


class Passes:
    """`workers` run at once, each up to `together` passes; every key is in at most one of them."""

    def __init__(
        self,
        store: Store,
        fleet: Fleet,
        environment: Environment,
        controllers: Mapping[str, Controller[Any, Any]],
        *,
        workers: int = 8,
        together: int = TOGETHER,
        started_at: float,
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._environment = environment
        self._controllers = controllers
        self._together = together
        self.epoch = Epoch(environment, started_at)
        self._crew: Crew[Claim] = Crew(
            store,
            environment,
            "pass",
            Source(self._take, queue.next_due, _soonest),
            self._work,
            workers=workers,
            most=workers * together,
        )
        self.ran = 0

    def start(self) -> None:
        self._crew.start()

    def stop(self, timeout: float = 5.0) -> None:
        """No more claims; passes under way get `timeout` seconds each, and what was not begun is released."""
        left = self._crew.stop(timeout)
        self._store.write_all([partial(queue.release, claim=claim) for claim in left])

    def run(self, claim: Claim) -> None:
        """One pass over a claimed key, whatever becomes of it."""
        self._carry_out(self._decided([claim]))

    def _take(self, tx: Tx, limit: int) -> Sequence[Claim]:
        return queue.claim(tx, limit=limit, token=self._environment.token, backoff=self._backoff)

    def _backoff(self, errors: int) -> float:
        return backoff(errors, self._environment.random())

    def _work(self) -> None:
        while claims := self._crew.pop(self._together):
            self._carry_out(self._decided(claims))

    def _decided(self, claims: Sequence[Claim]) -> list[tuple[Pass, Write]]:
        """Decide on claimed keys, all in one snapshot; the commits are left to `_carry_out`.

        The snapshot is opened after the claims were made, so it shows whatever woke their keys.
        """
        began = self._environment.monotonic()
        begun: list[tuple[Pass, Write]] = []
        with self._store.turn.taken(), self._store.read() as tx:
            for number, claim in enumerate(claims, 1):
                one = self._pass(claim, tx)
                begun.append((one, next(one)))
                if self._environment.monotonic() - began > SLOW_SECONDS:
                    self._crew.put_back(claims[number:])
                    break
        return begun

    def _carry_out(self, begun: list[tuple[Pass, Write]]) -> None:
        """One commit for all, and more for those that another one cut across."""
        while begun:
            answers = self._store.write_all([write for _, write in begun])
            failed = next((a.error for a in answers if isinstance(a.error, Failed)), None)
            if failed is not None:
                self._crew.patience.rest(failed)
            again = []
            with self._store.turn.taken():
                for (one, _), answer in zip(begun, answers, strict=True):
                    try:
                        again.append((one, one.send(None) if answer.error is None else one.throw(answer.error)))
                    except StopIteration:
                        continue
            begun = again

    def _pass(self, claim: Claim, tx: Tx) -> Pass:
        began = self._environment.monotonic()
        self.ran += 1
        about: dict[str, Any] = {}
        try:
            outcome = yield from self._reconcile(claim, tx, about)
        except ClaimLost:
            outcome = "claim lost"
        except Conflict as conflict:
            about["reason"] = str(conflict)
            outcome = yield from self._rerun(claim, conflict)
        except Exception as error:  # a controller's fault costs its own key a backoff, never the server
            about["reason"] = type(error).__name__
            log.exception("pass failed", kind=claim.ref.kind, name=claim.ref.name)
            outcome = yield from self._fail(claim, error)
        log.info(
            "pass",
            kind=claim.ref.kind,
            project=claim.ref.project,
            name=claim.ref.name,
            pass_id=claim.token_hash[:12],
            outcome=outcome,
            seconds=round(self._environment.monotonic() - began, 6),
            **about,
        )

    def _reconcile(self, claim: Claim, tx: Tx, about: dict[str, Any]) -> Steps:
        """`about` is what the log tells of the pass: the generation it worked on, why and for how long it waits."""
        controller = self._controllers.get(claim.ref.kind)
        excluded: dict[str, str] = {}
        attempts = self._fleet.scheduling.max_attempts
        for attempt in range(attempts):
            snapshot = nullcontext(tx) if attempt == 0 else self._store.read()
            planning = self._fleet.planning() if controller is not None and controller.places else nullcontext()
            with snapshot as reading, planning:
                resource, decision = self._decide(claim, controller, excluded, reading, about)
                assumed = self._fleet.assume(decision) if decision is not None else ()
            if resource is None or decision is None:
                yield partial(queue.settle, claim=claim)
                return "gone" if resource is None else "no controller"
            try:
                yield partial(self._commit, claim=claim, resource=resource, decision=decision)
            except Short as short:
                self._fleet.withdraw(assumed)
                excluded[short.node] = short.reason
            except RoomGained:
                self._fleet.withdraw(assumed)
            except BaseException:
                self._fleet.withdraw(assumed)
                raise
            else:
                if decision.requeue_after is None:
                    return "settled"
                about.update(_waits(resource, decision))
                return "requeued"
        if excluded:
            return (yield from self._give_up(claim, controller, excluded, attempts, about))
        yield partial(queue.requeue, claim=claim, delay=0.0)
        return "lost races"

    def _give_up(
        self,
        claim: Claim,
        controller: Controller[Any, Any] | None,
        excluded: Mapping[str, str],
        attempts: int,
        about: dict[str, Any],
    ) -> Steps:
        """The key says how often it lost, and is due again at once."""
        planning = self._fleet.planning() if controller is not None and controller.places else nullcontext()
        with self._store.read() as reading, planning:
            resource, decision = self._decide(claim, controller, excluded, reading, about, conflicts=attempts)
        if resource is not None and decision is not None:
            told: Write = partial(self._commit, claim=claim, resource=resource, decision=decision)
            with suppress(Short, RoomGained):
                yield told
                return "lost races"
        yield partial(queue.requeue, claim=claim, delay=0.0)
        return "lost races"

    def _decide(
        self,
        claim: Claim,
        controller: Controller[Any, Any] | None,
        excluded: Mapping[str, str],
        tx: Tx,
        about: dict[str, Any],
        conflicts: int = 0,
    ) -> tuple[Resource[Any, Any] | None, Decision | None]:
        resource = resources.find(tx, claim.ref)
        if resource is not None:
            about["generation"] = resource.generation
        if resource is None or controller is None:
            return resource, None
        paused = pausing.held(tx, resource)
        if paused is not None:
            return resource, paused
        reader = SnapshotReader(tx, self._fleet, self._store.heard_since(self.epoch.since()))
        view = controller.observe(resource, reader)
        released = pausing.released(tx, resource)
        seed = self._environment.random().getrandbits(32)
        facts = Facts(now=self._environment.now(), seed=seed, excluded=dict(excluded), conflicts=conflicts)
        decision = controller.decide(resource, view, facts)
        return resource, replace(decision, wake=(*decision.wake, *released)) if released else decision

    def _commit(self, tx: Tx, claim: Claim, resource: Resource[Any, Any], decision: Decision) -> None:
        if decision.no_place_since is not None:
            pool, revision = decision.no_place_since
            if self._fleet.capacity_revision(pool) != revision:
                raise RoomGained
        commit(tx, claim, resource, decision)

    def _rerun(self, claim: Claim, conflict: Conflict) -> Steps:
        def rerun(tx: Tx) -> None:
            queue.rerun(tx, claim, self._backoff(claim.errors + 1))
            if claim.conflicts >= queue.RERUNS:
                failing.note(tx, claim, Event("ReconcileConflict", str(conflict), "Warning"))

        return (yield from self._told(rerun, "conflict"))

    def _fail(self, claim: Claim, error: Exception) -> Steps:
        def fail(tx: Tx) -> None:
            queue.fail(tx, claim, self._backoff(claim.errors + 1))
            failing.tell(tx, claim, error)

        return (yield from self._told(fail, "failed"))

    def _told(self, write: Write, outcome: str) -> Steps:
        """Until the store takes it: a key whose claim only runs out is late by the whole lease."""
        while True:
            try:
                yield write
            except ClaimLost:
                return "claim lost"
            except Failed:
                if self._crew.patience.over:
                    return "untold"
            except Exception:  # its row cannot even be told: the lease that runs out is its error and its backoff
                log.exception("the failure of a pass could not be stored")
                return "untold"
            else:
                return outcome


def _waits(resource: Resource[Any, Any], decision: Decision) -> dict[str, Any]:
    ready = conditions.find(resources.said(resource, decision.status).conditions, "Ready")
    return {"requeue_after": decision.requeue_after, "reason": "" if ready is None else ready.reason}


def _soonest(notes: Sequence[object]) -> float | None:
    return min((n.at for n in notes_of(notes, Woken) if queue.lane_of(n.ref) == queue.HERE), default=None)
