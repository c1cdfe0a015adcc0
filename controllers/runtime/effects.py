"""Effect workers: claim, observe when unsure, apply, receipt; each provider has its own."""

from __future__ import annotations

from collections import deque
from typing import Any

import structlog

from controllers.runtime.driver import EffectDriver
from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from resources.effect import Absent, Answer, Applied, EffectRecord, Observation, Rejected, Unknown
from resources.event import Event
from store import effects, events, holds, queue, resources
from store.effects import EffectClaim
from store.environment import Environment
from store.errors import ClaimLost
from store.notes import EffectDue
from store.store import Store, notes_of
from store.tx import Tx

log = structlog.get_logger("rmctl.effect")
IDLE_SECONDS = 5.0
OBSERVE_AGAIN_SECONDS = 5.0


class EffectWorkers:
    """`workers` calls of one provider at once; a slow provider delays only its own effects."""

    def __init__(
        self,
        store: Store,
        fleet: Fleet,
        environment: Environment,
        driver: EffectDriver,
        *,
        workers: int = 8,
        started_at: float,
        dry: bool = False,
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._environment = environment
        self._driver = driver
        self._workers = workers
        self._started_at = started_at
        self._dry = dry
        self._ready: deque[EffectClaim] = deque()
        self._due = environment.signal()
        self._handed = [environment.signal() for _ in range(workers)]
        self._idle: deque[int] = deque(range(workers))
        self._stopping = False
        self._tasks: list[Any] = []

    def start(self) -> None:
        if self._dry:
            return
        mine = self._driver.provider
        self._store.subscribe(
            lambda notes: self._due.set() if any(n.provider == mine for n in notes_of(notes, EffectDue)) else None
        )
        self._tasks = [
            self._environment.spawn(f"{mine}-{number}", lambda number=number: self._work(number))  # type: ignore[misc]
            for number in range(self._workers)
        ]
        self._tasks.append(self._environment.spawn(f"{mine}-dispatcher", self._dispatch))

    def stop(self, timeout: float = 5.0) -> None:
        """Calls that answer in time get their receipt; the rest stays pending and is observed by the next owner."""
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

    def _take(self, tx: Tx) -> tuple[tuple[EffectClaim, ...], float | None]:
        provider = self._driver.provider
        if holds.find(tx) is not None:
            return (), None
        claims = effects.claim(tx, provider, limit=len(self._idle), token=self._environment.token)
        return claims, effects.next_due(tx, provider)

    def _work(self, number: int) -> None:
        mine = self._handed[number]
        while True:
            mine.wait()
            mine.clear()
            while self._ready and not self._stopping:
                try:
                    claim = self._ready.popleft()
                except IndexError:
                    break
                self.run(claim)
            if self._stopping:
                return
            self._idle.append(number)
            self._due.set()

    def run(self, claim: EffectClaim) -> None:
        """One attempt at one effect, and its receipt."""
        began = self._environment.monotonic()
        try:
            answer, recovered = self._attempt(claim)
            self._store.write(lambda tx: self._receipt(tx, claim, answer, recovered=recovered))
        except ClaimLost:
            return
        except ObserveFailed as failed:
            text = str(failed)
            self._store.write(lambda tx: self._unobserved(tx, claim, text))
            return
        log.info(
            "effect",
            kind=claim.record.kind,
            effect=claim.record.id,
            owner=str(claim.record.owner),
            attempts=claim.record.attempts,
            outcome=type(answer).__name__.lower(),
            seconds=round(self._environment.monotonic() - began, 6),
        )

    def _attempt(self, claim: EffectClaim) -> tuple[Answer, bool]:
        """The answer, and whether it was found rather than made. An effect tried before is observed first."""
        effect = claim.record
        unwanted = effect.cancelled or (effect.kind in self._driver.creates and self._deleting(effect))
        if effect.attempts > 1:
            seen = self._observe(effect)
            if not isinstance(seen, Absent):
                return seen, isinstance(seen, Applied)
        if unwanted:
            return Rejected(effects.UNWANTED, code="cancelled"), False
        try:
            return self._driver.apply(effect), False
        except Exception as error:  # a driver that raises says nothing about what happened
            log.exception("apply raised", effect=effect.id)
            return Unknown(f"{type(error).__name__}: {error}"), False

    def _observe(self, effect: EffectRecord) -> Observation:
        try:
            with self._store.read() as tx:
                return self._driver.observe(effect, SnapshotReader(tx, self._fleet, self._started_at))
        except Exception as error:  # an observation that raises leaves the record as it is
            raise ObserveFailed(f"{type(error).__name__}: {error}") from error

    def _deleting(self, effect: EffectRecord) -> bool:
        with self._store.read() as tx:
            owner = resources.by_uid(tx, effect.uid)
        return owner is None or owner.deleting

    def _receipt(self, tx: Tx, claim: EffectClaim, answer: Answer, *, recovered: bool) -> None:
        stored = effects.answer(tx, claim, answer)
        event = _event(stored, recovered=recovered)
        if event is not None:
            events.add(tx, stored.owner, stored.uid, event)
        owner = resources.find(tx, stored.owner)
        if owner is not None and owner.uid == stored.uid:
            queue.enqueue(tx, owner.ref)
            if stored.final:
                resources.remove_if_free(tx, owner)

    def _unobserved(self, tx: Tx, claim: EffectClaim, error: str) -> None:
        effects.let_go(tx, claim, OBSERVE_AGAIN_SECONDS)
        event = Event("EffectObserveFailed", f"{claim.record.kind} {claim.record.key}: {error}", "Warning")
        events.add(tx, claim.record.owner, claim.record.uid, event)


class ObserveFailed(Exception):
    """The driver could not say what is; the record stays unchanged."""


def _event(effect: EffectRecord, *, recovered: bool) -> Event | None:
    """A stored event only where something failed or was found again."""
    words = f"{effect.kind} {effect.key} on {effect.target}" if effect.target else f"{effect.kind} {effect.key}"
    match effect.state:
        case "applied" if recovered:
            return Event("EffectRecovered", f"{words}: found as {effect.external_ref}")
        case "rejected" if effect.code != "cancelled":
            return Event("EffectRejected", f"{words}: {effect.error}", "Warning")
        case "indeterminate":
            return Event("EffectIndeterminate", f"{words}: {effect.error}", "Warning")
        case _:
            return None
