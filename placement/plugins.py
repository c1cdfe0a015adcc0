"""Plugins: filters, scorers, pickers and a word on admission, written by people who run the server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from types import FrameType
from typing import Any

from placement.fullness import SCALE
from placement.node import NodeView
from placement.request import Request

MOST_STEPS = 50_000
"""Lines of Python that one call may run."""

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


class PluginFailed(Exception):
    """It raised, went on for too long, or answered nonsense; the text is for people."""


class _TooLong(BaseException):
    pass


class Run:
    """The plugins during one plan: each is asked once about a node."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.filters = tuple((name, rule) for plugin in plugins for name, rule in plugin.filters.items())
        self.scorers = {scorer.id: scorer for plugin in plugins for scorer in plugin.scorers}
        self.pickers = {kind: rule for plugin in reversed(plugins) for kind, rule in plugin.pickers.items()}
        self.admits = tuple((plugin.id, plugin.admit) for plugin in plugins if plugin.admit is not None)
        self._refused: dict[str, tuple[str, str] | None] = {}
        self._scores: dict[tuple[str, str], int] = {}

    def inadmissible(self, request: Request) -> str | None:
        for name, rule in self.admits:
            try:
                said = _word(contained(rule, request))
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
                said = _word(contained(rule, request, node))
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
            self._scores[key] = _quantised(contained(self.scorers[name].score, request, node))
        return self._scores[key]

    def pick(
        self, kind: str, request: Request, node: NodeView, able: Sequence[str], count: int
    ) -> tuple[str, ...] | None:
        """Ids in their order; None for anything but exactly so many different candidates."""
        try:
            answer = contained(self.pickers[kind], request, node, tuple(able), count)
        except PluginFailed:
            return None
        if not isinstance(answer, list | tuple) or not all(isinstance(one, str) for one in answer):
            return None
        valid = len(answer) == count == len(set(answer)) and set(answer) <= set(able)
        return tuple(sorted(answer)) if valid else None


def contained(rule: Callable[..., object], *arguments: object) -> object:
    """What the rule answers. It has so many lines and no more, and what it raises is its own. Raises PluginFailed.

    A call into C that does not return cannot be ended.
    """
    left = MOST_STEPS

    def step(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise _TooLong
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        return rule(*arguments)
    except _TooLong:
        raise PluginFailed("did not come to an end") from None
    except BaseException as error:  # noqa: BLE001  whatever a plugin raises costs the node, not the plan
        raise PluginFailed(f"failed: {type(error).__name__}: {error}") from None
    finally:
        sys.settrace(before)


def _word(answer: object) -> str | None:
    if answer is None or answer is True:
        return None
    if isinstance(answer, str) and answer:
        return answer
    raise PluginFailed(f"answered {answer!r}, neither None nor a reason")


def _quantised(answer: object) -> int:
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        raise PluginFailed(f"scored {answer!r}, which is no number")
    if isnan(answer):
        return 0
    return int(min(max(answer, 0), 1) * SCALE)
