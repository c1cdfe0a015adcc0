"""What agents report: node facts, instances and log tails; written by the agents' door alone, never by a pass."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import Double, Row, bindparam, cast, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert

from resources.canonical import canonical
from resources.devices import Device
from resources.facts import Driver, Instance, Inventory, LogTail, Nic, NodeFacts
from store.node_tables import instances, log_tails, node_facts
from store.notes import NodeReported
from store.statements import prepared
from store.tx import Tx

KEEP_TAILS = 2
"""The current and the previous attempt of a job."""
KEEP_ENDED = 5
"""Ended instances kept of one job."""
PATIENCE, SILENCE = "lostSeconds", "silentSeconds"
"""Stands beside the inventory, in the same column."""

_facts = prepared(select(node_facts).where(node_facts.c.node == bindparam("n")))
_put_facts = insert(node_facts)
_upsert_facts = prepared(
    _put_facts.on_conflict_do_update(
        index_elements=["node"],
        set_={
            column: _put_facts.excluded[column]
            for column in ("boot_id", "inventory", "last_heartbeat", "report_seq", "connected")
        },
    )
)
_promised = cast(func.json_extract(node_facts.c.inventory, f"$.{SILENCE}"), Double)
_begins = func.max(node_facts.c.last_heartbeat, bindparam("started")) + _promised
_fell_silent = prepared(  # the first of the conditions spares most nodes the look into their inventory
    select(node_facts.c.node)
    .where(
        node_facts.c.last_heartbeat < bindparam("until"),
        _promised > 0,
        _begins > bindparam("after"),
        _begins <= bindparam("until"),
    )
    .order_by(node_facts.c.node)
)
_beat = prepared(update(node_facts).where(node_facts.c.node == bindparam("b_node")))
_every = select(instances).order_by(instances.c.uid, instances.c.attempt, instances.c.id)
_instances = prepared(_every)
_instances_of = prepared(_every.where(instances.c.uid == bindparam("u")))
_instances_on = prepared(_every.where(instances.c.node == bindparam("n")))
_ended_at_once = prepared(
    _every.where(
        instances.c.node == bindparam("n"),
        instances.c.state == "exited",
        instances.c.ready_at.is_(None),
        instances.c.reason == "",
        instances.c.ran_seconds < bindparam("within"),
        instances.c.at > bindparam("since"),
    )
)
_put_instance = insert(instances)
_upsert_instance = prepared(
    _put_instance.on_conflict_do_update(
        index_elements=["uid", "id"],
        set_={
            column.name: _put_instance.excluded[column.name]
            for column in instances.c
            if column.name not in ("uid", "id")
        },
    )
)
_put_tail = insert(log_tails)
_upsert_tail = prepared(
    _put_tail.on_conflict_do_update(
        index_elements=["uid", "instance"],
        set_={column: _put_tail.excluded[column] for column in ("attempt", "text", "truncated", "at")},
    )
)


def facts(tx: Tx, node: str) -> NodeFacts | None:
    row = tx.execute(_facts, {"n": node}).first()
    return None if row is None else _read_facts(row)


def all_facts(tx: Tx) -> tuple[NodeFacts, ...]:
    return tuple(map(_read_facts, tx.execute(select(node_facts).order_by(node_facts.c.node))))


def put_facts(tx: Tx, facts: NodeFacts) -> None:
    inventory = asdict(facts.inventory)
    tx.write(
        _upsert_facts,
        {
            "node": facts.node,
            "boot_id": facts.boot_id,
            "inventory": canonical(
                {
                    **inventory,
                    PATIENCE: facts.lost_seconds,
                    SILENCE: facts.silent_seconds,
                    "capabilities": list(facts.inventory.capabilities),
                    "images": list(facts.inventory.images),
                    "devices": list(inventory["devices"]),
                    "drivers": [asdict(one) | {"kinds": list(one.kinds)} for one in facts.inventory.drivers],
                    "nics": [asdict(nic) | {"addresses": list(nic.addresses)} for nic in facts.inventory.nics],
                }
            ),
            "last_heartbeat": facts.last_heartbeat,
            "report_seq": facts.report_seq,
            "connected": int(facts.connected),
        },
    )
    tx.note(NodeReported(facts))


def fell_silent(tx: Tx, *, after: float, until: float, started: float) -> tuple[str, ...]:
    """Nodes whose silence, as each was told it, began in that time; counted from `started` at the earliest."""
    rows = tx.execute(_fell_silent, {"after": after, "until": until, "started": started})
    return tuple(row.node for row in rows)


def heartbeat(tx: Tx, node: str) -> None:
    """Server time; moves no revision and wakes nobody."""
    tx.write(_beat, {"b_node": node, "last_heartbeat": tx.now, "connected": 1})


def set_connected(tx: Tx, node: str, connected: bool) -> None:
    tx.write(_beat, {"b_node": node, "connected": int(connected)})


def disconnect_all(tx: Tx) -> None:
    """At a server's start nobody is connected yet."""
    tx.write(update(node_facts).values(connected=0))


