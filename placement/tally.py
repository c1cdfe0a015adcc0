"""Refused nodes counted by reason from the moves on a shelf: the same numbers as from looking at every node."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Hashable, Mapping
from heapq import merge
from itertools import islice

from placement.amounts import Amounts, shortage
from placement.classes import BucketKey, NodeClass, State
from placement.filters import together, zone
from placement.policy import PoolPolicy
from placement.request import Request
from placement.scene import Scene
from placement.shelf import Shelf
from placement.standing import refused_at_once
from placement.unfit import Unfit
from placement.wording import printed


class Reasons:
    """What one kind of request is told by the buckets of a shelf, for nodes that are special to it in no way.

    `tiers` are those that count; None: all of them, and nodes of no tier that the policy knows.
    """

    def __init__(self, request: Request, around: Scene, policy: PoolPolicy, tiers: frozenset[str] | None) -> None:
        self.request = request
        self.tiers = tiers
        self._around = around
        self._known = frozenset(tier.name for tier in policy.tiers)
        self._classes: dict[NodeClass, tuple[str | None, str | None]] = {}

    @property
    def kind(self) -> Hashable:
        """Equal for requests that are told the same."""
        asked, around = self.request, self._around
        return (
            asked.asked,
            tuple(asked.labels.items()),
            (asked.tenant, asked.template, asked.override_reservation, asked.lease, asked.exclusive),
            around.zones if asked.same_zone == "hard" else None,
            None if around.group is None else around.group_reason,
            self._known,
            self.tiers,
        )

    def counts(self, group: NodeClass) -> bool:
        return self.tiers is None or group.exemplar.tier in self.tiers

    def early(self, group: NodeClass) -> str | None:
        """What refuses the whole class before any amount is looked at."""
        return self._of_class(group)[0]

    def late(self, group: NodeClass) -> str | None:
        """What refuses a node of the class that has everything."""
        return self._of_class(group)[1]

    def of(self, group: NodeClass, key: BucketKey) -> str | None:
        """None where the node is kept."""
        early, late = self._of_class(group)
        return early or self.short(key) or key[0] or late

    def short(self, key: BucketKey) -> str | None:
        asked = self.request.asked
        vcpu, cores, memory = asked
        _, most, used, _ = key
        if not (
            (vcpu and used[0] + vcpu > most[0])
            or (cores and used[1] + cores > most[1])
            or (memory and used[2] + memory > most[2])
        ):
            return None
        return f"fits: {shortage(Amounts(*most[:3]).minus(Amounts(*used[:3])), asked)}"

    def _of_class(self, group: NodeClass) -> tuple[str | None, str | None]:
        found = self._classes.get(group)
        if found is None:
            found = self._classes[group] = self._early(group), self._late(group)
        return found

    def _early(self, group: NodeClass) -> str | None:
        tier = group.exemplar.tier
        if tier not in self._known:
            return printed("tier", f"tier {tier}")
        return refused_at_once(self.request, self._around, group)

    def _late(self, group: NodeClass) -> str | None:
        if self.request.exclusive and group.state is State.SHARED:
            return printed("exclusive", "other jobs are here")
        for name, rule in (("together", together), ("zone", zone)):
            reason = rule(self.request, group.exemplar, self._around)
            if reason is not None:
                return printed(name, reason)
        return None


class Tally:
    """The counts of one kind of request, brought up to date with the shelf's moves when they are asked for."""

    def __init__(self, reasons: Reasons, shelf: Shelf) -> None:
        self.reasons = reasons
        self._read = len(shelf.moves)
        self._counts = _all(reasons, shelf)
        self._rows = sorted((-count, text) for text, count in self._counts.items())

    def catch_up(self, shelf: Shelf) -> None:
        """Take in what moved since."""
        moved: Counter[str] = Counter()
        for group, key, by in islice(shelf.moves, self._read, None):
            reason = self.reasons.of(group, key) if self.reasons.counts(group) else None
            if reason is not None:
                moved[reason] += by
        self._read = len(shelf.moves)
        for text, by in moved.items():
            if by:
                self._add(text, by)

    def first(self, changes: Mapping[str, int], most: int) -> dict[str, int]:
        """The most common reasons with these numbers added, equal ones by text."""
        rows = islice(self._rows, most + len(changes))
        same = (row for row in rows if row[1] not in changes)
        other = ((-count, text) for text, by in changes.items() if (count := self._counts.get(text, 0) + by) > 0)
        return {text: -negated for negated, text in islice(merge(same, sorted(other)), most)}

    def _add(self, text: str, by: int) -> None:
        before = self._counts.get(text, 0)
        if before:
            del self._rows[bisect_left(self._rows, (-before, text))]
        after = before + by
        if after:
            insort(self._rows, (-after, text))
            self._counts[text] = after
        else:
            self._counts.pop(text, None)


def tally_of(reasons: Reasons, shelf: Shelf) -> Tally:
    """The shelf's own for this kind of request."""
    kind = reasons.kind
    found: Tally | None = shelf.tallies.get(kind)
    if found is None:
        shelf.make_room()
        found = shelf.tallies[kind] = Tally(reasons, shelf)
    else:
        found.catch_up(shelf)
    return found


def by_hand(reasons: Reasons, shelf: Shelf, apart: frozenset[str], unfit: Unfit) -> Counter[str]:
    """Counted anew, less those apart, where a plugin is to be asked about every node that all others keep."""
    told: Counter[str] = Counter()
    for name in apart & shelf.where.keys():
        group, key = shelf.where[name]
        reason = reasons.early(group) or reasons.short(key)
        if reason is not None and reasons.counts(group):
            told[reason] -= 1
    for group, on_shelf in shelf.classes.items():
        if not reasons.counts(group):
            continue
        early, late = reasons.early(group), reasons.late(group)
        for key, names in on_shelf.buckets.items():
            reason = early or reasons.short(key)
            if reason is not None:
                told[reason] += len(names)
                continue
            for name in names:
                if name not in apart:
                    text = unfit.port(name) or key[0] or late or unfit.plugin(name)
                    if text:
                        told[text] += 1
    return told


def _all(reasons: Reasons, shelf: Shelf) -> dict[str, int]:
    told: Counter[str] = Counter()
    for group, on_shelf in shelf.classes.items():
        if not reasons.counts(group):
            continue
        early = reasons.early(group)
        if early is not None:
            told[early] += on_shelf.size
            continue
        late = reasons.late(group)
        for key, names in on_shelf.buckets.items():
            reason = reasons.short(key) or key[0] or late
            if reason:
                told[reason] += len(names)
    return dict(+told)
