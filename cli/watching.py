"""Watches: a list and what came after it, over broken connections and compacted logs, until a deadline."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from queue import SimpleQueue
from typing import NamedTuple

from cli import paths
from cli.errors import ServerRefused, Unreachable
from cli.fetching import every
from cli.kinds import KindName
from cli.session import Session
from cli.terminal import say
from cli.views.wire import Document

EXPIRED = 410
RETRY_SECONDS = 0.5
GIVE_UP_SECONDS = 60.0


class Change(NamedTuple):
    """`type` is ADDED, MODIFIED, DELETED, or LISTED for an object of a whole list; SYNCED ends that list."""

    type: str
    kind: str
    document: Document


class Topic(NamedTuple):
    """What is watched. `project` is empty for the session's own; one `aside` only tells more: its end ends nothing."""

    kind: KindName
    query: Mapping[str, str] = {}
    project: str = ""
    aside: bool = False


class Deadline:
    """A moment of the monotonic clock, `seconds` from now; None is never."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._cancelled = False

    def cancel(self) -> None:
        """Nobody waits any more."""
        self._cancelled = True

    def left(self) -> float | None:
        """Seconds, above 0. Raises TimeoutError when there are none."""
        if self._cancelled:
            raise TimeoutError
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def together(session: Session, topics: Sequence[Topic], deadline: Deadline) -> Generator[Change, None, None]:
    """The changes of several topics as they come. One topic needs no thread; several have one and a connection each."""
    if len(topics) == 1:
        yield from changes(session, topics[0], deadline)
        return
    queue: SimpleQueue[Change | Exception] = SimpleQueue()
    for topic in topics:
        threading.Thread(target=_feed, args=(Session(session.flags), topic, deadline, queue), daemon=True).start()
    try:
        while True:
            found = queue.get()
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        deadline.cancel()


def _feed(session: Session, topic: Topic, deadline: Deadline, queue: SimpleQueue[Change | Exception]) -> None:
    try:
        for change in changes(session, topic, deadline):
            queue.put(change)
            deadline.left()
    except (Unreachable, ServerRefused, TimeoutError) as error:
        if not topic.aside:
            queue.put(error)
    finally:
        session.client.close()


def changes(session: Session, topic: Topic, deadline: Deadline) -> Generator[Change, None, None]:
    """Everything of a topic, then every change. After a lost connection or a compacted log it lists again, so that the
    newest state is never missed. Raises TimeoutError at the deadline, and Unreachable when no server answers at first
    or it stays away."""
    kind = topic.kind
    outage = Outage(session)
    while True:
        try:
            listed = every(session, kind, topic.query, topic.project)
            outage.ended()
            yield from (Change("LISTED", kind.name, item) for item in listed.items)
            yield Change("SYNCED", kind.name, {})
            yield from _stream(session, topic, listed.revision, deadline)
        except Unreachable as error:
            deadline.left()
            outage.goes_on(error)
            time.sleep(RETRY_SECONDS)
        except ServerRefused as error:
            if error.code != EXPIRED:
                raise


class Outage:
    """How long the server has been away; told once on stderr when it begins and once when it ends."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._answered = False
        self._since: float | None = None

    def ended(self) -> None:
        self._answered = True
        if self._since is not None:
            say(f"rmctl: {self._session.address} answers again")
            self._since = None

    def goes_on(self, error: Unreachable) -> None:
        """Raises it again when waiting for the server is no use."""
        now = time.monotonic()
        if not self._answered or (self._since is not None and now - self._since > GIVE_UP_SECONDS):
            raise error
        if self._since is None:
            self._since = now
            say(f"rmctl: {error.message}; trying again")
        self._session.client.close()


def _stream(session: Session, topic: Topic, revision: str, deadline: Deadline) -> Generator[Change, None, None]:
    asked = {**topic.query, "watch": "1", "resourceVersion": revision, "allowWatchBookmarks": "true"}
    path = paths.collection(topic.kind, topic.project or session.project)
    while True:
        silent = True
        for line in session.client.stream(path, asked, left=deadline.left):
            silent = False
            found = json.loads(line)
            document = found.get("object") or {}
            if found.get("type") == "ERROR":
                code, reason = int(document.get("code") or 500), str(document.get("reason") or "")
                raise ServerRefused(code, reason, str(document.get("message") or ""))
            newer = (document.get("metadata") or {}).get("resourceVersion")
            asked["resourceVersion"] = str(newer or asked["resourceVersion"])
            if found.get("type") != "BOOKMARK":
                whole = {"apiVersion": "rmctl/v1", "kind": topic.kind.name, **document}
                yield Change(str(found.get("type")), topic.kind.name, whole)
        if silent:
            time.sleep(RETRY_SECONDS)
