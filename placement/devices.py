"""What a job asks of a node's devices, and which atoms it would get there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import combinations
from operator import or_
from typing import Literal, NamedTuple

from placement.boards import NV, UNKNOWN, WHOLE, Layout
from placement.errors import InvalidRequest
from placement.fullness import SCALE
from placement.linked import together
from placement.picks import EXACT, Limits, bits, pick, within, worst_link
from resources.quantities import plain
from resources.selectors import ANYTHING, Selector, formatted

Topology = Literal["any", "nvlink-all"]
MOST_ASKS = 8
MOST_REMEMBERED = 65_536
MOST_TOLD = 120
"""Characters of a selector in a reason."""
SCORES = tuple(SCALE * tenths // 10 for tenths in (5, 0, 2, 4, 6, 8, 10))
"""The topology criterion by worst link; an unknown one is neutral."""
NEUTRAL = SCALE // 2


@dataclass(frozen=True, slots=True)
class Ask:
    """So many whole atoms of a class, or `units` thousandths of a single one."""

    kind: str
    count: int = 1
    units: int = WHOLE
    selector: Selector = ANYTHING
    topology: Topology = "any"


class Verdict(NamedTuple):
    """What one node answers: the atoms for each ask, or the filter that refuses and why."""

    picks: tuple[tuple[int, ...], ...] = ()
    link: int | None = None
    """Worst link over all asks for several atoms; None without any."""
    filter: str = ""
    reason: str = ""

    @property
    def score(self) -> int:
        return NEUTRAL if self.link is None else SCORES[self.link]


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """The asks of a request. Equal asks are the very same object, so that what was worked out for one is found again.

    `own` counts those of the job itself; the others are its group's.
    """

    asks: tuple[Ask, ...]
    own: int
    keys: tuple[str, ...]
    """Keys of the selectors, sorted: node labels of these names count where an atom has no such attribute."""
    kinds: tuple[str, ...]
    units: tuple[int, ...]
    """By kind, what is asked in all."""


def wanted(asks: tuple[Ask, ...], own: int) -> Wanted:
    """Raises InvalidRequest for what no node could answer."""
    for at, ask in enumerate(asks):
        _check(f"devices[{at}]", ask)
    if len(asks) > MOST_ASKS:
        raise InvalidRequest("devices", f"at most {MOST_ASKS}")
    return _wanted(asks, own)


@lru_cache(maxsize=4096)
def _wanted(asks: tuple[Ask, ...], own: int) -> Wanted:
    kinds = tuple(dict.fromkeys(ask.kind for ask in asks))
    keys = sorted({expression.key for ask in asks for expression in ask.selector.expressions})
    units = tuple(sum(ask.count * ask.units for ask in asks if ask.kind == kind) for kind in kinds)
    return Wanted(asks, own, tuple(keys), kinds, units)


def _check(where: str, ask: Ask) -> None:
    if not ask.kind:
        raise InvalidRequest(f"{where}.class", "required")
    for name, value, most in (("count", ask.count, None), ("units", ask.units, WHOLE)):
        if type(value) is not int or value < 1 or (most is not None and value > most):
            limit = "" if most is None else f" of at most {most}"
            raise InvalidRequest(f"{where}.{name}", f"must be a whole number of at least 1{limit}, not {value!r}")
    if ask.units < WHOLE and ask.count != 1:
        raise InvalidRequest(f"{where}.units", "are of one device, so count is 1")
    if ask.topology not in ("any", "nvlink-all"):
        raise InvalidRequest(f"{where}.topology", f'"{ask.topology}" is not one of any, nvlink-all')


def verdict(
    layout: Layout, free: tuple[int, ...], want: Wanted, labels: tuple[str | None, ...], *, binpack: bool
) -> Verdict:
    """`free` are units by atom, `labels` the node's values of `want.keys`. Worked out once for all nodes alike."""
    memo = layout.memo
    key = (want, free, labels, binpack)
    found: Verdict | None = memo.get(key)
    if found is None:
        if len(memo) >= MOST_REMEMBERED:
            memo.clear()
        found = memo[key] = _judge(layout, free, want, labels, binpack=binpack)
    return found


def candidates(layout: Layout, free: tuple[int, ...], ask: Ask, labels: Mapping[str, str | None]) -> int:
    """A bit for each atom that would do: of the class, well and bookable, free enough, and selected."""
    mask = 0
    for at in bits(layout.by_kind.get(ask.kind, 0)):
        if layout.usable[at] and free[at] >= ask.units and _selected(ask.selector, layout.attributes[at], labels):
            mask |= 1 << at
    return mask


def _judge(
    layout: Layout, free: tuple[int, ...], want: Wanted, labels: tuple[str | None, ...], *, binpack: bool
) -> Verdict:
    by_key = dict(zip(want.keys, labels, strict=True))
    masks = [candidates(layout, free, ask, by_key) for ask in want.asks]
    for ask, mask in zip(want.asks, masks, strict=True):
        if mask.bit_count() < ask.count:
            return Verdict(filter="fits", reason=_short(layout, free, ask, mask, by_key))
    over = _too_many(want.asks, masks)
    if over is not None:
        ask, missing = over
        return Verdict(filter="fits", reason=f"{ask.count - missing} of {ask.count} {ask.kind} free")
    return _picked(layout, free, want, masks, binpack=binpack)


