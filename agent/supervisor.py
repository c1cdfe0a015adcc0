"""Every instance of this node: started, adopted, stopped, and listed for the server."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

import structlog
from anyio import CancelScope, Lock, to_thread
from anyio.abc import TaskGroup

from agent import environment, groups, masking, ports, workfolder
from agent.admission import Room, admit
from agent.adoption import first_facts, look
from agent.contained import contained
from agent.endings import STOPPED, SUPERSEDED
from agent.errors import NOT_PREPARED, PORT_TAKEN, InvalidSpec, Refusal
from agent.folder import Folder
from agent.launch import Launched, NotLaunched, launch
from agent.life import Life
from agent.masking import Mask
from agent.order import Order, folder_name, job_of
from agent.outcome import Applied, Deferred, Outcome, Rejected
from agent.probes import Surroundings
from resources.facts import Instance

RETRY_SECONDS = 5.0
SUPERSEDED_GRACE_SECONDS = 4.0

log = structlog.get_logger()

Report = Callable[[Instance], Awaitable[None]]


@dataclass(frozen=True)
class Prepared:
    """What an instance that is admitted needs to begin."""

    env: dict[str, str]
    secrets: Mapping[str, str] = field(repr=False)


class Supervisor:
    """`data` is the agent's folder, `report` tells the server of a change and never raises."""

    def __init__(self, data: Path, node: str, address: str, room: Room, report: Report) -> None:
        self._instances = data / "instances"
        self._jobs = data / "jobs"
        self.fence = data / "fence"
        self._key = masking.own_key(data)
        self._node = node
        self._address = address
        self._room = room
        self._groups = groups.delegated()
        """Below it each job that asks for memory has a control group; empty where the machine gives none."""
        self._report = report
        self._lives: dict[str, Life] = {}
        self._prepared: dict[str, Prepared] = {}
        self._folders: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._tasks: TaskGroup | None = None

    def open(self, tasks: TaskGroup) -> None:
        """Instances are watched in this group from here on."""
        self._tasks = tasks

    def lives(self) -> tuple[Life, ...]:
        """Every instance that is kept: alive, or ended and not forgotten."""
        return tuple(self._lives.values())

    def find(self, instance: str) -> Life | None:
        return self._lives.get(instance)

    def listed(self) -> tuple[Instance, ...]:
        """The whole truth for a Hello: what lives, and ends that the server has not acknowledged."""
        told = [life for life in self._lives.values() if life.facts.alive or not life.folder.told]
        for life in told:
            life.listed = True
        return tuple(life.facts for life in told)

    async def adopt(self) -> None:
        """Take up what an earlier agent left: living shims, and ends that happened meanwhile."""
        self._instances.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in sorted(self._instances.iterdir()):
            await self._adopt(Folder(path))
        await to_thread.run_sync(groups.sweep, self._groups)

    async def _adopt(self, folder: Folder) -> None:
        found = await to_thread.run_sync(look, folder, self._node)
        if found is None:
            log.info("a start that never happened is cleared away", instance=folder.path.name)
            await to_thread.run_sync(folder.remove)
            return
        mask = masking.recalled(folder.path, found.facts.pid if found.facts.alive else None, self._key)
        life = self._life(found.order, folder, found.facts, self._environment(found.order, {}, folder), mask)
        self._lives[found.order.instance] = life
        if found.facts.alive:
            log.info("adopted", instance=found.order.instance, job=found.order.job, pid=found.facts.pid)
            life.launched(found.facts.pid or 0, None)
            self._watch(life)
        else:
            life.ended.set()
            if not folder.told:
                await self._report(found.facts)

    async def start(self, order: Order, secrets: Mapping[str, str], *, prepare: bool = False) -> Outcome:
        """Applied once the process is forked; starting the same instance again answers what is.

        `prepare`: once it is admitted and holds its room and ports, and no more. That is kept in memory alone, as its
        secrets are: another agent on this folder knows nothing of it.
        """
        known = self._lives.get(order.instance)
        if known is not None:
            return Applied(known.facts.pid or 0)
        folder = Folder(self._instances / order.instance)
        try:
            order = environment.filled(order, self._address)
            env = self._admit(order, secrets, folder)
        except Refusal as refusal:
            return Rejected(refusal.code, refusal.detail)
        life = self._life(order, folder, first_facts(order, self._node), env, Mask(secrets.values()))
        self._lives[order.instance] = life
        if prepare:
            self._prepared[order.instance] = Prepared(env, secrets)
            await life.change(state="prepared")
            return Applied()
        return await self._begun(life, env, secrets)

    async def start_prepared(self, instance: str) -> Outcome:
        """Let a prepared instance begin; repeating it answers what is. One that this agent holds no more is refused."""
        prepared, life = self._prepared.pop(instance, None), self._lives.get(instance)
        if life is not None and prepared is None:
            return Applied(life.facts.pid or 0)
        if life is None or prepared is None:
            return Rejected(NOT_PREPARED, "no such instance is prepared here")
        return await self._begun(life, prepared.env, prepared.secrets)

    async def _begun(self, life: Life, env: dict[str, str], secrets: Mapping[str, str]) -> Outcome:
        order = life.order
        with CancelScope(shield=True):  # an agent that ends lets a start that has begun come to its end
            async with self._folder(order.folder_name):
                outcome = await self._launched(life, env, secrets)
            if isinstance(outcome, Applied):
                await life.change(state="running")
                self._watch(life)
                await self._forget_older(order)
            else:
                del self._lives[order.instance]
                await to_thread.run_sync(life.folder.remove)
                if life.listed or life.facts.state == "prepared":
                    await life.change(state="exited", reason=outcome.detail)
        return outcome

    async def stop(self, instance: str, reason: str, grace: float | None) -> Outcome:
        """Applied once it is sure to end; its end is a report of its own."""
        life = self._lives.get(instance)
        if life is not None and self._prepared.pop(instance, None) is not None:
            del self._lives[instance]
            await life.change(state="exited", reason=reason)
        elif life is not None and life.facts.alive:
            try:
                await life.stop(reason, life.order.stop_grace_seconds if grace is None else grace)
            except OSError as error:
                return Deferred(f"{error.strerror or error}", RETRY_SECONDS)
        return Applied()

    async def supersede(self, instance: str) -> None:
        life = self._lives.get(instance)
        if life is not None:
            await self.stop(instance, SUPERSEDED, min(SUPERSEDED_GRACE_SECONDS, life.order.stop_grace_seconds))

    def kept(self) -> list[tuple[str, str, str]]:
        """Project, job and uid (empty when unknown) of the folders here that no living instance runs in."""
        if not self._jobs.is_dir():
            return []
        alive = {life.order.folder_name for life in self.lives() if life.facts.alive}
        uids = {life.order.folder_name: life.order.job_uid for life in self.lives()}
        names = sorted(path.name for path in self._jobs.iterdir())
        return [(*job_of(name), uids.get(name, "")) for name in names if name not in alive]

    async def forget(self, project: str, job: str, uid: str) -> None:
        """The job is gone: what is left of its instances goes, once they have ended, and its folder too.

        A job of the same name that was made meanwhile keeps the folder.
        """
        name = folder_name(project or "default", job)
        for life in [life for life in self.lives() if life.order.folder_name == name]:
            if life.order.instance in self._prepared:
                await self.stop(life.order.instance, STOPPED, 0)
            elif life.order.job_uid == uid:
                await life.ended.wait()
                self._lives.pop(life.order.instance, None)
                await to_thread.run_sync(life.folder.remove)
        async with self._folder(name):
            if not any(life.order.folder_name == name for life in self.lives()):
                await to_thread.run_sync(workfolder.remove, self._jobs, name)

    def told(self, instance: str) -> None:
        """The server has stored the end of this instance."""
        life = self._lives.get(instance)
        if life is not None:
            life.folder.set_told()

    def _admit(self, order: Order, secrets: Mapping[str, str], folder: Folder) -> dict[str, str]:
        """The job's environment, or a Refusal."""
        env = self._environment(order, secrets, folder)
        admit(order, self._room, [life.order for life in self._lives.values() if life.facts.alive])
        return env

    async def _launched(self, life: Life, env: dict[str, str], secrets: Mapping[str, str]) -> Outcome:
        try:
            return await self._launch(life, env, secrets)
        except InvalidSpec as refusal:
            return Rejected(refusal.code, refusal.detail)
        except OSError as error:
            return Deferred(f"{error.strerror or error}", RETRY_SECONDS)

    async def _launch(self, life: Life, env: dict[str, str], secrets: Mapping[str, str]) -> Outcome:
        order, folder = life.order, life.folder
        cwd = await to_thread.run_sync(workfolder.open_folder, self._jobs, order.folder_name, order.working_dir)
        try:
            await to_thread.run_sync(folder.create, order.to_document())
            await to_thread.run_sync(masking.remember, folder.path, secrets, self._key)
            problem = await to_thread.run_sync(ports.taken, order.ports, self._address)
            if problem is not None:
                return Rejected(PORT_TAKEN, problem)
            fence = self.fence if order.on_disconnect == "stop" else None
            group = await to_thread.run_sync(groups.make, self._groups, order.instance, order.memory_mib)
            result = await to_thread.run_sync(
                lambda: launch(
                    folder,
                    command=order.command,
                    env=env,
                    cwd=cwd,
                    grace=order.stop_grace_seconds,
                    fence=fence,
                    group=group,
                )
            )
        finally:
            os.close(cwd)
        match result:
            case Launched(pid, shim):
                life.launched(pid, shim)
                return Applied(pid)
            case NotLaunched(reason, True):
                raise InvalidSpec(reason)
            case NotLaunched(reason, _):
                return Deferred(reason, RETRY_SECONDS)

    def _environment(self, order: Order, secrets: Mapping[str, str], folder: Folder) -> dict[str, str]:
        socket = str(folder.path / "job.sock")
        return environment.build(order, secrets, os.environ, address=self._address, socket=socket)

    def _life(self, order: Order, folder: Folder, facts: Instance, env: Mapping[str, str], mask: Mask) -> Life:
        tcp = next((int(port.partition("/")[0]) for port in order.ports if port.endswith("/tcp")), 0)
        around = Surroundings(self._jobs / order.folder_name, env, self._address, tcp)
        return Life(order, folder, facts, around, self._report, mask=mask)

    def _folder(self, name: str) -> Lock:
        """Held by whoever makes or removes a job's folder."""
        return self._folders.setdefault(name, Lock())

    def _watch(self, life: Life) -> None:
        assert self._tasks is not None, "open() comes first"
        self._tasks.start_soon(contained, life.run)

    async def _forget_older(self, order: Order) -> None:
        """Of a job that starts again, keep the instance before this one; drop what the server knows all about."""
        ended = [
            life
            for life in self.lives()
            if life.order.folder_name == order.folder_name and life.ended.is_set() and life.folder.told
        ]
        for life in sorted(ended, key=lambda life: life.facts.at)[:-1]:
            self._lives.pop(life.order.instance, None)
            await to_thread.run_sync(life.folder.remove)
