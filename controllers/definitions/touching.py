"""Effects as a definition makes them: put on record first, observed when unsure, applied once."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from controllers.definitions.telling import place, summary, words
from resources.canonical import Document
from resources.effect import Absent, Applied, Deferred, Rejected, Unknown

T = TypeVar("T")
Ask = Callable[[Document], Document]
"""Sends one message to whoever keeps the ledger, and returns its answer."""
CancelTask = Callable[[], None]
Step = Document | Callable[[], Any]
"""A message to be answered, or the author's function to be called."""


@dataclass(frozen=True)
class Ended(Generic[T]):
    value: T


class PassOver(BaseException):
    """This pass may touch nothing more: it ends here, and another one follows after so many seconds.

    `unready` is why the resource is not ready meanwhile, as a condition's reason; empty where that is not known.
    """

    def __init__(self, after: float, reason: str, unready: str = "") -> None:
        super().__init__(reason)
        self.after = after
        self.unready = unready


class ObserveFailed(Exception):
    """The author's `observe` raised; nothing was applied, and the record is as it was."""


class EffectMismatch(Exception):
    """The key stands for another request."""


class NotAwaited(Exception):
    """An async function called what has to be awaited, and did not: nothing was done."""


@dataclass(frozen=True)
class Effect:
    """How it ended. `ref` is what the provider calls it."""

    key: str
    state: Literal["applied", "rejected"]
    ref: str = ""
    error: str = ""

    @property
    def applied(self) -> bool:
        return self.state == "applied"


class Effects:
    """`ctx.effects`."""

    def __init__(self, promises: Promises, unsettled: Iterable[str] = ()) -> None:
        self.open = frozenset(unsettled)
        """Keys of effects that were begun, and of which nobody knows yet how they ended: `ensure` finds out."""
        self._promises = promises

    def ensure(
        self,
        *,
        key: str,
        kind: str,
        request: Document,
        observe: Callable[[], Any],
        apply: Callable[[], Any],
    ) -> Any:
        """The `Effect`, made now if it was not made before; to be awaited in an async `reconcile`. One that is not at
        its end yet ends the pass, and another pass goes on with it.

        `key` names what is meant; the same key with another request is an error. `apply` makes it happen, and returns
        Applied, Rejected, Deferred, Unknown, or a text or None for Applied. `observe` says whether it has happened:
        Applied or a text, Absent or None, Unknown. One effect is made in a pass; asking for a second one ends it.
        """
        named(effect_key=key, kind=kind)
        if not isinstance(request, dict):
            raise TypeError(f"effects.ensure: request: expected a dict, got {type(request).__name__}")
        steps = _steps(key, {"key": key, "kind": kind, "request": request}, observe, apply)
        return self._promises.give(steps, f"ctx.effects.ensure of {key}")


def named(**given: Any) -> None:
    """Raises TypeError for what is no text."""
    for name, value in given.items():
        if not isinstance(value, str):
            raise TypeError(f"{name.replace('_', ' ')}: expected text, got {type(value).__name__}")


def _steps(
    key: str, wanted: Document, observe: Callable[[], Any], apply: Callable[[], Any]
) -> Generator[Step, Any, Effect]:
    answer: Document = yield {"effect": "reserve", **wanted}
    while True:
        match answer["next"]:
            case "observe":
                try:
                    seen = _observed((yield observe))
                except Exception as error:
                    yield {"effect": "unobserved", "key": key, "error": words(error)}
                    raise ObserveFailed(f"{key}: {words(error)}") from error
                answer = yield {"effect": "observed", "key": key, **_told(seen)}
            case "apply":
                try:
                    given = _applied((yield apply))
                except Exception as error:  # what raises says nothing about what happened
                    given = Unknown(words(error))
                answer = yield {"effect": "answered", "key": key, **_told(given)}
            case "over":
                raise PassOver(answer["after"], answer["reason"], answer["unready"])
            case "mismatch":
                raise EffectMismatch(answer["reason"])
            case _:
                return Effect(key, answer["state"], answer.get("ref") or "", answer.get("error") or "")


