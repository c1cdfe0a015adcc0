"""What waits to go up: log tails, reports until they are acknowledged, results of commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict

import anyio
import structlog
from anyio import to_thread

from agent.journal import Journal
from api.proto import agent_pb2 as wire
from api.proto.translate import instance_to_wire
from resources.canonical import Document
from resources.facts import Instance

log = structlog.get_logger()


class Outbox:
    """Reports outlive a connection; results and tails do not: the server asks again, the tail is read again."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._numbering = anyio.Lock()
        self._results: deque[wire.Result] = deque()
        self._tails: deque[wire.LogTail] = deque()
        self._sent = 0
        self._bell = anyio.Event()

    async def report(self, facts: Instance) -> None:
        """Numbered and journalled before it is sent. A full disk delays no report: the next Hello tells all again."""
        body = {"effect": self._journal.start_of(facts.id), "instance": asdict(facts)}
        async with self._numbering:
            try:
                await to_thread.run_sync(self._journal.report, body)
            except OSError as error:
                log.warning("a report is not in the journal", instance=facts.id, error=str(error))
        self._ring()

    def result(self, result: wire.Result) -> None:
        self._results.append(result)
        self._ring()

    def tail(self, tail: wire.LogTail) -> None:
        self._tails.append(tail)
        self._ring()

    def rewind(self, stored: int) -> None:
        """A new connection: what came after `stored` goes up (again), what only the old one waited for is dropped."""
        self._sent = stored
        self._results.clear()
        self._tails.clear()
        self._ring()

    def take(self) -> Iterator[wire.Up]:
        """What is to be sent now: output before the end that it explains, reports before the results behind them."""
        while self._tails:
            yield wire.Up(log_tail=self._tails.popleft())
        results = [self._results.popleft() for _ in range(len(self._results))]
        for seq, body in self._journal.reports_after(self._sent):
            self._sent = seq
            yield wire.Up(report=_report(seq, body))
        for result in results:
            yield wire.Up(result=result)

    async def more(self) -> None:
        """Until something was added since `take` was last exhausted."""
        await self._bell.wait()
        self._bell = anyio.Event()

    def _ring(self) -> None:
        self._bell.set()


def _report(seq: int, body: Document) -> wire.Report:
    return wire.Report(seq=seq, effect_id=body["effect"], instance=instance_to_wire(instance_of(body)))


def instance_of(body: Document) -> Instance:
    """The instance that a journalled report speaks of."""
    facts = body["instance"]
    return Instance(**(facts | {"ports": tuple(facts["ports"])}))
