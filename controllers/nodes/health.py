"""Whether a node is kept out of placements: it refuses starts, or whatever starts on it ends at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from controllers.runtime.controller import Reader
from resources.conditions import Condition, condition, find
from resources.effect import EffectRecord
from resources.facts import Instance
from resources.instants import kept, rfc3339
from resources.names import people
from resources.node import Node, Rejection, Unhealthy
from resources.pool import Health

TOLD = 3
"""Refusals that a status names."""
AT_ONCE_SECONDS = 1.0
"""Who ends sooner than this never became ready."""
PROOF_SECONDS = 60.0
"""How long after its jobs ended at once a node is suspected: until they run elsewhere, which proves it."""
SUSPECT_SECONDS = 5.0
LIVING = ("running", "ready")


@dataclass(frozen=True)
class Seen:
    """`last_run` and `last_ready`: when an instance that lives here began, and when one became ready.

    `ended` are first ends of jobs that nobody asked to end and that never were ready; `elsewhere` those of the jobs
    that run on another node since, by uid.
    """

    refusals: Sequence[Rejection] = ()
    last_run: float = 0.0
    last_ready: float = 0.0
    ended: Sequence[Instance] = ()
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True)
class State:
    unhealthy: Unhealthy | None = None
    healthy_since: float | None = None
    rejections: tuple[Rejection, ...] = ()
    next_look: float | None = None


NOTHING = Seen()


@dataclass(frozen=True)
class Marked:
    at: float
    jobs: tuple[str, ...]


def observe(node: Node, rules: Health, reader: Reader) -> Seen:
    """What runs here is looked at only where there is something to hold against it."""
    since, enough = _counts_from(node, rules, reader.now), rules.rejection_escalation_count
    refusals = tuple(_rejection(record) for record in reader.refusals(node.name, since))
    ended = [one for one in reader.ended_at_once(node.name, since, AT_ONCE_SECONDS) if _failed(one)]
    matters = node.status.unhealthy is not None or max(len(refusals), len(ended)) >= enough
    living = [one for one in reader.instances(node=node.name) if one.state in LIVING] if matters else []
    suspects = {one.uid for one in ended} if len(ended) >= enough else set()
    return Seen(
        refusals=refusals,
        last_run=max((one.started_at or 0.0 for one in living), default=0.0),
        last_ready=max((one.ready_at or 0.0 for one in living), default=0.0),
        ended=tuple(sorted(ended, key=lambda one: (one.at, one.uid))),
        elsewhere=frozenset(uid for uid in suspects if _runs_elsewhere(uid, node.name, reader)),
    )


def look(node: Node, seen: Seen, rules: Health, now: float) -> State:
    """Once in the state it lasts until a job runs here, or for the cool-down; what led to it counts no more then."""
    was, cooldown = node.status.unhealthy, rules.unhealthy_cooldown_ms / 1000
    told = _last({*node.status.rejections, *seen.refusals})
    if was is not None:
        well = seen.last_run if was.reason == "Rejections" else seen.last_ready
        if well > was.since or now >= was.since + cooldown:
            return State(None, kept(now), told)
        return State(was, node.status.healthy_since, told, was.since + cooldown)
    since = node.status.healthy_since
    seen = _after(seen, since or 0.0)
    mark = _refuses(seen, rules) or _ends_at_once(seen, rules, now)
    if mark is not None and now < mark.since + cooldown:
        return State(mark, since, told, mark.since + cooldown)
    suspected = _together(_ends(seen.ended), rules, distinct=True)
    again = now + SUSPECT_SECONDS if suspected is not None and now < suspected.at + PROOF_SECONDS else None
    return State(None, since, told, again)


def _after(seen: Seen, since: float) -> Seen:
    """What led to an earlier state counts no more."""
    refusals = tuple(one for one in seen.refusals if one.at > since)
    return replace(seen, refusals=refusals, ended=tuple(one for one in seen.ended if one.at > since))


def _refuses(seen: Seen, rules: Health) -> Unhealthy | None:
    found = _together([(one.at, one.job) for one in seen.refusals], rules, distinct=False)
    if found is None or seen.last_run > found.at:
        return None
    words = f"refused {rules.rejection_escalation_count} starts within {_window(rules):g} s"
    return Unhealthy(since=kept(found.at), reason="Rejections", message=words)


def _ends_at_once(seen: Seen, rules: Health, now: float) -> Unhealthy | None:
    found = _together(_ends(one for one in seen.ended if one.uid in seen.elsewhere), rules, distinct=True)
    if found is None or seen.last_ready > found.at:
        return None
    jobs = ", ".join(people(name) for name in found.jobs)
    words = f"ended {len(found.jobs)} jobs at once that run elsewhere: {jobs}"
    return Unhealthy(since=kept(now), reason="BlackHole", message=words)


def told(node: Node, state: State, rules: Health) -> Condition | None:
    """Present once it mattered."""
    now = state.unhealthy
    if now is not None:
        until = rfc3339(float(int(now.since + rules.unhealthy_cooldown_ms / 1000)))
        last = "; ".join(dict.fromkeys(one.reason for one in state.rejections))
        why = f": {last}" if now.reason == "Rejections" and last else ""
        said = f"{now.message}{why}. It takes no new jobs until one runs here, or until {until}"
        return condition("Unhealthy", True, now.reason, said)
    if find(node.status.conditions, "Unhealthy") is None:
        return None
    return condition("Unhealthy", False, "Healthy", "takes jobs again")


def _counts_from(node: Node, rules: Health, now: float) -> float:
    return max(
        node.status.healthy_since or 0.0, now - max(rules.unhealthy_cooldown_ms, rules.rejection_backoff_ms) / 1000
    )


def _window(rules: Health) -> float:
    return rules.rejection_backoff_ms / 1000


def _ends(found: Iterable[Instance]) -> list[tuple[float, str]]:
    return [(one.at, one.job or one.uid) for one in found]


def _together(found: Iterable[tuple[float, str]], rules: Health, *, distinct: bool) -> Marked | None:
    """The first time that as many as count came within the window. `distinct`: each of another job."""
    needed, window = rules.rejection_escalation_count, _window(rules)
    before: list[tuple[float, str]] = []
    for at, job in sorted(found):
        before = [one for one in before if at - one[0] <= window and not (distinct and one[1] == job)]
        before.append((at, job))
        if len(before) >= needed:
            return Marked(at, tuple(name for _, name in before))
    return None


def _last(found: Iterable[Rejection]) -> tuple[Rejection, ...]:
    return tuple(sorted(found, key=lambda one: (one.at, one.job, one.reason))[-TOLD:])


def _rejection(record: EffectRecord) -> Rejection:
    words = record.error or "no reason given"
    reason = f"{record.code}: {words}" if record.code else words
    return Rejection(at=kept(record.completed_at or record.created_at), job=people(record.owner.name), reason=reason)


def _failed(one: Instance) -> bool:
    return one.signal is not None or one.code not in (0, None)


def _runs_elsewhere(uid: str, node: str, reader: Reader) -> bool:
    return any(one.state == "ready" and one.node != node for one in reader.instances(uid=uid))