def restart_clocks(tx: Tx) -> None:
    """At a server's start every heartbeat counts from now: silence before it was the server's own."""
    tx.write(update(node_facts).values(last_heartbeat=tx.now, connected=0))


def set_report_seq(tx: Tx, node: str, seq: int) -> None:
    tx.write(_beat, {"b_node": node, "report_seq": seq})


def drop_facts(tx: Tx, node: str) -> None:
    tx.write(delete(node_facts).where(node_facts.c.node == node))
    tx.write(delete(instances).where(instances.c.node == node))


def list_instances(tx: Tx, *, uid: str | None = None, node: str | None = None) -> tuple[Instance, ...]:
    """By uid and id; of a job, of a node, or all."""
    if uid is not None:
        rows = tx.execute(_instances_of, {"u": uid})
    elif node is not None:
        rows = tx.execute(_instances_on, {"n": node})
    else:
        rows = tx.execute(_instances)
    return tuple(i for i in map(_read_instance, rows) if node in (None, i.node))


def ended_at_once(tx: Tx, node: str, since: float, within: float) -> tuple[Instance, ...]:
    """Instances that ended on a node after that instant, by themselves, before `within` seconds, and never ready."""
    rows = tx.execute(_ended_at_once, {"n": node, "within": within, "since": since})
    return tuple(map(_read_instance, rows))


def put_instance(tx: Tx, instance: Instance) -> None:
    tx.write(
        _upsert_instance, {**asdict(instance), "ports": canonical(list(instance.ports)), "ready": int(instance.ready)}
    )
    if not instance.alive:
        _trim(tx, instance.uid)


def drop_instances(tx: Tx, uid: str) -> None:
    """A job is gone, and what was known of its instances and their words with it."""
    tx.write(delete(instances).where(instances.c.uid == uid))
    tx.write(delete(log_tails).where(log_tails.c.uid == uid))


def put_log_tail(tx: Tx, tail: LogTail) -> None:
    """Replaces the tail of the same instance; the two newest of a job are kept."""
    tx.write(
        _upsert_tail,
        {
            "uid": tail.uid,
            "instance": tail.instance,
            "attempt": tail.attempt,
            "text": tail.text,
            "truncated": int(tail.truncated),
            "at": tail.at,
        },
    )
    kept = [kept.instance for kept in list_log_tails(tx, tail.uid)[:KEEP_TAILS]]
    tx.write(delete(log_tails).where(log_tails.c.uid == tail.uid, log_tails.c.instance.not_in(kept)))


def list_log_tails(tx: Tx, uid: str) -> tuple[LogTail, ...]:
    """Newest first."""
    rows = tx.execute(select(log_tails).where(log_tails.c.uid == uid).order_by(log_tails.c.at.desc()))
    return tuple(
        LogTail(row.uid, row.instance, row.attempt, bytes(row.text), bool(row.truncated), row.at) for row in rows
    )


def _trim(tx: Tx, uid: str) -> None:
    ended = [i for i in list_instances(tx, uid=uid) if not i.alive]
    for instance in sorted(ended, key=lambda i: i.at)[:-KEEP_ENDED]:
        tx.write(delete(instances).where(instances.c.uid == uid, instances.c.id == instance.id))


def _read_facts(row: Row[Any]) -> NodeFacts:
    known = json.loads(row.inventory)
    promised = {"lost_seconds": known.pop(PATIENCE, 0.0), "silent_seconds": known.pop(SILENCE, 0.0)}
    lists = {name: tuple(known[name]) for name in ("capabilities", "images")}
    nics = tuple(Nic(**nic | {"addresses": tuple(nic["addresses"])}) for nic in known.get("nics", ()))
    drivers = tuple(Driver(**one | {"kinds": tuple(one["kinds"])}) for one in known.get("drivers", ()))
    devices = tuple(Device(**device) for device in known.get("devices", ()))
    inventory = Inventory(**{**known, **lists, "nics": nics, "drivers": drivers, "devices": devices})
    connected = bool(row.connected)
    return NodeFacts(row.node, row.boot_id, inventory, row.last_heartbeat, row.report_seq, connected, **promised)


def _read_instance(row: Row[Any]) -> Instance:
    values = dict(row._mapping)
    return Instance(**{**values, "ports": tuple(json.loads(row.ports)), "ready": bool(row.ready)})
