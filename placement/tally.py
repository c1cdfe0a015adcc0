"""The reasons of a no, counted bucket by bucket: the same numbers as from looking at every node."""

from __future__ import annotations

from collections import Counter

from placement.amounts import Amounts, shortage
from placement.cascade import Cascade
from placement.filters import printed
from placement.scene import Scene
from placement.sentence import ordered
from placement.shelf import BucketKey, NodeClass, Shelf
from placement.standing import refused_at_once
from placement.survey import last_word


def tally(cascade: Cascade, shelf: Shelf, around: Scene, apart: frozenset[str]) -> dict[str, int]:
    """Refused nodes by printed reason. `apart` are looked at one by one; no member of a group is placed yet."""
    asked, ports = cascade.request.asked, cascade.request.asked_ports
    vcpu, cores, memory = asked
    told: Counter[str] = Counter()
    gone: Counter[tuple[NodeClass, BucketKey | None]] = Counter()
    for name in apart & shelf.where.keys():
        group, key = shelf.where[name]
        gone.update([(group, key), (group, None)])
        told[_last_word(name, cascade, around)] += 1
    for group, on_shelf in shelf.classes.items():
        reason = _of_all(group, cascade, around)
        if reason is not None:
            told[reason] += on_shelf.size - gone[group, None]
            continue
        for key, names in on_shelf.buckets.items():
            blocked, most, used, _ = key
            short = (vcpu and used[0] + vcpu > most[0]) or (cores and used[1] + cores > most[1])
            if short or (memory and used[2] + memory > most[2]):
                lack = shortage(Amounts(*most[:3]).minus(Amounts(*used[:3])), asked)
                told[f"fits: {lack}"] += len(names) - (gone[group, key] if gone else 0)
            elif blocked and not ports:
                told[blocked] += len(names) - (gone[group, key] if gone else 0)
            else:
                told.update(_last_word(name, cascade, around) for name in names if name not in apart)
    return ordered(+told)


def _of_all(group: NodeClass, cascade: Cascade, around: Scene) -> str | None:
    tier = group.exemplar.tier
    if all(tier != known.name for known in cascade.policy.tiers):
        return printed("tier", f"tier {tier}")
    return refused_at_once(cascade.request, around, group)


def _last_word(name: str, cascade: Cascade, around: Scene) -> str:
    node = cascade.fleet.node(name)
    assert node is not None
    return last_word(node, cascade, around).text
