"""A life's last moments: a stop that comes while the dead is being buried changes nothing."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from agent.contained import contained
from agent.folder import Folder
from agent.life import Life
from agent.probes import Surroundings
from resources.facts import Instance
from tests.unit.agent.orders import an_order

pytestmark = pytest.mark.anyio


async def test_a_second_stop_during_the_burial_is_no_fault(tmp_path: Path) -> None:
    """The tasks of the life are over by then, and its end is not told yet."""
    told: list[Instance] = []

    async def tell(facts: Instance) -> None:
        told.append(facts)

    order = an_order()
    folder = Folder(tmp_path / order.instance)
    folder.create({})
    facts = Instance("u1", order.instance, "primary", "n", 1, "stopping")
    life = Life(order, folder, facts, Surroundings(tmp_path, {}, "127.0.0.1", 0), tell)
    async with life._telling, anyio.create_task_group() as tasks:
        tasks.start_soon(life.run)
        while folder.exit() is None:
            await anyio.lowlevel.checkpoint()
        await life.stop("again", 0.0)
        life._telling.release()
        await life.ended.wait()
        await life._telling.acquire()
    assert [one.state for one in told] == ["exited"]


async def test_a_fault_of_one_part_stays_in_it() -> None:
    async def faulty(words: str) -> None:
        raise RuntimeError(words)

    await contained(faulty, "no")
