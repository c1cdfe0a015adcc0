"""The effects of one pass of a definition: what the runner asks for, and what the store answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from controllers.runtime.failing import Foreseen
from resources.canonical import MAX_DEPTH, Document, canonical, depth
from resources.effect import Absent, Applied, Deferred, Effect, EffectRecord, Rejected, Unknown
from resources.event import Event
from resources.frozen import spelled
from resources.names import TYPE
from resources.resource import Resource
from resources.workflow_run import Request, RunRecord
from store import effects, events, holds, queue, workflow_runs
from store.effect_rows import bounded
from store.effect_takeover import claim_one
from store.effects import EffectClaim
from store.environment import Environment
from store.errors import EffectMismatch
from store.queue import Claim
from store.store import Store
from store.tx import Tx

PROVIDER = "definition"
MAX_KEY = 512
HELD_SECONDS = 30.0
OBSERVE_AGAIN_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
"""Between two attempts at a child run, or at an effect that stays indeterminate."""


class Nonsense(Foreseen):
    """A runner said what it may not say."""


class PassLedger:
    """Fenced by the claim of the pass; an effect's own claim never leaves this process."""

    def __init__(
        self,
        store: Store,
        environment: Environment,
        claim: Claim,
        resource: Resource[Any, Any],
        lease: float,
        has_workflow: Callable[[str, str], bool],
    ) -> None:
        self._store = store
        self._environment = environment
        self._claim = claim
        self._resource = resource
        self._lease = lease
        self._has_workflow = has_workflow
        self.run: RunRecord | None = None
        """The child run that the pass asked for last."""
        self.asked: set[str] = set()
        """Keys of the effects that the pass asked for."""
        self._open: dict[str, EffectClaim] = {}
        self.made = False
        """Whether this pass touched the world: then another one follows."""

    def answer(self, ask: Document) -> Document:
        """Raises ClaimLost, Nonsense."""
        match ask:
            case {"effect": "reserve", "key": str() as key, "kind": str() as kind, "request": request}:
                self.asked.add(key)
                wrong = _problem(key, kind, request)
                if wrong:
                    return {"next": "mismatch", "reason": wrong}
                return self._store.write(lambda tx: self._reserve(tx, Effect(kind, key, PROVIDER, request)))
            case {"effect": ("observed" | "unobserved" | "answered") as step, "key": str() as key} if key in self._open:
                return self._store.write(lambda tx: self._receipt(tx, step, self._open[key], ask))
            case {"workflow": "ensure", "key": str() as key, "name": str() as name, "input": asked}:
                wrong = _problem(key, name, asked)
                if wrong:
                    return {"next": "mismatch", "reason": wrong}
                if not self._has_workflow(name, self._resource.project):
                    return {"next": "missing", "reason": f'no workflow {name} in project "{self._resource.project}"'}
                return self._store.write(lambda tx: self._child(tx, Request(key, name, asked)))
            case _:
                raise Nonsense("the runner asked for what it may not ask")

    def let_go(self) -> None:
        """What was begun and not answered stays as it is; whoever asks next observes first."""
        for claim in self._open.values():
            self._store.write(partial(effects.let_go, claim=claim, delay=0.0))
        self._open.clear()

    def _reserve(self, tx: Tx, effect: Effect) -> Document:
        queue.hold(tx, self._claim)
        found = effects.find(tx, self._resource.uid, effect.key)
        if (found is None or not found.final) and (over := self._over(tx, found)):
            return over
        try:
            record = effects.record(tx, self._resource, effect)
        except EffectMismatch as mismatch:
            return {"next": "mismatch", "reason": str(mismatch)}
        if record.final:
            return _done(record)
        claim = claim_one(tx, record, token=self._environment.token, lease=self._lease)
        self._open[effect.key] = claim
        return {"next": "apply" if claim.record.attempts == 1 else "observe"}

    def _child(self, tx: Tx, request: Request) -> Document:
        queue.hold(tx, self._claim)
        last = workflow_runs.find(tx, self._resource.uid, request.key)
        if last is not None and last.state == "interrupted" and (wait := _again_at(last) - tx.now) > 0:
            return _over(wait, f"attempt {last.attempt} of {request.workflow} was interrupted: {last.error}")
        try:
            run = workflow_runs.ensure(tx, self._resource, request)
        except EffectMismatch as mismatch:
            return {"next": "mismatch", "reason": str(mismatch)}
        self.run = run
        told = {"run_id": run.run_id, "attempt": run.attempt, "state": run.state, "result": run.result}
        return {"next": "run", "error": run.error, **told}

    def _over(self, tx: Tx, found: EffectRecord | None) -> Document | None:
        """Why this pass may not touch anything more, if so."""
        hold = holds.find(tx)
        if hold is not None:
            return _over(HELD_SECONDS, f"no effect is begun now: {hold.reason}")
        if self.made:
            return _over(0.0, "a pass makes one effect; the next one goes on")
        return _put_off(found, tx.now) if found is not None and _due(found) > tx.now else None

    def _receipt(self, tx: Tx, step: str, claim: EffectClaim, said: Document) -> Document:
        queue.hold(tx, self._claim)
        if step == "unobserved":
            effects.let_go(tx, claim, OBSERVE_AGAIN_SECONDS)
            words = f"{claim.record.words}: {bounded(str(said.get('error')))}"
            events.add(tx, claim.record.owner, claim.record.uid, Event("EffectObserveFailed", words, "Warning"))
            self._open.pop(claim.record.key, None)
            return {"next": "done", "state": claim.record.state}
        answer = _read(said, observed=step == "observed")
        if isinstance(answer, Absent):
            return {"next": "apply"}
        stored = effects.answer(tx, claim, answer)
        self._open.pop(stored.key, None)
        event = _event(stored, recovered=step == "observed")
        if event is not None:
            events.add(tx, stored.owner, stored.uid, event)
        if step == "answered" and stored.state in ("applied", "indeterminate"):
            self.made = True
        return _done(stored) if stored.final else _put_off(stored, tx.now)


