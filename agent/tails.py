"""Log tails on their way to the server: sent while they change and once more at the end."""

from __future__ import annotations

import anyio
from anyio import to_thread

from agent.life import Life
from agent.outbox import Outbox
from agent.output import TAIL_BYTES, Tail, mark, read_tail
from agent.supervisor import Supervisor
from api.proto import agent_pb2 as wire

LOOK_SECONDS = 1.0

Mark = tuple[int, int, int]


class Tails:
    def __init__(self, supervisor: Supervisor, outbox: Outbox) -> None:
        self._supervisor = supervisor
        self._outbox = outbox
        self._shipped: dict[str, Mark] = {}
        self._pending: dict[int, tuple[str, Mark]] = {}
        self._seq = 0

    def rewind(self) -> None:
        """A new connection: tails that nobody acknowledged go up again."""
        for instance, _ in self._pending.values():
            self._shipped.pop(instance, None)
        self._pending.clear()

    def acknowledge(self, seq: int) -> None:
        for number in [number for number in self._pending if number <= seq]:
            instance, shipped = self._pending.pop(number)
            life = self._supervisor.find(instance)
            if life is not None and not life.facts.alive and mark(life.folder.path) == shipped:
                life.folder.set_output_told()

    async def run(self) -> None:
        """For as long as a connection lasts."""
        while True:
            for life in self._supervisor.lives():
                if life.facts.alive or not life.folder.output_told:
                    await self.ship(life)
            self._forget()
            await anyio.sleep(LOOK_SECONDS)

    async def ship(self, life: Life) -> None:
        """Send the tail if it changed since it was last sent."""
        now = mark(life.folder.path)
        if now == self._shipped.get(life.facts.id, (0, 0, 0)):
            return
        tail = await to_thread.run_sync(_masked, life)
        self._seq += 1
        self._shipped[life.facts.id] = now
        self._pending[self._seq] = (life.facts.id, now)
        later = any(
            other.order.job_uid == life.order.job_uid and other.facts.attempt > life.facts.attempt
            for other in self._supervisor.lives()
        )
        self._outbox.tail(
            wire.LogTail(
                seq=self._seq,
                job_uid=life.facts.uid,
                job=life.facts.job,
                instance_id=life.facts.id,
                attempt=life.facts.attempt,
                previous=later,
                bytes=tail.data,
                truncated=tail.truncated,
                at=now[2] / 1e9,
            )
        )

    def _forget(self) -> None:
        known = {life.facts.id for life in self._supervisor.lives()}
        self._shipped = {instance: shipped for instance, shipped in self._shipped.items() if instance in known}


def _masked(life: Life) -> Tail:
    """The last words without the job's secrets, also where the cut goes through one."""
    found = read_tail(life.folder.path, life.mask.longest)
    data = life.mask.over(found.data)
    return Tail(data[-TAIL_BYTES:], found.truncated or len(data) > TAIL_BYTES)