def _picked(layout: Layout, free: tuple[int, ...], want: Wanted, masks: list[int], *, binpack: bool) -> Verdict:
    """The asks that are hardest to please choose first; none takes what another one cannot do without."""
    order = sorted(range(len(masks)), key=lambda at: _ease(want.asks[at], at))
    linked = [at for at in order if want.asks[at].topology == "nvlink-all" and want.asks[at].count > 1]
    picks: dict[int, tuple[int, ...]] = {}
    if len(linked) > 1 and reduce(or_, (masks[at] for at in linked)).bit_count() <= EXACT:
        limits = _limits([(want.asks[at], masks[at]) for at in order if at not in linked])
        joint = together(layout, [(masks[at], want.asks[at].count) for at in linked], limits)
        if joint is None:
            return Verdict(filter="topology", reason=_unlinked(layout, want, masks, sorted(linked)))
        picks = dict(zip(linked, joint, strict=True))
    taken = sum(1 << atom for chosen in picks.values() for atom in chosen)
    for step, at in enumerate(order):
        if at in picks:
            continue
        ask, mask = want.asks[at], masks[at] & ~taken
        limits = _limits([(want.asks[other], masks[other] & ~taken) for other in order[step + 1 :]])
        if ask.units < WHOLE:
            chosen = _share(layout, free, mask, limits, binpack=binpack)
        else:
            chosen = pick(layout, mask, ask.count, limits)
        picks[at] = chosen
        taken |= sum(1 << atom for atom in chosen)
    links = {at: worst_link(layout, chosen) for at, chosen in picks.items() if len(chosen) > 1}
    if any(links[at] < NV for at in linked):
        return Verdict(filter="topology", reason=_unlinked(layout, want, masks, sorted(linked)))
    link = UNKNOWN if UNKNOWN in links.values() else min(links.values(), default=None)
    return Verdict(tuple(picks[at] for at in range(len(masks))), link)


def _unlinked(layout: Layout, want: Wanted, masks: list[int], linked: list[int]) -> str:
    """The first ask that no set would please; where each has one, the first, and that the others are in its way."""
    for at in linked:
        ask = want.asks[at]
        if worst_link(layout, pick(layout, masks[at], ask.count)) < NV:
            return f"no NVLink-complete set of {ask.count} {ask.kind}"
    ask = want.asks[linked[0]]
    return f"no NVLink-complete set of {ask.count} {ask.kind} beside what else is asked for"


def _share(layout: Layout, free: tuple[int, ...], mask: int, limits: Limits, *, binpack: bool) -> tuple[int, ...]:
    """The fullest atom that fits, or the emptiest, then the first that its node lists."""
    ranked = sorted(bits(mask), key=lambda atom: (free[atom] if binpack else -free[atom], layout.positions[atom]))
    return next((atom,) for atom in ranked if within(1 << atom, limits))


def _ease(ask: Ask, at: int) -> tuple[bool, bool, int, int]:
    """Single atoms come last: which of them are taken changes no link."""
    return ask.count == 1, ask.topology == "any", -ask.count, at


def _limits(rest: list[tuple[Ask, int]]) -> Limits:
    """What may be taken of the candidates of others, so that all of them still find as many as they ask for."""
    most: dict[int, int] = {}
    for size in range(1, len(rest) + 1):
        for some in combinations(rest, size):
            among = reduce(or_, (mask for _, mask in some))
            spare = among.bit_count() - sum(ask.count for ask, _ in some)
            most[among] = min(spare, most.get(among, spare))
    return tuple(sorted(most.items()))


def _too_many(asks: tuple[Ask, ...] | list[Ask], masks: list[int]) -> tuple[Ask, int] | None:
    """Of asks that compete for the same atoms, the last one and how many it lacks; None if all can be had at once.

    Source: P. Hall, On Representatives of Subsets, 1935: any of them together must find as many as they ask for.
    """
    for size in range(1, len(masks) + 1):
        for some in combinations(range(len(masks)), size):
            union = 0
            for at in some:
                union |= masks[at]
            missing = sum(asks[at].count for at in some) - union.bit_count()
            if missing > 0:
                return asks[some[-1]], min(missing, asks[some[-1]].count)
    return None


def _short(layout: Layout, free: tuple[int, ...], ask: Ask, mask: int, labels: Mapping[str, str | None]) -> str:
    """How much there is, and how much there would be without the selector where that is more."""
    anything = replace(ask, selector=ANYTHING)
    if ask.units == WHOLE:
        some, every = mask.bit_count(), candidates(layout, free, anything, labels).bit_count()
        amounts = str(some), str(ask.count), str(every)
    else:
        some = _most(layout, free, replace(ask, units=0), labels)
        every = _most(layout, free, replace(anything, units=0), labels)
        amounts = plain(some), plain(ask.units), plain(every)
    told = f"{amounts[0]} of {amounts[1]} {ask.kind} free"
    return told if every == some else f"{told} where {spelled(ask.selector)} ({amounts[2]} of any)"


def _most(layout: Layout, free: tuple[int, ...], ask: Ask, labels: Mapping[str, str | None]) -> int:
    """Of what is free of one atom."""
    return max((free[at] for at in bits(candidates(layout, free, ask, labels)) if free[at] > 0), default=0)


def spelled(selector: Selector) -> str:
    text = formatted(selector)
    return text if len(text) <= MOST_TOLD else f"{text[: MOST_TOLD - 1]}…"


def _selected(selector: Selector, attributes: Mapping[str, str], labels: Mapping[str, str | None]) -> bool:
    """An attribute comes before a node label of the same key."""
    return all(e.holds(attributes.get(e.key, labels.get(e.key))) for e in selector.expressions)
