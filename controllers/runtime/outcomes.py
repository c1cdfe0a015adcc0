"""What becomes of a pass: its writes one after the other, and at its end what is told of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

import structlog

from controllers.runtime import failing
from controllers.runtime.backoff import backoff
from controllers.runtime.failing import Foreseen
from controllers.runtime.patience import Patience
from resources.event import Event
from store import queue
from store.environment import Environment
from store.errors import ClaimLost, Conflict, Failed
from store.queue import Claim
from store.store import Store
from store.tx import Tx

log = structlog.get_logger("rmctl.pass")
Write = Callable[[Tx], None]
Pass = Generator[Write, None, None]
"""Gives its writes one after the other; it goes on after COMMIT, or with the error that was raised."""
Steps = Generator[Write, None, str]
"""Part of a pass; ends with its outcome."""


class Stopped(Exception):
    """The server stops: the pass is given up, its key is due at once, and nothing is counted."""


class Outcomes:
    """For one crew, whose patience it is."""

    def __init__(self, store: Store, environment: Environment, patience: Patience) -> None:
        self._store = store
        self._environment = environment
        self._patience = patience

    def backoff(self, errors: int) -> float:
        return backoff(errors, self._environment.random())

    def carry_out(self, begun: list[tuple[Pass, Write]]) -> None:
        """One commit for all, and more for those that another one cut across."""
        while begun:
            answers = self._store.write_all([write for _, write in begun])
            failed = next((a.error for a in answers if isinstance(a.error, Failed)), None)
            if failed is not None:
                self._patience.rest(failed)
            again = []
            with self._store.turn.taken():
                for (one, _), answer in zip(begun, answers, strict=True):
                    try:
                        again.append((one, one.send(None) if answer.error is None else one.throw(answer.error)))
                    except StopIteration:
                        continue
            begun = again

    def told(self, claim: Claim, steps: Steps, about: dict[str, Any]) -> Pass:
        """Whatever becomes of a pass is logged, with what it has put into `about`, and counted at its key."""
        began = self._environment.monotonic()
        try:
            outcome = yield from steps
        except ClaimLost:
            outcome = "claim lost"
        except Stopped:
            outcome = yield from self._stored(partial(queue.release, claim=claim), "stopped")
        except Conflict as conflict:
            about["reason"] = str(conflict)
            outcome = yield from self._stored(partial(self._rerun, claim=claim, conflict=conflict), "conflict")
        except Exception as error:  # a controller's fault costs its own key a backoff, never the server
            about["reason"] = str(error) if isinstance(error, Foreseen) else type(error).__name__
            if not isinstance(error, Foreseen):
                log.exception("pass failed", kind=claim.ref.kind, name=claim.ref.name)
            outcome = yield from self._stored(partial(self._fail, claim=claim, error=error), "failed")
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

    def release(self, left: Sequence[Claim]) -> None:
        """What a crew that has stopped did not begin is due now."""
        self._store.write_all([partial(queue.release, claim=claim) for claim in left])

    def _rerun(self, tx: Tx, claim: Claim, conflict: Conflict) -> None:
        queue.rerun(tx, claim, self.backoff(claim.errors + 1))
        if claim.conflicts >= queue.RERUNS:
            failing.note(tx, claim, Event("ReconcileConflict", str(conflict), "Warning"))

    def _fail(self, tx: Tx, claim: Claim, error: Exception) -> None:
        queue.fail(tx, claim, self.backoff(claim.errors + 1))
        failing.tell(tx, claim, error)

    def _stored(self, write: Write, outcome: str) -> Steps:
        """Until the store takes it: a key whose claim only runs out is late by the whole lease."""
        while True:
            try:
                yield write
            except ClaimLost:
                return "claim lost"
            except Failed:
                if self._patience.over:
                    return "untold"
            except Exception:  # its row cannot even be told: the lease that runs out is its error and its backoff
                log.exception("the failure of a pass could not be stored")
                return "untold"
            else:
                return outcome
