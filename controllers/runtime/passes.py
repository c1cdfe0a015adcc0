"""Passes: observe, decide, commit; those of one worker that are ready together share a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from controllers.runtime import pausing
from controllers.runtime.commit import commit
from controllers.runtime.controller import Controller
from controllers.runtime.crew import Crew, Source
from controllers.runtime.decision import Decision, Facts
from controllers.runtime.epoch import Epoch
from controllers.runtime.fleet import Fleet
from controllers.runtime.outcomes import Outcomes, Pass, Steps, Write
from controllers.runtime.reader import SnapshotReader
from resources import conditions
from resources.resource import Resource
from store import queue, resources
from store.environment import Environment
from store.errors import Short
from store.notes import Woken
from store.queue import Claim
from store.store import Store, notes_of
from store.tx import Tx

TOGETHER = 32
"""Passes of one worker that share a commit."""
SLOW_SECONDS = 0.005
"""Of a worker's passes: from then on another worker helps with what is ready."""


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
        self._outcomes = Outcomes(store, environment, self._crew.patience)
        self.ran = 0

    def start(self) -> None:
        self._crew.start()

    def stop(self, timeout: float = 5.0) -> None:
        """No more claims; passes under way get `timeout` seconds each, and what was not begun is released."""
        self._outcomes.release(self._crew.stop(timeout))

    def run(self, claim: Claim) -> None:
        """One pass over a claimed key, whatever becomes of it."""
        self._outcomes.carry_out(self._decided([claim]))

    def _take(self, tx: Tx, limit: int) -> Sequence[Claim]:
        return queue.claim(tx, limit=limit, token=self._environment.token, backoff=self._outcomes.backoff)

    def _work(self) -> None:
        while claims := self._crew.pop(self._together):
            self._outcomes.carry_out(self._decided(claims))

    def _decided(self, claims: Sequence[Claim]) -> list[tuple[Pass, Write]]:
        """Decide on claimed keys, all in one snapshot; the commits are left to `carry_out`.

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

    def _pass(self, claim: Claim, tx: Tx) -> Pass:
        self.ran += 1
        about: dict[str, Any] = {}
        return self._outcomes.told(claim, self._reconcile(claim, tx, about), about)

    def _reconcile(self, claim: Claim, tx: Tx, about: dict[str, Any]) -> Steps:
        """`about` is what the log tells of the pass: the generation it worked on, why and for how long it waits.

        After the last try that lost a race a decision is made that only says so, and the key is due again at once.
        """
        controller = self._controllers.get(claim.ref.kind)
        excluded: dict[str, str] = {}
        tries = self._fleet.scheduling.max_attempts
        for attempt in range(tries + 1):
            given_up = attempt == tries
            if given_up and not excluded:
                break
            conflicts = tries if given_up else 0
            snapshot = nullcontext(tx) if attempt == 0 else self._store.read()
            planning = self._fleet.planning() if controller is not None and controller.places else nullcontext()
            with snapshot as reading, planning:
                resource, decision = self._decide(claim, controller, excluded, conflicts, reading, about)
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
                if given_up or decision.requeue_after is None:
                    return "lost races" if given_up else "settled"
                about.update(_waits(resource, decision))
                return "requeued"
        yield partial(queue.requeue, claim=claim, delay=0.0)
        return "lost races"

    def _decide(
        self,
        claim: Claim,
        controller: Controller[Any, Any] | None,
        excluded: Mapping[str, str],
        conflicts: int,
        tx: Tx,
        about: dict[str, Any],
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
        now = self._environment.now()
        seen = self._fleet.seen() if controller.places else {}
        facts = Facts(now=now, seed=seed, excluded=dict(excluded), conflicts=conflicts, seen=seen)
        decision = controller.decide(resource, view, facts)
        return resource, replace(decision, wake=(*decision.wake, *released)) if released else decision

    def _commit(self, tx: Tx, claim: Claim, resource: Resource[Any, Any], decision: Decision) -> None:
        if decision.no_place_since is not None:
            pool, revision = decision.no_place_since
            if self._fleet.capacity_revision(pool) != revision:
                raise RoomGained
        commit(tx, claim, resource, decision)


def _waits(resource: Resource[Any, Any], decision: Decision) -> dict[str, Any]:
    ready = conditions.find(resources.said(resource, decision.status).conditions, "Ready")
    return {"requeue_after": decision.requeue_after, "reason": "" if ready is None else ready.reason}


def _soonest(notes: Sequence[object]) -> float | None:
    return min((n.at for n in notes_of(notes, Woken) if queue.lane_of(n.ref) == queue.HERE), default=None)
