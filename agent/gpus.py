"""The GPUs that a driver tells of, looked at again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
import anyio.abc
import anyio.to_thread
import structlog

from agent.cards import Card, devices_of
from agent.nvml import Nvml, Unreadable
from api.proto import agent_pb2 as wire
from api.proto.translate import MOST_DEVICES, device_to_wire

LOOK_SECONDS = 5.0
PATIENCE_SECONDS = 20.0
"""How long the first answer is waited for: a driver that hangs keeps no agent from its jobs."""

log = structlog.get_logger()


class Gpus:
    """Hands each list on to `told`; a driver that cannot be read changes nothing."""

    def __init__(self, told: Callable[[list[wire.Device]], None]) -> None:
        self._told = told
        self._sick: dict[str, str] = {}
        self._silent = False

    async def watch(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Says that it has started once the first list is told, or known to take longer. Ends where there is no GPU."""
        library: Nvml | None = None
        with anyio.move_on_after(PATIENCE_SECONDS) as waiting:
            library = await anyio.to_thread.run_sync(Nvml.open, abandon_on_cancel=True)
            if library is not None:
                await self._look(library)
        if waiting.cancelled_caught:
            log.error("the GPU driver does not answer", seconds=PATIENCE_SECONDS)
        task_status.started()
        if waiting.cancelled_caught and library is None:
            library = await anyio.to_thread.run_sync(Nvml.open, abandon_on_cancel=True)
        while library is not None:
            await anyio.sleep(LOOK_SECONDS)
            await self._look(library)

    async def _look(self, library: Nvml) -> None:
        try:
            cards = await anyio.to_thread.run_sync(library.cards, abandon_on_cancel=True)
        except Unreadable as error:
            if not self._silent:
                log.error("the GPUs stay as they were", reason=str(error))
            self._silent = True
            return
        self._silent = False
        self._tell_of_the_sick(cards)
        self._told([device_to_wire(device) for device in devices_of(cards)[:MOST_DEVICES]])

    def _tell_of_the_sick(self, cards: Sequence[Card]) -> None:
        sick = {card.id: card.health.reason for card in cards if not card.health.well}
        for name, reason in sick.items():
            if self._sick.get(name) != reason:
                log.error("a GPU is sick", gpu=name, reason=reason)
        for name in self._sick.keys() - sick.keys():
            log.info("a GPU is well again", gpu=name)
        self._sick = sick
