"""What the tiers of a pool must be to each other, read from the document as it was written.

Whatever has the wrong shape is passed over here: that is told field by field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from resources.broken_rules import BrokenRule

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1_000_000
"""Of a criterion of a ranking: weights count in thousandths."""


def broken(document: Mapping[str, Any]) -> Iterator[BrokenRule]:
    listed = document.get("tiers")
    tiers = [tier if isinstance(tier, dict) else {} for tier in listed] if isinstance(listed, list | tuple) else []
    names: set[str] = set()
    fixed: int | None = None
    for index, tier in enumerate(tiers):
        where = f"tiers[{index}]"
        name = tier.get("name")
        if isinstance(name, str) and name in names:
            yield BrokenRule(f"{where}.name", f'duplicateTier: "{name}" is named twice', "duplicateTier")
        if isinstance(name, str):
            names.add(name)
        if tier.get("scaleOut") == "fixed":
            if fixed is not None:
                words = f"at most one fixed tier, and tiers[{fixed}] is one"
                yield BrokenRule(f"{where}.scaleOut", words, "severalFixedTiers")
            fixed = index if fixed is None else fixed
        yield from _tier(where, tier)
    ranking = document.get("ranking")
    if isinstance(ranking, dict):
        yield from _ranking(ranking.get("levels"))


def _ranking(levels: object) -> Iterator[BrokenRule]:
    listed = levels if isinstance(levels, list | tuple) else None
    if listed is not None and not listed:
        yield BrokenRule("ranking.levels", "at least one level is needed")
    named: set[str] = set()
    for index, level in enumerate(listed or ()):
        where = f"ranking.levels[{index}]"
        if isinstance(level, list | tuple | dict) and not level:
            yield BrokenRule(where, "at least one criterion is needed")
        ids = [name for name in level if isinstance(name, str)] if isinstance(level, list | tuple | dict) else []
        for name in ids:
            if name in named:
                yield BrokenRule(where, f'"{name}" is named twice')
            named.add(name)
        for name, weight in level.items() if isinstance(level, dict) else ():
            if isinstance(weight, int | float) and not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
                yield BrokenRule(f"{where}.{name}", f"must be between {LEAST_WEIGHT} and {MOST_WEIGHT}")


def _tier(where: str, tier: Mapping[str, Any]) -> Iterator[BrokenRule]:
    kind, elastic = tier.get("kind"), tier.get("scaleOut") == "elastic"
    if tier.get("rootVolume") is not None and kind in ("oci", "local-servers"):
        yield BrokenRule(f"{where}.rootVolume", "only for tiers of kind aws", "rootVolumeNotAws")
    if elastic and kind == "local-servers":
        yield BrokenRule(f"{where}.scaleOut", "own servers cannot be launched; use fixed", "localServersNotElastic")
    if elastic and tier.get("candidateInstanceTypes") in (None, [], ()):
        yield BrokenRule(f"{where}.candidateInstanceTypes", "an elastic tier needs at least one", "noInstanceTypes")
    if tier.get("machine") is not None and tier.get("scaleOut") == "fixed":
        yield BrokenRule(
            f"{where}.machine", "only for elastic tiers: a fixed one launches nothing", "machineNotElastic"
        )
