"""Passes of definitions: each in a runner process, one at a time, under a deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import structlog

from controllers.definitions.channel import Broken, Garbled, Stuck
from controllers.definitions.ledger import PassLedger
from controllers.definitions.loading import Unusable
from controllers.definitions.message import message_of
from controllers.definitions.parting import commit_and_part
from controllers.definitions.proposals import Source as At
from controllers.definitions.turns import Turns
from controllers.definitions.verdict import decision_of, held_back, read, stalled
from controllers.runtime import pausing
from controllers.runtime.crew import Crew, Source
from controllers.runtime.decision import Decision
from controllers.runtime.failing import Foreseen
from controllers.runtime.outcomes import Outcomes, Steps, Stopped
from resources.canonical import Document
from resources.kind import Undefined
from resources.reference import Ref
from resources.resource import Resource
from store import effects, queue, resources
from store.environment import Environment
from store.errors import ClaimLost
from store.notes import Woken
from store.queue import Claim
from store.store import Store, notes_of
from store.tx import Tx

log = structlog.get_logger("rmctl.pass")
LOOK_AGAIN_SECONDS = 15.0
"""A resource whose definition is missing or broken is looked at this often."""


class Line(Protocol):
    """As `Channel`."""

    def send(self, message: Document) -> None: ...
    def receive(self, timeout: float | None = ..., /) -> Document | None: ...


class Runner(Protocol):
    """As `Process`."""

    @property
    def pid(self) -> int: ...
    @property
    def deadline(self) -> float: ...
    @property
    def channel(self) -> Line: ...
    def ended(self) -> str: ...
    def whereabouts(self) -> str: ...


class Runners(Protocol):
    """As `Pool`."""

    def take(self, path: Path, digest: str, project: str, /) -> Any: ...
    def give_back(self, process: Any, said: Document, /) -> None: ...
    def retire(self, process: Any, *, now: bool = False) -> None: ...
    def close(self) -> None: ...


class Files(Protocol):
    """As `Definitions`."""

    def find(self, ref: Ref) -> At: ...


class DefinitionPasses:
    """`workers` runners at work at once, and as many again in passes that take long."""

    def __init__(
        self,
        store: Store,
        environment: Environment,
        definitions: Files,
        pool: Runners,
        *,
        workers: int = 4,
        lease: float = queue.LEASE_SECONDS,
        has_workflow: Callable[[str, str], bool] = lambda _name, _project: True,
    ) -> None:
        self._store = store
        self._environment = environment
        self._definitions = definitions
        self._pool = pool
        self._lease = lease
        self._has_workflow = has_workflow
        self._stopping = False
        self.watched: dict[Ref, dict[Path, tuple[int, int, int] | None]] = {}
        """Files that wake a resource, as they were before its last pass."""
        self._crew: Crew[Claim] = Crew(
            store,
            environment,
            "definition",
            Source(self.take, lambda tx: self._turns.next_due(tx, self._crew.ready), _soonest),
            self._work,
            workers=2 * workers,
            most=workers,
            beyond=lambda: min(len(self._turns.long()), workers),
        )
        self._outcomes = Outcomes(store, environment, self._crew.patience)
        self._turns = Turns(workers, self._outcomes.backoff, environment.monotonic)

    def start(self) -> None:
        self._crew.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Runners are asked to end; passes under way are given up, and their keys are due at once."""
        self._stopping = True
        self._pool.close()
        self._outcomes.release(self._crew.stop(timeout))

    def take(self, tx: Tx, limit: int) -> Sequence[Claim]:
        """Due keys of definitions; none once it stops, since what is given up is due at once."""
        if self._stopping:
            return ()
        claim = partial(
            queue.claim,
            token=self._environment.token,
            backoff=self._outcomes.backoff,
            lease=self._lease,
            lane=queue.DEFINED,
        )
        return self._turns.take(tx, limit, self._crew.ready, claim)

    def _work(self) -> None:
        while claims := self._crew.pop(1):
            with self._turns.at_work(claims[0]):
                self.run(claims[0])

    def run(self, claim: Claim) -> None:
        """One pass over a claimed key, whatever becomes of it."""
        about: dict[str, Any] = {}
        one = self._outcomes.told(claim, self._pass(claim, about), about)
        with suppress(StopIteration):  # nothing to write: its claim was lost
            self._outcomes.carry_out([(one, next(one))])

    def _pass(self, claim: Claim, about: dict[str, Any]) -> Steps:
        with self._store.read() as tx:
            resource = resources.find(tx, claim.ref)
            paused = None if resource is None else pausing.held(tx, resource)
            unsettled = [] if resource is None else [one.key for one in effects.open_of(tx, resource.uid)]
        if resource is None:
            self.watched.pop(claim.ref, None)
            self._turns.came_back(claim.ref)
            yield partial(queue.settle, claim=claim)
            return "gone"
        about["generation"] = resource.generation
        decision = paused or self._turns.paced(claim.ref, self._decide(claim, resource, unsettled, about))
        yield partial(commit_and_part, claim=claim, resource=resource, decision=decision)
        if decision.requeue_after is None:
            return "settled"
        about["requeue_after"] = decision.requeue_after
        return "requeued"

    def _decide(
        self, claim: Claim, resource: Resource[Any, Any], unsettled: list[str], about: dict[str, Any]
    ) -> Decision:
        try:
            source = self._definitions.find(resource.ref)
            runner = self._pool.take(source.path, source.digest, resource.project)
        except (Undefined, Unusable) as error:
            if self._stopping:  # which ends what was being loaded
                raise Stopped from None
            reason = "NoDefinition" if isinstance(error, Undefined) else "DefinitionUnusable"
            return stalled(resource, reason, str(error), after=LOOK_AGAIN_SECONDS)
        about["digest"], about["runner"] = source.digest[:12], runner.pid
        lease = runner.deadline + self._lease
        ledger = PassLedger(self._store, self._environment, claim, resource, lease, self._has_workflow)
        try:
            said = self._conversation(runner, claim, ledger, message_of(resource, unsettled))
            self._turns.came_back(claim.ref)
            answer = None if "failed" in said else read(said)  # who answers nonsense is not asked again
        except Broken as broken:
            self._pool.retire(runner, now=True)
            raise self._died(runner, broken) from None
        except BaseException:
            self._pool.retire(runner, now=True)
            raise
        else:
            self._pool.give_back(runner, said)
            if answer is None:
                raise self._failed(runner, said)
        finally:
            with suppress(ClaimLost):
                ledger.let_go()
        about["reason"] = answer.reason
        self.watched.pop(resource.ref, None)
        if answer.files:
            self.watched[resource.ref] = {Path(path): stamp for path, stamp in answer.files.items()}
        now, random = self._environment.now(), self._environment.random()
        decision = decision_of(resource, answer, again=ledger.made, run=ledger.run, now=now, random=random)
        return held_back(resource, decision, [key for key in unsettled if key not in ledger.asked])

    def _conversation(self, runner: Runner, claim: Claim, ledger: PassLedger, message: Document) -> Document:
        """Answers what the runner asks until it gives its result. Raises Broken, Foreseen past the deadline."""
        clock = self._environment.monotonic
        until = clock() + runner.deadline
        renewed = clock()
        runner.channel.send(message)
        while True:
            said = runner.channel.receive(max(min(until, renewed + self._lease / 3) - clock(), 0.0))
            if clock() >= until and (said is None or "ask" in said):
                self._turns.missed(claim.ref)
                self._pool.retire(runner)
                raise Foreseen(f"no result after {runner.deadline:g} s{runner.whereabouts()}: the runner was ended")
            if said is None:
                self._store.write(partial(queue.renew, claim=claim, lease=self._lease))
                renewed = clock()
            elif isinstance(said.get("ask"), dict):
                runner.channel.send(ledger.answer(said["ask"]))
            else:
                return said

    def _failed(self, runner: Runner, said: Document) -> Exception:
        if said.get("trace"):
            log.warning("definition raised", runner=runner.pid, trace=str(said["trace"]))
        return Stopped() if self._stopping else Foreseen(str(said["failed"]))

    def _died(self, runner: Runner, broken: Broken) -> Exception:
        if self._stopping:
            return Stopped()
        match broken:
            case Garbled():
                return Foreseen(f"the runner was ended: it said {broken}")
            case Stuck():
                return Foreseen(f"the runner was ended: it {broken}")
            case _:
                return Foreseen(runner.ended())


def _soonest(notes: Sequence[object]) -> float | None:
    return min((n.at for n in notes_of(notes, Woken) if queue.lane_of(n.ref) == queue.DEFINED), default=None)
