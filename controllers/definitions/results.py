"""Results: what a pass of a definition may end with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from resources.conditions import Condition, condition

Truth = Literal["True", "False", "Unknown"]


class Keep:
    """Says that a status stays as it is."""

    def __repr__(self) -> str:
        return "KEEP"


KEEP = Keep()


@dataclass(frozen=True)
class Result:
    """`after` seconds until the next pass; None: settled. `finalizers` None leaves them; `status` None empties it."""

    after: float | None = None
    status: Any = KEEP
    conditions: tuple[Condition, ...] = ()
    finalizers: tuple[str, ...] | None = None


def settled(
    status: Any = KEEP, *, conditions: Sequence[Condition] = (), finalizers: Sequence[str] | None = None
) -> Result:
    """Nothing to do until something happens."""
    return Result(None, status, _conditions(conditions), _finalizers(finalizers))


def requeue_after(
    seconds: float,
    status: Any = KEEP,
    *,
    conditions: Sequence[Condition] = (),
    finalizers: Sequence[str] | None = None,
) -> Result:
    """Look again after so many seconds, or when something happens. Raises ValueError for a negative number."""
    if not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        raise ValueError(f"requeue_after: expected seconds >= 0, got {seconds}")
    return Result(float(seconds), status, _conditions(conditions), _finalizers(finalizers))


def _conditions(given: Any) -> tuple[Condition, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, Condition) for one in given):
        raise TypeError("conditions: expected a list of what condition_true and its like make")
    return tuple(given)


def _finalizers(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise TypeError("finalizers: expected a list of texts")
    return tuple(given)


def condition_true(type_: str, reason: str, message: str = "") -> Condition:
    return condition(type_, True, reason, message)


def condition_false(type_: str, reason: str, message: str = "") -> Condition:
    return condition(type_, False, reason, message)


def condition_unknown(type_: str, reason: str, message: str = "") -> Condition:
    return condition(type_, None, reason, message)
