"""Readiness and liveness as a pure state: what the answers of the probes add up to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.endings import never_ready, not_alive
from agent.order import Probe

SETTLING_SECONDS = 1.0
"""Without a readiness probe a job is ready once it has lived this long."""
EAGER_SECONDS = 1.0
"""Until it is ready a job is asked at least this often, so that a start is not rounded up to a period."""


@dataclass(frozen=True)
class Health:
    """`misses` in a row since the last good answer, `failed` why it must end, `detail` the last bad answer."""

    ready: bool = False
    not_ready: bool = False
    misses: int = 0
    lively_misses: int = 0
    failed: str = ""
    detail: str = ""
    lively: bool = False
    """Its liveness has answered well once."""


def lived(health: Health, readiness: Probe | None, age: float) -> Health:
    """After `age` seconds of life, without an answer to take into account."""
    if health.ready or health.failed:
        return health
    if readiness is None:
        return replace(health, ready=age >= SETTLING_SECONDS)
    if age >= readiness.grace_seconds:
        return replace(health, failed=never_ready(readiness.grace_seconds, health.detail))
    return health


def readiness_answered(health: Health, probe: Probe, problem: str | None) -> Health:
    """`problem` None: it is ready. Misses count only once it was; they never end it."""
    if problem is None:
        return replace(health, ready=True, not_ready=False, misses=0, detail="")
    if not health.ready:
        return replace(health, detail=problem)
    misses = health.misses + 1
    return replace(health, misses=misses, not_ready=health.not_ready or misses >= probe.failures, detail=problem)


def liveness_answered(health: Health, probe: Probe, problem: str | None, age: float) -> Health:
    """Counts from ready on; `failures` misses in a row end the instance.

    Before its first good answer a miss counts only once `graceSeconds` of the instance's life are over.
    """
    if not health.ready:
        return replace(health, lively_misses=0)
    if problem is None:
        return replace(health, lively_misses=0, lively=True)
    if not health.lively and age < probe.grace_seconds:
        return replace(health, detail=problem)
    misses = health.lively_misses + 1
    failed = not_alive(problem) if misses >= probe.failures else health.failed
    return replace(health, lively_misses=misses, failed=failed, detail=problem)
