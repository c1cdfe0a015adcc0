"""Effect workers: claim, observe when unsure, apply, receipt; each provider has its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from controllers.runtime.crew import Crew, Source
from controllers.runtime.driver import EffectDriver
from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from resources.effect import Absent, Answer, Applied, EffectRecord, Observation, Rejected, Unknown
from resources.event import Event
from store import effects, events, holds, resources
from store.effects import EffectClaim
from store.environment import Environment, Task
from store.errors import ClaimLost, Failed
from store.notes import EffectDue
from store.store import Store, notes_of
from store.tx import Tx

log = structlog.get_logger("rmctl.effect")
OBSERVE_AGAIN_SECONDS = 5.0


@dataclass(frozen=True)
class Answered:
    """What became of one attempt, and the write that stores it."""

    claim: EffectClaim
    receipt: Callable[[Tx], None]
    outcome: str
    seconds: float


class EffectWorkers:
    """`workers` calls of one provider at once; a slow provider delays only its own effects.

    Receipts are written by a task of their own, those that wait together in one commit; a worker does not wait for it.
    """

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
        self._started_at = started_at
        self._dry = dry
        provider = driver.provider
        self._crew: Crew[EffectClaim] = Crew(
            store,
            environment,
            provider,
            Source(self._take, self._next_due, self._soonest),
            self._work,
            workers=workers,
            most=workers,
        )
        self._answered: deque[Answered] = deque()
        self._came = environment.signal()
        self._stopping = False
        self._task: Task | None = None

    def start(self) -> None:
        if self._dry:
            return
        self._task = self._environment.spawn(f"{self._driver.provider}-receipts", self._write_receipts)
        self._crew.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Calls that answer in time get their receipt; the rest stays pending and is observed by the next owner."""
        self._crew.stop(timeout)
        self._stopping = True
        self._came.set()
        if self._task is not None:
            self._task.join(timeout)

    def run(self, claim: EffectClaim) -> None:
        """One attempt at one effect, and its receipt."""
        self._store_all([self._answer(claim)])

    def _take(self, tx: Tx, limit: int) -> Sequence[EffectClaim]:
        if holds.find(tx) is not None:
            return ()
        return effects.claim(tx, self._driver.provider, limit=limit, token=self._environment.token)

    def _next_due(self, tx: Tx) -> float | None:
        """None while effects are held: lifting the hold says that they are due."""
        return None if holds.find(tx) is not None else effects.next_due(tx, self._driver.provider)

    def _soonest(self, notes: Sequence[object]) -> float | None:
        mine = self._driver.provider
        return min((note.at for note in notes_of(notes, EffectDue) if note.provider == mine), default=None)

    def _work(self) -> None:
        while claims := self._crew.pop(1):
            self._answered.append(self._answer(claims[0]))
            self._came.set()

    def _write_receipts(self) -> None:
        stopping = False
        while not stopping:
            self._came.wait()
            self._came.clear()
            stopping = self._stopping
            while answered := self._come():
                self._store_all(answered)

    def _come(self) -> list[Answered]:
        return [self._answered.popleft() for _ in range(len(self._answered))]

    def _store_all(self, answered: list[Answered]) -> None:
        failed: Failed | None = None
        for one, stored in zip(answered, self._store.write_all([one.receipt for one in answered]), strict=True):
            record = one.claim.record
            if isinstance(stored.error, ClaimLost):
                continue
            if isinstance(stored.error, Failed) and not self._stopping:
                self._answered.append(one)
                failed = stored.error
                continue
            if stored.error is not None:
                log.error("receipt failed", effect=record.id, error=str(stored.error))
                continue
            log.info(
                "effect",
                kind=record.kind,
                effect=record.id,
                owner=str(record.owner),
                attempts=record.attempts,
                outcome=one.outcome,
                seconds=one.seconds,
            )
        if failed is not None:
            self._crew.patience.rest(failed)

    def _answer(self, claim: EffectClaim) -> Answered:
        began = self._environment.monotonic()
        try:
            answer, recovered = self._attempt(claim)
        except ObserveFailed as failed:
            receipt, outcome = partial(self._unobserved, claim=claim, error=str(failed)), "unobserved"
        else:
            receipt = partial(self._receipt, claim=claim, answer=answer, recovered=recovered)
            outcome = type(answer).__name__.lower()
        return Answered(claim, receipt, outcome, round(self._environment.monotonic() - began, 6))

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
        if not effect.whole:
            return Rejected("its record does not match its fingerprint; nothing was called", code="DAMAGED"), False
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
        try:
            with self._store.read() as tx:
                owner = resources.by_uid(tx, effect.uid)
        except Exception as error:  # whether it is still wanted cannot be told: it is left alone, and asked again
            raise ObserveFailed(f"{type(error).__name__}: {error}") from error
        return owner is None or owner.deleting

    def _receipt(self, tx: Tx, *, claim: EffectClaim, answer: Answer, recovered: bool) -> None:
        stored = effects.answer(tx, claim, answer)
        event = _event(stored, recovered=recovered)
        if event is not None:
            events.add(tx, stored.owner, stored.uid, event)
        elif stored.state == "applied":
            events.add_new(
                tx, stored.owner, stored.uid, Event("EffectApplied", f"{stored.words}: {stored.external_ref}")
            )
        if resources.wake(tx, stored.uid) and stored.final:
            owner = resources.by_uid(tx, stored.uid)
            if owner is not None:
                resources.remove_if_free(tx, owner)

    def _unobserved(self, tx: Tx, *, claim: EffectClaim, error: str) -> None:
        effects.let_go(tx, claim, OBSERVE_AGAIN_SECONDS)
        event = Event("EffectObserveFailed", f"{claim.record.kind} {claim.record.key}: {error}", "Warning")
        events.add(tx, claim.record.owner, claim.record.uid, event)


class ObserveFailed(Exception):
    """Nobody could say what is; the record stays unchanged."""


def _event(effect: EffectRecord, *, recovered: bool) -> Event | None:
    """Where something failed or was found again."""
    words = effect.words
    match effect.state:
        case "applied" if recovered:
            return Event("EffectRecovered", f"{words}: found as {effect.external_ref}")
        case "rejected" if effect.code != "cancelled":
            return Event("EffectRejected", f"{words}: {effect.error}", "Warning")
        case "indeterminate":
            return Event("EffectIndeterminate", f"{words}: {effect.error}", "Warning")
        case _:
            return None
