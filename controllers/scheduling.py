"""How this server places: its plugins, and what it sets for every pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from placement import PoolPolicy, Ranking, ranking_from
from placement.plugins import Plugin
from placement.ranking import ALIASES, CRITERION_NAMES, reweighted, with_scorers
from resources.canonical import Document
from resources.pool import CustomRanking, PoolSpec


@dataclass(frozen=True)
class Scheduling:
    """`weights` by id of a criterion or a plugin's scorer; `top_n` for pools that set none of their own."""

    plugins: tuple[Plugin, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    top_n: int | None = None
    max_attempts: int = 3
    placer: str = "inline"
    max_batch: int = 64

    def of(self, policy: PoolPolicy, pool: PoolSpec) -> PoolPolicy:
        """The pool's own policy with what the server adds to it."""
        return replace(policy, ranking=self._ranking(pool), plugins=self.plugins)

    def to_document(self) -> Document:
        """What a decision depends on beside its pool, empty where nothing is set. Of a plugin's code its ids show."""
        plugins = {plugin.id: _plain(plugin) for plugin in self.plugins}
        given = {"plugins": plugins, "weights": dict(self.weights), "topN": self.top_n}
        return {name: value for name, value in given.items() if value}

    @property
    def criteria(self) -> tuple[str, ...]:
        """What the levels of a ranking may name."""
        return (*CRITERION_NAMES, *ALIASES, *(scorer.id for plugin in self.plugins for scorer in plugin.scorers))

    def strangers(self, pool: PoolSpec) -> tuple[str, ...]:
        """What the pool's levels name and no plugin brings any more: it is passed over."""
        levels = () if isinstance(pool.ranking, str) else pool.ranking.levels
        known = self.criteria
        return tuple(dict.fromkeys(name for level in levels for name in level if name not in known))

    def _ranking(self, pool: PoolSpec) -> Ranking:
        plain = pool.ranking if isinstance(pool.ranking, str) else self._levels(pool, pool.ranking)
        scorers = [(scorer.id, scorer.weight) for plugin in self.plugins for scorer in plugin.scorers]
        ranking = with_scorers(ranking_from(plain, [name for name, _ in scorers]), scorers)
        if self.top_n is not None and plain == "weighted":
            ranking = ranking._replace(top_n=self.top_n)
        return reweighted(ranking, self.weights) if self.weights else ranking

    def _levels(self, pool: PoolSpec, ranking: CustomRanking) -> Document | str:
        """As they stand, less what nobody brings; where nothing is left, the order of a pool that names none."""
        strange = self.strangers(pool)
        if not strange:
            return ranking.model_dump(by_alias=True)
        levels = [
            {name: weight for name, weight in level.items() if name not in strange}
            if isinstance(level, Mapping)
            else [name for name in level if name not in strange]
            for level in ranking.levels
        ]
        kept = [level for level in levels if level]
        return {"levels": kept, "topN": ranking.top_n} if kept else "lexicographic"


def changes(then: Document, now: Document) -> str:
    """In words, how what the server sets differs from what a decision was made under; empty if it does not."""
    before, after = then.get("plugins", {}), now.get("plugins", {})
    said = [f"plugin {name} is gone" for name in before if name not in after]
    said += [f"plugin {name} is new" for name in after if name not in before]
    said += [f"plugin {name} has other rules" for name in before if name in after and before[name] != after[name]]
    said += ["placement.weights are others"] * (then.get("weights") != now.get("weights"))
    said += ["placement.topN is another"] * (then.get("topN") != now.get("topN"))
    return ", ".join(said)


def _plain(plugin: Plugin) -> Document:
    return {
        "filters": list(plugin.filters),
        "scorers": {scorer.id: scorer.weight for scorer in plugin.scorers},
        "pickers": sorted(plugin.pickers),
        "admit": plugin.admit is not None,
    }


PLAIN = Scheduling()
