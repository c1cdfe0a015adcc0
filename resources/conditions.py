"""Conditions: named truths about a resource, and how a new list meets the old one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from resources.frozen import Frozen, Instant

Truth = Literal["True", "False", "Unknown"]


class Condition(Frozen):
    """A controller gives type, status, reason, message; generation and time are stamped when the pass commits."""

    type: str
    status: Truth
    reason: str
    message: str = ""
    observed_generation: int = 0
    last_transition_time: Instant = 0.0


def condition(type_: str, truth: bool | None, reason: str, message: str = "") -> Condition:
    """`None` is Unknown."""
    status: Truth = "Unknown" if truth is None else "True" if truth else "False"
    return Condition(type=type_, status=status, reason=reason, message=message)


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """The one of that type, if present."""
    return next((c for c in conditions if c.type == type_), None)


def merge(old: Sequence[Condition], new: Sequence[Condition], *, generation: int, now: float) -> tuple[Condition, ...]:
    """The new list, stamped; a transition time moves only when a status does. Raises ValueError for a type named twice,
    an empty type or an empty reason."""
    before = {c.type: c for c in old}
    seen: set[str] = set()
    for c in new:
        if c.type in seen or not c.type or not c.reason:
            raise ValueError(f"condition {c.type or '(no type)'}: named twice, or without a type or reason")
        seen.add(c.type)

    def stamped(c: Condition) -> Condition:
        was = before.get(c.type)
        if was and (was.status, was.reason, was.message, was.observed_generation) == (
            c.status, c.reason, c.message, generation,
        ):  # fmt: skip
            return was
        since = was.last_transition_time if was and was.status == c.status else now
        return c.model_copy(update={"observed_generation": generation, "last_transition_time": since})

    return tuple(stamped(c) for c in new)