class Promises:
    """What a plain function is given at once, and an async one once it awaits it."""

    def __init__(self, ask: Ask, *, is_async: bool) -> None:
        self._ask = ask
        self._is_async = is_async
        self._given: list[tuple[Coroutine[Any, Any, Any], str]] = []

    def give(self, steps: Generator[Step, Any, Any], what: str) -> Any:
        """What the steps end with, or what to await for it. `what` was called says where it was forgotten."""
        if not self._is_async:
            return done(steps, self._ask)
        promise = carried_out(steps, self._ask)
        line = place(inspect.currentframe())
        self._given.append((promise, f"{what} was not awaited{line and f' ({line})'}: write await before it"))
        return promise

    async def kept(self, given: Coroutine[Any, Any, T], under_way: Callable[[CancelTask], None]) -> T:
        """What an author's coroutine returns. Raises NotAwaited where a promise is not at its end by then."""
        task = asyncio.ensure_future(given)
        loop = asyncio.get_running_loop()

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)

        under_way(cancel)
        try:
            value = await task
        except Exception as error:
            if left := self._left(inspect.CORO_CREATED):
                raise NotAwaited(f"{left}; {summary(error)}") from error
            raise
        if left := self._left(inspect.CORO_CREATED, inspect.CORO_SUSPENDED):
            raise NotAwaited(left)
        return value

    def _left(self, *states: str) -> str:
        """Of the first promise in one of these states: what was forgotten. Those never begun are closed."""
        found = [(promise, told) for promise, told in self._given if inspect.getcoroutinestate(promise) in states]
        for promise, _ in found:
            if inspect.getcoroutinestate(promise) == inspect.CORO_CREATED:
                promise.close()
        return found[0][1] if found else ""


def done(steps: Generator[Step, Any, T], ask: Ask) -> T:
    """What the steps end with, each carried out on the spot."""
    step = _next(steps, None)
    while not isinstance(step, Ended):
        try:
            value = ask(step) if isinstance(step, dict) else step()
            if inspect.iscoroutine(value):
                value.close()
                raise TypeError("an async function needs an async reconcile")
        except Exception as error:
            step = _next(steps, None, error)
        else:
            step = _next(steps, value)
    return step.value


async def carried_out(steps: Generator[Step, Any, T], ask: Ask) -> T:
    """As `done`, in an event loop."""
    step = _next(steps, None)
    while not isinstance(step, Ended):
        try:
            if isinstance(step, dict):
                value = await asyncio.to_thread(ask, step)
            else:
                value = step()
                if inspect.isawaitable(value):
                    value = await value
        except Exception as error:
            step = _next(steps, None, error)
        else:
            step = _next(steps, value)
    return step.value


def _next(steps: Generator[Step, Any, T], value: Any, error: Exception | None = None) -> Step | Ended[T]:
    try:
        return steps.send(value) if error is None else steps.throw(error)
    except StopIteration as end:
        return Ended(end.value)


def _observed(value: Any) -> Applied | Absent | Unknown:
    match value:
        case Applied() | Absent() | Unknown():
            return value
        case None:
            return Absent()
        case str():
            return Applied(value)
        case _:
            raise TypeError(
                f"observe returned {type(value).__name__}: expected Applied, Absent, Unknown, a text or None"
            )


def _applied(value: Any) -> Applied | Rejected | Deferred | Unknown:
    match value:
        case Applied() | Rejected() | Deferred() | Unknown():
            return value
        case None | str():
            return Applied(value or "")
        case _:
            return Unknown(f"apply returned {type(value).__name__}: expected Applied, Rejected, Deferred or Unknown")


def _told(answer: Applied | Absent | Rejected | Deferred | Unknown) -> Document:
    match answer:
        case Applied(ref=ref):
            return {"state": "applied", "ref": ref}
        case Absent():
            return {"state": "absent"}
        case Rejected(error=error, code=code):
            return {"state": "rejected", "error": error, "code": code}
        case Deferred(reason=reason, retry_after=after):
            return {"state": "deferred", "error": reason, "after": after}
        case Unknown(reason=reason):
            return {"state": "unknown", "error": reason}
