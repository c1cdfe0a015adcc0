"""The talk with a runner that carries out a workflow, to its last word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from controllers.definitions.channel import Broken, Channel
from resources.canonical import Document


class Talker(Protocol):
    """As `Process`."""

    @property
    def deadline(self) -> float: ...
    @property
    def channel(self) -> Channel: ...


def converse(
    runner: Talker, given: Document, answer: Callable[[Document], Document], clock: Callable[[], float]
) -> Document:
    """What it says at the end: `result`, `failed` or `waits`; `spent` when it cannot be used again. Raises Broken."""
    until = clock() + runner.deadline
    runner.channel.send({"do": "workflow", "input": given})
    while True:
        said = runner.channel.receive(max(until - clock(), 0.0))
        if said is None:
            return {"failed": f"not through after {runner.deadline:g} s", "spent": True}
        if "cancelled" in said:
            raise Broken("interrupted")
        if not isinstance(said.get("ask"), dict):
            return said
        runner.channel.send(answer(said["ask"]))
