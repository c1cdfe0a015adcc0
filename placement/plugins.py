"""Plugins: filters, scorers, pickers and a word on admission, written by people who run the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from placement.containment import PluginFailed, as_picks, as_reason, as_score, contained
from placement.node import NodeView
from placement.request import Request
from placement.sealed import sealed_node, sealed_request

FilterRule = Callable[[Request, NodeView], object]
"""None or True keeps the node; a text says why not."""
ScoreRule = Callable[[Request, NodeView], object]
"""0 to 1, higher is better; outside of it counts as the nearer end, what is no number as nothing."""
PickRule = Callable[[Request, NodeView, Sequence[str], int], object]
"""Of the candidates' ids, exactly so many."""
AdmitRule = Callable[[Request], object]
"""None or True lets it be planned; a text says why not."""


@dataclass(frozen=True, slots=True)
class Scorer:
    id: str
    score: ScoreRule
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Plugin:
    """`filters` by id in their order, `pickers` by class of device. Rules see values that they cannot change."""

    id: str
    filters: Mapping[str, FilterRule] = field(default_factory=dict)
    scorers: tuple[Scorer, ...] = ()
    pickers: Mapping[str, PickRule] = field(default_factory=dict)
    admit: AdmitRule | None = None


class Run:
    """The plugins during one plan: each is asked once about a node."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.filters = tuple((name, rule) for plugin in plugins for name, rule in plugin.filters.items())
        self.scorers = {scorer.id: scorer for plugin in plugins for scorer in plugin.scorers}
        self.pickers = {kind: rule for plugin in reversed(plugins) for kind, rule in plugin.pickers.items()}
        self.admits = tuple((plugin.id, plugin.admit) for plugin in plugins if plugin.admit is not None)
        self._refused: dict[str, tuple[str, str] | None] = {}
        self._scores: dict[tuple[str, str], int] = {}
        self._picks: dict[tuple[str, str, tuple[str, ...], int], tuple[str, ...] | PluginFailed] = {}
        self._asked: tuple[Request, Request] | None = None
        self._looked_at: tuple[NodeView, NodeView] | None = None

    def forget(self) -> None:
        """Nodes may be others from here on, under the same names."""
        self._refused.clear()
        self._scores.clear()
        self._picks.clear()

    def inadmissible(self, request: Request) -> str | None:
        for name, rule in self.admits:
            try:
                said = contained(as_reason, rule, self._request(request))
            except PluginFailed as failed:
                said = str(failed)
            if said is not None:
                return f"{name}: {said}"
        return None

    def refusal(self, request: Request, node: NodeView) -> tuple[str, str] | None:
        """The first filter, or scorer that fails, and its reason."""
        if node.name not in self._refused:
            self._refused[node.name] = self._first(request, node)
        return self._refused[node.name]

    def _first(self, request: Request, node: NodeView) -> tuple[str, str] | None:
        for name, rule in self.filters:
            try:
                said = contained(as_reason, rule, self._request(request), self._node(node))
            except PluginFailed as failed:
                said = str(failed)
            if said is not None:
                return name, said
        for name in self.scorers:
            try:
                self.score(name, request, node)
            except PluginFailed as failed:
                return name, str(failed)
        return None

    def score(self, name: str, request: Request, node: NodeView) -> int:
        """In whole numbers up to SCALE. Raises PluginFailed."""
        key = name, node.name
        if key not in self._scores:
            rule = self.scorers[name].score
            self._scores[key] = contained(as_score, rule, self._request(request), self._node(node))
        return self._scores[key]

    def pick(self, kind: str, request: Request, node: NodeView, able: Sequence[str], count: int) -> tuple[str, ...]:
        """So many of the candidates' ids, in their order. Raises PluginFailed."""
        key = kind, node.name, tuple(able), count
        if key not in self._picks:
            self._picks[key] = self._picked(kind, request, node, tuple(able), count)
        found = self._picks[key]
        if isinstance(found, PluginFailed):
            raise found
        return found

    def _picked(
        self, kind: str, request: Request, node: NodeView, able: tuple[str, ...], count: int
    ) -> tuple[str, ...] | PluginFailed:
        rule = self.pickers[kind]
        try:
            return contained(
                partial(as_picks, able, count), rule, self._request(request), self._node(node), able, count
            )
        except PluginFailed as failed:
            return failed

    def _request(self, request: Request) -> Request:
        if self._asked is None or self._asked[0] is not request:
            self._asked = request, sealed_request(request)
        return self._asked[1]

    def _node(self, node: NodeView) -> NodeView:
        if self._looked_at is None or self._looked_at[0] is not node:
            self._looked_at = node, sealed_node(node)
        return self._looked_at[1]
