"""A runner: the process that loads one definition and answers for it, one message at a time."""

from __future__ import annotations

import asyncio
import os
import queue
import resource
import signal
import socket
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

from controllers.definitions.channel import Channel
from controllers.definitions.context import Cancellation, Cancelled
from controllers.definitions.executing import reconcile, resolve, schema
from controllers.definitions.loading import WORKFLOW_SUFFIX, Unusable, load, load_workflow
from controllers.definitions.processes import WAS_AT
from controllers.definitions.sdk import Definition
from controllers.definitions.telling import place
from controllers.definitions.touching import CancelTask, PassOver
from controllers.definitions.workflows import Workflow, execute
from controllers.runtime.environment import Threads
from resources.canonical import Document

ENDING_SECONDS = 0.1


class Runner:
    """Its reading thread ends the process as soon as the server is gone, whatever the definition is at."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._inbox: queue.Queue[Document] = queue.Queue()
        self._asking = threading.Lock()
        self._turn = 0
        """Counts the messages that were answered, so that nobody speaks for one that is over."""
        self._pid = os.getpid()
        self._cancellation = Cancellation()
        self._cancel_task: CancelTask | None = None

    def run(self, path: Path, digest: str) -> None:
        signal.signal(signal.SIGTERM, self._told_to_end)
        threading.Thread(target=self._channel.listen, args=(self._inbox.put,), daemon=True).start()
        try:
            loaded = load_workflow(path, digest) if path.name.endswith(WORKFLOW_SUFFIX) else load(path, digest)
        except Unusable as error:
            self._send({"unusable": str(error)})
            return
        self._send({"loaded": loaded.name, "deadline": loaded.deadline})
        while True:
            message = self._inbox.get()
            before = frozenset(threading.enumerate())
            said = self._answer(loaded, message)
            with self._asking:
                self._turn += 1
            busy = any(map(_lives_on, frozenset(threading.enumerate()) - before))
            self._send({**said, "busy": True} if busy else said)

    def _answer(self, loaded: Definition | Workflow, message: Document) -> Document:
        self._cancellation = Cancellation()
        self._cancel_task = None
        given = (message, partial(self._ask, self._turn), Threads(), self._cancellation)
        try:
            if isinstance(loaded, Workflow):
                return execute(loaded, *given, under_way=self._under_way)
            if message["do"] == "resolve":
                return resolve(loaded, message["specs"])
            if message["do"] == "schema":
                return schema(loaded)
            return reconcile(loaded, *given, under_way=self._under_way)
        except Cancelled:
            return {"failed": "the pass was cancelled", "cancelled": True}

    def _under_way(self, cancel: CancelTask) -> None:
        self._cancel_task = cancel

    def _ask(self, turn: int, message: Document) -> Document:
        """One question at a time, though a definition may have many tasks; none once its pass is over."""
        with self._asking:
            if turn != self._turn:
                raise PassOver(0.0, "the pass is over")
            self._send({"ask": message})
            return self._inbox.get()

    def _send(self, message: Document) -> None:
        if os.getpid() != self._pid:
            os._exit(0)  # a child that the definition forked speaks to nobody
        self._channel.send(message)

    def _told_to_end(self, _number: int, frame: FrameType | None) -> None:
        """A plain `reconcile` is interrupted where it stands."""
        self._cancellation.set()
        told = place(frame) or _awaiting()
        if told:
            os.write(2, f"\n{WAS_AT}{told}\n".encode())
        if self._cancel_task is not None:
            self._cancel_task()
        else:
            raise Cancelled("the pass should have ended by now")


def _lives_on(thread: threading.Thread) -> bool:
    """Some libraries tell their threads to end, and do not wait for it."""
    with suppress(AssertionError):  # of a thread that Python has not begun
        thread.join(ENDING_SECONDS)
    return thread.is_alive()


def _awaiting() -> str:
    """Where an async pass waits."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:
        return ""
    return next((told for task in tasks for frame in task.get_stack() if (told := place(frame))), "")


def main(words: list[str]) -> None:
    """`FD MEMORY_BYTES DIGEST PATH`."""
    descriptor, memory, digest, path = words
    os.set_inheritable(int(descriptor), False)
    if int(memory):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Runner(Channel(socket.socket(fileno=int(descriptor)))).run(Path(path), digest)


if __name__ == "__main__":
    main(sys.argv[1:])
