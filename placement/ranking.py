"""Rankings: an ordered list of levels, each a weighted sum of criteria; the node's name breaks what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from placement.errors import InvalidRequest

CRITERION_NAMES = (
    "resilience",
    "booted",
    "avoid_spare",
    "warmth",
    "reservation",
    "prefer_spare",
    "packing",
    "same_zone",
    "spread",
    "topology",
)
DEFAULT_TOP_N = 5
ALIASES = {"binpack": "packing"}

Level = tuple[tuple[str, int], ...]
"""Criteria with their weights in thousandths."""


class Ranking(NamedTuple):
    """Levels, the most important first, and among how many equals of all but the last level to draw."""

    levels: tuple[Level, ...]
    top_n: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """One name a level, as a trace prints it."""
        return _names(self.levels)

    @property
    def by_tenant(self) -> bool:
        """Whether a node's place depends on whose claims it carries."""
        return any(criterion == "spread" for level in self.levels for criterion, _ in level)


@lru_cache(maxsize=256)
def _names(levels: tuple[Level, ...]) -> tuple[str, ...]:
    return tuple("+".join(criterion for criterion, _ in level) for level in levels)


LEXICOGRAPHIC = Ranking(tuple(((name, 1000),) for name in CRITERION_NAMES[:8]))
WEIGHTED = Ranking(((("packing", 1000), ("topology", 1000), ("spread", 250)),), DEFAULT_TOP_N)
PRESETS = {"lexicographic": LEXICOGRAPHIC, "weighted": WEIGHTED}


def ranking_from(plain: object, scorers: Iterable[str] = ()) -> Ranking:
    """A pool's `ranking`: a preset's name, or {levels: [[id] or {id: weight}], topN}. Raises InvalidRequest.

    `scorers` are the ids of plugins that a level may name too.
    """
    known = (*CRITERION_NAMES, *scorers)
    if isinstance(plain, str):
        if plain not in PRESETS:
            raise InvalidRequest("ranking", f'"{plain}" is not one of {", ".join(PRESETS)}')
        return PRESETS[plain]
    if not isinstance(plain, Mapping) or not set(plain) <= {"levels", "topN"}:
        raise InvalidRequest("ranking", "neither the name of a ranking nor {levels, topN}")
    levels, top_n = plain.get("levels"), plain.get("topN", 1)
    if not isinstance(levels, list | tuple) or not levels:
        raise InvalidRequest("ranking.levels", "a list with at least one level is required")
    if type(top_n) is not int or top_n < 1:
        raise InvalidRequest("ranking.topN", "must be a whole number of at least 1")
    return Ranking(tuple(_level(f"ranking.levels[{at}]", level, known) for at, level in enumerate(levels)), top_n)


def with_scorers(ranking: Ranking, scorers: Iterable[tuple[str, float]]) -> Ranking:
    """Scorers of plugins join the last level, unless a level names them already."""
    named = {name for level in ranking.levels for name, _ in level}
    more = tuple((name, round(weight * 1000)) for name, weight in scorers if name not in named)
    return ranking._replace(levels=(*ranking.levels[:-1], ranking.levels[-1] + more)) if more else ranking


def reweighted(ranking: Ranking, weights: Mapping[str, float]) -> Ranking:
    """Weights by id in place of their own; 0 leaves a criterion out, where its level has another."""
    given = {ALIASES.get(name, name): round(weight * 1000) for name, weight in weights.items()}
    levels = []
    for level in ranking.levels:
        new = tuple((name, given.get(name, weight)) for name, weight in level)
        levels.append(tuple((name, weight) for name, weight in new if weight) or level)
    return ranking._replace(levels=tuple(levels))


def draw(seed: int | str | None, among: int) -> int:
    """An index below `among`, the same for the same seed; 0 without a seed or without a choice."""
    if seed is None or among <= 1:
        return 0
    number = int.from_bytes(blake2b(str(seed).encode(), digest_size=8).digest(), "big")
    return number * among >> 64


def _level(where: str, plain: object, known: tuple[str, ...]) -> Level:
    weights = (
        plain if isinstance(plain, Mapping) else dict.fromkeys(plain, 1) if isinstance(plain, list | tuple) else {}
    )
    if not weights:
        raise InvalidRequest(where, "needs at least one criterion")
    level = []
    for name, weight in weights.items():
        criterion = ALIASES.get(name, name)
        if criterion not in known:
            raise InvalidRequest(where, f'"{name}" is not one of {", ".join(known)}')
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.001 <= weight <= 1_000_000:
            raise InvalidRequest(where, f'the weight of "{name}" must be at least 0.001')
        level.append((criterion, round(weight * 1000)))
    return tuple(level)
