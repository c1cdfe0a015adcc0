"""Why a resource is as it is: the sentence, the evidence behind it, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from api.http import cures, run_words, story, summary
from api.http.durations import short
from api.http.logs import chosen
from api.http.services import Explanation
from api.http.summary import counted
from resources import conditions
from resources.event import CHRONICLE
from resources.exits import signal_name
from resources.facts import Instance
from resources.instants import rfc3339
from resources.names import shown
from resources.resource import Resource
from resources.wire import to_wire
from store import effects, events, ledger, nodes, resources, timed
from store.tx import Tx

Stored = Resource[Any, Any]
Row = Sequence[str] | str
LAST_WORDS = 5
"""Lines of the last instance's output that are shown."""
EVENTS = 5
UNITS = {"memory": " MiB"}


class Section(NamedTuple):
    """A titled block: rows of cells, or lines of text."""

    title: str
    rows: tuple[Row, ...]


class Reasons(NamedTuple):
    """`sentence` stands alone, and is line one of `describe` and of the page too; `steps` are commands."""

    sentence: str
    sections: tuple[Section, ...]
    steps: tuple[str, ...]


def why(tx: Tx, resource: Stored, explanation: Explanation | None) -> Reasons:
    """`explanation` is the placer's, for a job that waits."""
    evidence, steps = BY_KIND.get(resource.ref.kind, _other)(tx, resource)
    waiting = _waiting(explanation) if explanation is not None else ()
    line = summary.sentence(to_wire(resource), now=tx.now)
    newer = "" if explanation is None or explanation.sentence.rstrip(".") in line else explanation.sentence
    planned = [Section("Planned just now", (newer,))] if newer else []
    sections = [*planned, *waiting, *evidence, *_open_effects(tx, resource), *_recent(tx, resource)]
    return Reasons(line, tuple(s for s in sections if s.rows), steps)


def _waiting(explanation: Explanation) -> tuple[Section, ...]:
    would = tuple(f"{number}. {text}" for number, text in enumerate(explanation.would_fit, 1))
    return (
        Section("Nodes (every filter that refuses, the counted one first)", tuple(explanation.nodes)),
        Section("Would fit if", would),
    )


def _job(tx: Tx, job: Stored) -> tuple[list[Section], tuple[str, ...]]:
    ended = [one for one in nodes.list_instances(tx, uid=job.uid) if not one.alive]
    sections = [Section("Exits", tuple(_exit(one) for one in sorted(ended, key=_newest)))] if ended else []
    if ended:
        sections.append(_last_words(tx, job))
    if job.status.node and (ready := conditions.find(job.status.conditions, "Ready")) and ready.status == "True":
        sections += [Section("How it got here", story.steps(tx, job)), Section("Why this node", story.choice(tx, job))]
    sections.append(_conditions(job))
    return sections, cures.of_job(tx, job)


def _bundle(tx: Tx, bundle: Stored) -> tuple[list[Section], tuple[str, ...]]:
    jobs = [one for one in resources.owned(tx, bundle.uid) if one.ref.kind == "job"]
    rows = tuple(_child(one) for one in jobs)
    waiting = next((one for one, row in zip(jobs, rows, strict=True) if row[1] != "True"), None)
    broken = bundle.status.broken
    steps = (f"rmctl restart {bundle.ref}",) if broken else (f"rmctl why {waiting.ref}",) if waiting else ()
    return [Section("Jobs", rows), _conditions(bundle)], steps or (f"rmctl describe {bundle.ref}",)


def _node(tx: Tx, node: Stored) -> tuple[list[Section], tuple[str, ...]]:
    facts = nodes.facts(tx, node.name)
    blocks = tuple(
        (row.reason, row.cause or "-", f"since {short(tx.now - row.since)}") for row in ledger.block_rows(tx, node.name)
    )
    room = tuple(
        (name, f"{_amount(name, claimed)} of {_amount(name, claimable)}{UNITS.get(name, '')} claimed")
        for name, (claimable, claimed) in timed.promised(tx, node.name).items()
    )
    held = tuple(sorted(str(one.owner) for one in ledger.list_allocations(tx, node=node.name)))
    seen = (f"last heartbeat {short(tx.now - facts.last_heartbeat)} ago",) if facts else ("no agent has connected",)
    sections = [
        Section("Agent", seen),
        Section("No new jobs because", blocks),
        Section("Room", room),
        Section("Jobs", held),
    ]
    return [*sections, _conditions(node)], cures.of_node(node)


