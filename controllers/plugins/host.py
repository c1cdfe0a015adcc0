"""The server's side of its plugins: asks the child, and leaves a rule that does not come back alone for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import structlog

from controllers.definitions.channel import Broken, Garbled
from controllers.plugins.answers import Heard, admission, heard, picks
from controllers.plugins.life import Child
from controllers.plugins.loading import sources
from controllers.plugins.questions import About, Admit, Pick, Plan, Question, Rule, packed, rules_of
from controllers.runtime.outcomes import Stopped
from placement.containment import Hosted, PluginFailed, Unanswered
from placement.fullness import SCALE
from placement.node import NodeView
from placement.plugins import Plugin, Scorer
from placement.request import Request
from resources.canonical import Document
from resources.validation import FieldError, Invalid

log = structlog.get_logger("rmctl.plugins")
T = TypeVar("T")
EVERYWHERE = ""
MOST_POOLS = 3
"""In which a rule is left alone by itself."""


@dataclass(frozen=True)
class Limits:
    """`memory_bytes` of address space; 0 is no limit."""

    answer_seconds: float = 1.0
    """For all that the rules say about one node."""
    plan_seconds: float = 30.0
    """For all that they say in one plan."""
    load_seconds: float = 10.0
    reload_seconds: float = 1.0
    """How long a plan waits for a child that loads anew."""
    pause_seconds: float = 60.0
    """How long a rule is not asked in a pool where it did not come back."""
    memory_bytes: int = 1024 * 1024 * 1024


DEFAULTS = Limits()


class Silence(NamedTuple):
    """Why there is no answer. `rule` is at fault; None is none in particular, and all are meant."""

    rule: Rule | None
    text: str


class Known(NamedTuple):
    """What was heard of a node in one plan, less the rules that are away."""

    request: Request
    node: NodeView
    away: Mapping[Rule, str]
    heard: Heard | Silence

    def refusal(self, rule: Rule) -> PluginFailed | None:
        """What this very rule has against the node. A silence is that of the one at fault: those before it kept."""
        if rule in self.away:
            return Unanswered(self.away[rule])
        if isinstance(self.heard, Silence):
            return Unanswered(self.heard.text) if self.heard.rule in (None, rule) else None
        return PluginFailed(self.heard.why) if self.heard.refused == rule[1] else None


class Host:
    """One child for all plugins: a request goes over once a plan, a node once for all rules about it."""

    def __init__(self, files: Sequence[str], monotonic: Callable[[], float], limits: Limits = DEFAULTS) -> None:
        self._files = tuple(files)
        self._monotonic = monotonic
        self._limits = limits
        self._lock = threading.Lock()
        self._closed = False
        self._child: Child | None = None
        self._started_at = 0.0
        self._waited = False
        """Somebody has waited for the child that loads; nobody else does."""
        self._listing: list[Document] = []
        self._rules: tuple[Rule, ...] = ()
        self._away: dict[tuple[Rule, str], tuple[str, float]] = {}
        """Rules that are not asked in a pool, or in any: why, and until when."""
        self._plan: Plan | None = None
        """What the child was told last."""
        self._spent = 0.0
        """Seconds, on that plan."""
        self._known: Known | None = None

    def load(self) -> tuple[Plugin, ...]:
        """The plugins, with rules that ask the child. Without any nothing is started. Raises Invalid."""
        found = sources(self._files)
        if not found:
            return ()
        try:
            child = self._start()
        except OSError as error:
            raise found[0].wrong(f": no process can be started: {error.strerror}") from None
        try:
            said = child.first_word(self._limits.load_seconds)
            how = f"not loaded within {self._limits.load_seconds:g} s"
        except Broken:
            said, how = None, ""
        if said is None:
            source = found[min(max(child.at, 1), len(found)) - 1]
            ended = self._end()
            raise source.wrong(f": {how or f'ended its process with {ended} while it was loaded'}")
        if "plugins" not in said:
            self._end()
            raise Invalid([FieldError(path, message) for path, message in said["unusable"]])
        child.loaded = True
        self._listing = said["plugins"]
        self._rules = rules_of(self._listing)
        return tuple(map(self._hosted, self._listing))

    def close(self) -> None:
        """At once, whatever a rule is at; the plan that waits for it is told Stopped."""
        self._closed = True
        child = self._child
        if child is not None:
            child.let_go()
        with self._lock:
            self._end()

    def _hosted(self, listed: Document) -> Plugin:
        return Plugin(
            listed["id"],
            {name: Hosted(partial(self._filter, ("filter", name))) for name in listed["filters"]},
            tuple(Scorer(name, Hosted(partial(self._score, ("scorer", name))), w) for name, w in listed["scorers"]),
            {kind: Hosted(partial(self._pick, ("picker", kind))) for kind in listed["pickers"]},
            Hosted(partial(self._admit, ("admit", listed["id"]))) if listed["admit"] else None,
        )

    def _filter(self, rule: Rule, request: Request, node: NodeView) -> str | None:
        refusal = self._about(request, node).refusal(rule)
        return None if refusal is None else str(refusal)

    def _score(self, rule: Rule, request: Request, node: NodeView) -> float:
        known = self._about(request, node)
        refusal = known.refusal(rule)
        if refusal is None and (isinstance(known.heard, Silence) or rule[1] not in known.heard.scores):
            refusal = PluginFailed("was not asked")
        if refusal is not None:
            raise refusal
        assert isinstance(known.heard, Heard)
        return known.heard.scores[rule[1]] / SCALE

    def _pick(
        self, rule: Rule, request: Request, node: NodeView, able: tuple[str, ...], count: int
    ) -> list[str] | None:
        return self._alone(rule, request, Pick(rule[1], node, able, count), picks)

    def _admit(self, rule: Rule, request: Request) -> str | None:
        return self._alone(rule, request, Admit(rule[1]), admission)

    def _about(self, request: Request, node: NodeView) -> Known:
        with self._lock:
            known = self._known
            if known is None or known.request is not request or known.node is not node:
                away = self._resting(request.pool)
                left = [rule for rule in self._rules if rule[0] in ("filter", "scorer") and rule not in away]
                said = self._ask(request, away, About(node), heard) if left else NOTHING
                known = self._known = Known(request, node, away, said)
            return known

    def _alone(self, rule: Rule, request: Request, question: Question, read: Callable[[Document], T]) -> T:
        """Of a rule that is asked by itself. Raises Unanswered."""
        with self._lock:
            away = self._resting(request.pool)
            said = Silence(rule, away[rule]) if rule in away else self._ask(request, away, question, read)
        if isinstance(said, Silence):
            raise Unanswered(said.text)
        return said

    def _resting(self, pool: str) -> dict[Rule, str]:
        now = self._monotonic()
        self._away = {key: (why, until) for key, (why, until) in self._away.items() if now < until}
        return {rule: why for (rule, where), (why, _) in self._away.items() if where in (pool, EVERYWHERE)}

    def _ask(
        self, request: Request, away: Mapping[Rule, str], question: Question, read: Callable[[Document], T]
    ) -> T | Silence:
        child = self._ready()
        if isinstance(child, Silence):
            return child
        plan = Plan(request, frozenset(away))
        again = self._plan is not None and self._plan.request is request and self._plan.away == plan.away
        self._plan, self._spent = plan, self._spent if again else 0.0
        limits, began = self._limits, self._monotonic()
        try:
            said = child.ask(packed((None if again else plan, question)), limits.answer_seconds)
            if said is None:
                return self._lost(child, f"did not answer within {limits.answer_seconds:g} s")
            answer = read(said)
        except Garbled as garbled:
            return self._lost(child, f"said {garbled}")
        except Broken:
            return self._lost(child, "ended its process with {}")
        self._spent += self._monotonic() - began
        if self._spent > limits.plan_seconds:
            return self._lost(child, f"and others together took more than {limits.plan_seconds:g} s for one job")
        return answer

    def _ready(self) -> Child | Silence:
        """The child once it has loaded: one that loads anew is waited for once, and not for long."""
        if self._closed:
            raise Stopped
        try:
            child = self._child or self._start()
        except OSError as error:
            return Silence(None, f"has no process: {error.strerror}")
        if self._closed:  # asked again: who closes it ends the child that it finds
            raise Stopped
        if child.loaded:
            return child
        seconds, self._waited = 0.0 if self._waited else self._limits.reload_seconds, True
        try:
            said = child.first_word(seconds)
        except Broken:
            return self._lost(child, "ended its process with {}")
        if said is None:
            if self._monotonic() < self._started_at + self._limits.load_seconds:
                return Silence(None, "is not loaded again yet")
            return self._lost(child, f"was not loaded again within {self._limits.load_seconds:g} s")
        if said.get("plugins") != self._listing:
            return self._lost(child, "is another one by now, and this server must be started anew")
        child.loaded = True
        return child

    def _lost(self, child: Child, how: str) -> Silence:
        """Ends it, so that the next question starts another, and leaves alone what it was at: in the pool of the plan,
        and everywhere once that has come to MOST_POOLS.
        """
        at = child.at if child.loaded else 0
        rule = self._rules[at - 1] if 0 < at <= len(self._rules) else None
        ended, plan = self._end(), self._plan
        if self._closed:
            raise Stopped
        text = f"{how.format(ended)}, and is not asked for {self._limits.pause_seconds:g} s"
        until = self._monotonic() + self._limits.pause_seconds
        pool = plan.request.pool if child.loaded and plan is not None else EVERYWHERE
        for one in (rule,) if rule else self._rules:
            pools = {where for known, where in self._away if known == one} | {pool}
            self._away[one, pool if len(pools) < MOST_POOLS else EVERYWHERE] = (text, until)
        log.warning("a plugin did not come back", rule=" ".join(rule or ("any",)), pool=pool, reason=text)
        return Silence(rule, text)

    def _start(self) -> Child:
        child = self._child = Child(self._files, self._limits.memory_bytes)
        self._started_at, self._waited, self._plan = self._monotonic(), False, None
        return child

    def _end(self) -> str:
        child, self._child = self._child, None
        return "" if child is None else child.end()


NOTHING = Heard(None)
"""Nobody was asked."""