def _problem(key: str, kind: str, request: Any) -> str | None:
    if not 0 < len(key) <= MAX_KEY or any(ord(c) < 32 or ord(c) == 127 for c in key):
        return f"key: expected 1 to {MAX_KEY} characters without control characters"
    if not TYPE.fullmatch(kind):
        return f"kind: must match {TYPE.pattern}"
    if not isinstance(request, dict):
        return f"request: expected an object, got {spelled(request)}"
    if len(canonical(request).encode()) > 1024 * 1024:
        return "request: at most 1 MiB"
    if depth(request) > MAX_DEPTH:
        return f"request: nested deeper than {MAX_DEPTH}"
    return None


def _read(said: Document, *, observed: bool) -> Applied | Absent | Rejected | Deferred | Unknown:
    match said:
        case {"state": "applied", "ref": str() as ref}:
            return Applied(ref)
        case {"state": "absent"} if observed:
            return Absent()
        case {"state": "rejected", "error": str() as error, "code": str() as code} if not observed:
            return Rejected(error, code)
        case {"state": "deferred", "error": str() as reason, "after": int() | float() as after} if not observed:
            return Deferred(reason, max(float(after), 0.0))
        case {"state": "unknown", "error": str() as reason}:
            return Unknown(reason)
        case _:
            raise Nonsense("the runner answered for an effect with what is no answer")


def _again_at(last: RunRecord) -> float:
    """The first interruption is followed by another attempt at once; then each waits longer, up to a minute."""
    if last.attempt == 1:
        return 0.0
    return (last.completed_at or 0.0) + min(2.0 ** min(last.attempt - 2, 6), LONGEST_PAUSE_SECONDS)


def _due(found: EffectRecord) -> float:
    """An effect of which nobody knows how it ended is observed at once, and from then on less and less often."""
    if found.state != "indeterminate":
        return found.available_at
    if found.attempts < 2 or found.started_at is None:
        return 0.0
    return found.started_at + min(2.0 ** min(found.attempts - 1, 6), LONGEST_PAUSE_SECONDS)


def _done(record: EffectRecord) -> Document:
    return {"next": "done", "state": record.state, "ref": record.external_ref, "error": record.error}


def _put_off(record: EffectRecord, now: float) -> Document:
    """Until it may be tried or observed again the resource is not ready, whatever was said of it before."""
    unready = "EffectUnknown" if record.state == "indeterminate" else "EffectDeferred"
    return _over(max(_due(record) - now, 0.0), f"{record.words}: {record.error or 'put off'}", unready)


def _over(after: float, reason: str, unready: str = "") -> Document:
    return {"next": "over", "after": after, "reason": reason, "unready": unready}


def _event(record: EffectRecord, *, recovered: bool) -> Event | None:
    match record.state:
        case "applied":
            what = "EffectRecovered" if recovered else "EffectApplied"
            named = f" as {record.external_ref}" if record.external_ref else ""
            return Event(what, f"{record.words}: {'found' if recovered else 'done'}{named}")
        case "rejected":
            return Event("EffectRejected", f"{record.words}: {record.error}", "Warning")
        case "indeterminate":
            return Event("EffectIndeterminate", f"{record.words}: {record.error}", "Warning")
        case _:
            return None
