"""One instance from its fork, or its adoption, to its end: watched, asked how it is, stopped, buried."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from agent import health as healths
from agent.adoption import exited
from agent.burial import bury
from agent.folder import Folder
from agent.health import EAGER_SECONDS, SETTLING_SECONDS, Health
from agent.masking import NOTHING, Mask
from agent.order import Order, Probe
from agent.probes import Surroundings, ask
from agent.processes import boottime, marker, members, signal_each, start_time
from resources.facts import Instance

INSIST_SECONDS = 15.0
"""How much longer than its grace a stop may take before the agent does the shim's work."""
POLL_SECONDS = 0.2

log = structlog.get_logger()

Tell = Callable[[Instance], Awaitable[None]]


class Life:
    """`facts` is what the server is told of it; every change of it is told."""

    def __init__(
        self,
        order: Order,
        folder: Folder,
        facts: Instance,
        around: Surroundings,
        tell: Tell,
        *,
        mask: Mask = NOTHING,
        started: float = 0.0,
    ) -> None:
        self.order = order
        self.folder = folder
        self.facts = facts
        self.around = around
        self.mask = mask
        self._tell = tell
        self._started = started
        self._health = Health(ready=facts.state == "ready")
        self._shim: subprocess.Popen[bytes] | None = None
        self._handle: int | None = None
        self._tasks: TaskGroup | None = None
        self._telling = anyio.Lock()
        self._ready = anyio.Event()
        self.ended = anyio.Event()
        self.listed = False
        """A Hello has named it."""

    def launched(self, pid: int, shim: subprocess.Popen[bytes] | None) -> None:
        """Its shim lives, ours to reap or adopted; `pid` is the job's."""
        self._shim = shim
        found = self.folder.shim()
        job = self.folder.job()
        if found is not None and hasattr(os, "pidfd_open"):
            self._handle = _pidfd(found.pid, found.start_time)
        if job is not None:
            self._started = job.started
            self.facts = replace(self.facts, pid=pid, started_at=job.at)

    async def change(self, **changes: object) -> None:
        """Tell the server that something is otherwise now."""
        async with self._telling:
            self.facts = replace(self.facts, at=time.time(), **changes)  # type: ignore[arg-type]
            await self._tell(self.facts)

    async def run(self) -> None:
        """Until it has ended and its end is told."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._become_ready)
            if self.order.liveness is not None:
                tasks.start_soon(self._stay_alive, self.order.liveness)
            if self.folder.stop_asked:
                self._signal_shim()
            await self._shim_ended()
            tasks.cancel_scope.cancel()
        self._tasks = None  # a stop that comes while the dead is being buried finds nobody to insist with
        end = await to_thread.run_sync(bury, self.folder)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        async with self._telling:
            self.facts = exited(self.facts, end)
            self.ended.set()
            await self._tell(self.facts)

    async def stop(self, reason: str, grace: float) -> None:
        """Ask the shim to end the job; returns once the wish is durable. Repeating it can only shorten the grace."""
        if self.ended.is_set():
            return
        await to_thread.run_sync(self.folder.ask_to_stop, reason, grace)
        self._signal_shim()
        if self.facts.state not in ("stopping", "exited"):
            await self.change(state="stopping")
        if self._tasks is not None and not self.ended.is_set():
            self._tasks.start_soon(self._insist, grace + INSIST_SECONDS)

    def signal(self, number: int) -> None:
        """To the job's main process, if it is still the same one."""
        job = self.folder.job()
        if job is not None and start_time(job.pid) == job.start_time:
            signal_each([job.pid], number)

    async def _shim_ended(self) -> None:
        if self._handle is not None:
            await anyio.wait_readable(self._handle)
        else:
            await to_thread.run_sync(self._poll, abandon_on_cancel=True)
        if self._shim is not None:
            await to_thread.run_sync(self._shim.wait)

    def _poll(self) -> None:
        """For kernels without pidfd."""
        while self.folder.held():
            time.sleep(POLL_SECONDS)

    def _signal_shim(self) -> None:
        if self._handle is not None:
            try:
                signal.pidfd_send_signal(self._handle, signal.SIGTERM)
            except ProcessLookupError:
                return
        elif (shim := self.folder.shim()) is not None and start_time(shim.pid) == shim.start_time:
            signal_each([shim.pid], signal.SIGTERM)

    async def _insist(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        job, shim = self.folder.job(), self.folder.shim()
        log.warning("a shim did not end its job in time", instance=self.facts.id)
        if job is not None and shim is not None and start_time(shim.pid) == shim.start_time:
            everyone = members(marker(self.facts.id), session=job.pid, root=shim.pid)
            signal_each([*everyone, shim.pid], signal.SIGKILL)

    async def _become_ready(self) -> None:
        probe = self.order.readiness
        while True:
            if probe is not None:
                problem = await ask(probe, self.around)
                self._health = healths.readiness_answered(self._health, probe, problem)
            age = boottime() - self._started
            self._health = healths.lived(self._health, probe, age)
            if self._health.ready:
                self._ready.set()
            await self._act()
            if self.facts.state == "stopping" or (probe is None and self.facts.state == "ready"):
                return
            await anyio.sleep(self._pause(probe, age))

    def _pause(self, probe: Probe | None, age: float) -> float:
        if probe is None:
            return max(0.01, SETTLING_SECONDS - age)
        if self._health.ready:
            return probe.period_seconds
        return max(0.01, min(probe.period_seconds, EAGER_SECONDS, probe.grace_seconds - age))

    async def _stay_alive(self, probe: Probe) -> None:
        """Asked at once when it is ready, so that its grace ends with the first good answer."""
        await self._ready.wait()
        while self.facts.state != "stopping":
            problem = await ask(probe, self.around)
            self._health = healths.liveness_answered(self._health, probe, problem, boottime() - self._started)
            await self._act()
            await anyio.sleep(probe.period_seconds)

    async def _act(self) -> None:
        """Tell what the probes changed; end what they gave up. A full disk is tried again at the next answer."""
        try:
            await self._act_on(self._health)
        except OSError as error:
            log.warning("the disk takes nothing", instance=self.facts.id, error=str(error))

    async def _act_on(self, health: Health) -> None:
        if self.facts.state not in ("running", "ready"):
            return
        if health.failed:
            log.info("instance ends", instance=self.facts.id, reason=health.failed)
            await self.stop(health.failed, self.order.stop_grace_seconds)
        elif health.ready and self.facts.state == "running":
            now = time.time()
            await to_thread.run_sync(self.folder.set_ready, now)
            await self.change(state="ready", ready=True, ready_at=now, not_ready_detail="")
        elif self.facts.state == "ready" and health.not_ready == self.facts.ready:
            await self.change(ready=not health.not_ready, not_ready_detail=health.detail if health.not_ready else "")


def _pidfd(pid: int, started: int) -> int | None:
    """A handle on exactly this process; None when it is gone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return None
    if start_time(pid) == started:
        return handle
    os.close(handle)
    return None