def _pool(tx: Tx, pool: Stored) -> tuple[list[Section], tuple[str, ...]]:
    members = [one for one in resources.list_all(tx, "node") if one.spec.pool == pool.name]
    jobs = [
        one for one in resources.list_all(tx, "job") if one.spec.pool == pool.name and one.status.phase == "pending"
    ]
    sections = [
        Section("Nodes", tuple(_child(one) for one in members)),
        Section("Jobs that wait", tuple(_child(one) for one in jobs)),
        _conditions(pool),
    ]
    if jobs:
        return sections, (f"rmctl why {jobs[0].ref}",)
    if not members:
        return sections, (f"rmctl node join NAME --pool {pool.name}",)
    return sections, (f"rmctl describe {pool.ref}",)


def _other(tx: Tx, resource: Stored) -> tuple[list[Section], tuple[str, ...]]:
    runs = Section("Child runs", run_words.rows(tx, resource))
    steps = (*run_words.steps(tx, resource), f"rmctl describe {shown(resource.ref.kind, resource.key)}")
    return [runs, _conditions(resource)], steps


BY_KIND: Mapping[str, Callable[[Tx, Stored], tuple[list[Section], tuple[str, ...]]]] = {
    "job": _job,
    "bundle": _bundle,
    "node": _node,
    "pool": _pool,
}


def _conditions(resource: Stored) -> Section:
    """All but a plain Ready, which the sentence has said."""
    rows = tuple(
        (one.type, one.status, one.reason, one.message)
        for one in resource.status.conditions
        if one.type != "Ready" or one.status != "True"
    )
    return Section("Conditions", rows)


def _child(resource: Stored) -> tuple[str, ...]:
    ready = conditions.find(resource.status.conditions, "Ready")
    if ready is None:
        return (shown(resource.ref.kind, resource.key), "Unknown", "-", "")
    fresh = ready.observed_generation >= resource.generation
    return (shown(resource.ref.kind, resource.key), ready.status if fresh else "Unknown", ready.reason, ready.message)


def _open_effects(tx: Tx, resource: Stored) -> list[Section]:
    rows = []
    for one in effects.open_of(tx, resource.uid):
        due = f"again in {short(one.available_at - tx.now)}" if one.available_at > tx.now else "now"
        rows.append((one.kind, one.state, counted(one.attempts, "attempt", "attempts"), due, one.error or one.target))
    return [Section("Effects under way", tuple(rows))]


def _recent(tx: Tx, resource: Stored) -> list[Section]:
    rows = tuple(
        (
            short(tx.now - one.last_at),
            one.severity,
            one.type,
            one.message + (f" (×{one.count})" if one.count > 1 else ""),
        )
        for one in events.list_for(tx, uid=resource.uid, limit=EVENTS, without=CHRONICLE)
    )
    return [Section("Events (newest first)", rows)]


def _exit(instance: Instance) -> tuple[str, ...]:
    how = signal_name(instance.signal) if instance.signal is not None else f"exit {instance.code}"
    if instance.code is None and instance.signal is None:
        how = "ended, nobody saw how"
    reason = f": {instance.reason}" if instance.reason else ""
    return (
        rfc3339(float(int(instance.at))),
        f"attempt {instance.attempt}",
        f"{instance.ran_seconds:.1f} s",
        instance.node,
        how + reason,
    )


def _newest(instance: Instance) -> float:
    return -instance.at


def _last_words(tx: Tx, job: Stored) -> Section:
    tail = chosen(nodes.list_log_tails(tx, job.uid), previous=False)
    lines = tail.text.decode("utf-8", "replace").splitlines()[-LAST_WORDS:] if tail else []
    return Section(f"Last words of attempt {tail.attempt if tail else 0}", tuple(f"| {text}" for text in lines))


def _amount(name: str, value: int) -> str:
    return f"{value / 1000:g}" if name == "vcpu" else str(value)
