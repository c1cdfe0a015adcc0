"""How this server places: its plugins, and what it sets for every pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from placement import PoolPolicy, Ranking, ranking_from
from placement.plugins import Plugin
from placement.ranking import reweighted, with_scorers
from resources.pool import PoolSpec


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

    def _ranking(self, pool: PoolSpec) -> Ranking:
        plain = pool.ranking if isinstance(pool.ranking, str) else pool.ranking.model_dump(by_alias=True)
        scorers = [(scorer.id, scorer.weight) for plugin in self.plugins for scorer in plugin.scorers]
        ranking = with_scorers(ranking_from(plain, [name for name, _ in scorers]), scorers)
        if self.top_n is not None and plain == "weighted":
            ranking = ranking._replace(top_n=self.top_n)
        return reweighted(ranking, self.weights) if self.weights else ranking


PLAIN = Scheduling()
