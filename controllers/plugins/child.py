"""The child: loads the plugins of the placer, then answers one question after the other."""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from controllers.definitions.channel import Channel
from controllers.plugins.life import OURS
from controllers.plugins.loading import load, sources
from controllers.plugins.questions import About, Admit, Asked, Pick, Plan, Rule, listed, read, rules_of
from placement.containment import PluginFailed, as_reason, contained
from placement.plugins import Plugin, Run
from placement.sealed import sealed_request
from resources.canonical import Document
from resources.validation import Invalid

Mark = Callable[[int], None]
"""Notes where the server can read it what is at work: from 1 on; 0 is nothing of a plugin's."""


class Desk:
    """Answers from the plugins, whose rules note themselves while they are asked."""

    def __init__(self, plugins: Sequence[Plugin], mark: Mark) -> None:
        numbers = {rule: number for number, rule in enumerate(rules_of(listed(plugins)), 1)}
        self._plugins = tuple(_marking(plugin, numbers, mark) for plugin in plugins)
        self._plan: Plan | None = None
        self._run = Run(())

    def answer(self, asked: Asked) -> Document:
        plan, question = asked
        if plan is not None:
            self._plan = plan
            self._run = Run([_without(plugin, plan.away) for plugin in self._plugins])
        assert self._plan is not None
        request, run = self._plan.request, self._run
        run.forget()
        match question:
            case About(node):
                refused = run.refusal(request, node)
                if refused is None:
                    return {"scores": {name: run.score(name, request, node) for name in run.scorers}}
                return {"refused": refused[0], "why": refused[1]}
            case Pick(kind, node, able, count):
                try:
                    return {"picks": list(run.pick(kind, request, node, able, count))}
                except PluginFailed:
                    return {"picks": None}
            case Admit(plugin):
                rule = next(one.admit for one in self._plugins if one.id == plugin)
                assert rule is not None
                try:
                    return {"said": contained(as_reason, rule, sealed_request(request))}
                except PluginFailed as failed:
                    return {"said": str(failed)}


def _marking(plugin: Plugin, numbers: dict[Rule, int], mark: Mark) -> Plugin:
    def marked(kind: str, name: str, rule: Callable[..., object]) -> Callable[..., object]:
        number = numbers[kind, name]

        def asked(*arguments: Any) -> object:
            mark(number)
            return rule(*arguments)

        return asked

    return replace(
        plugin,
        filters={name: marked("filter", name, rule) for name, rule in plugin.filters.items()},
        scorers=tuple(replace(one, score=marked("scorer", one.id, one.score)) for one in plugin.scorers),
        pickers={kind: marked("picker", kind, rule) for kind, rule in plugin.pickers.items()},
        admit=None if plugin.admit is None else marked("admit", plugin.id, plugin.admit),
    )


def _without(plugin: Plugin, away: frozenset[Rule]) -> Plugin:
    return replace(
        plugin,
        filters={name: rule for name, rule in plugin.filters.items() if ("filter", name) not in away},
        scorers=tuple(one for one in plugin.scorers if ("scorer", one.id) not in away),
    )


def _die_with(life: int) -> None:
    """The kernel kills this process once nobody holds the other end: code in C can hold all threads up, and a death
    signal of the parent's would come with the end of the thread that started it.
    """
    fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(life, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    if select.select([life], [], [], 0)[0]:
        os._exit(1)


def main(words: list[str]) -> None:
    """`FD LIFE_FD MARK_FD MEMORY_BYTES [FILE…]`."""
    line, life, note, memory = map(int, words[:4])
    for descriptor in (line, life, note):
        os.set_inheritable(descriptor, False)
    _die_with(life)
    for name in OURS:
        os.environ.pop(name, None)
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pid, end = os.getpid(), socket.socket(fileno=line)
    channel = Channel(end)

    def mark(number: int) -> None:
        os.pwrite(note, number.to_bytes(4, "big"), 0)

    try:
        plugins = load(sources(words[4:]), lambda number: mark(number + 1))
    except Invalid as invalid:
        channel.send({"unusable": [[one.path, one.message] for one in invalid.errors]})
        return
    mark(0)
    channel.send({"plugins": listed(plugins)})
    desk = Desk(plugins, mark)
    while (asked := read(end)) is not None:
        said = desk.answer(asked)
        if os.getpid() != pid:
            os._exit(0)  # a child that a rule has forked speaks to nobody
        mark(0)
        channel.send(said)


if __name__ == "__main__":
    main(sys.argv[1:])
