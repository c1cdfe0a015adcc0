"""Waiting for several objects at once, with progress on stderr: `wait`, `apply --wait`, `delete`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from cli.durations import span
from cli.errors import CliError, NotWell, ServerRefused, TimedOut
from cli.goals import READY, Condition, Goal, Gone, stalled
from cli.kinds import BUNDLE, JOB
from cli.session import Session
from cli.targets import Target
from cli.terminal import say, warn
from cli.views.wire import Document, Ready, condition, holds, metadata, namespace, ready, status, title
from cli.watching import Change, Deadline, Topic, together

DEFAULT_TIMEOUT = "10m"
TELLING = ("NoFit", "Provisioning", "CrashLooping", "Recovering", "NotReady", "Dropped", "NodeSilent")
"""Reasons of a job's Ready that say why its bundle is not there yet."""
GIVES_UP = "rmctl node lost"
OUT_OF_REACH = ", which is "
"""How the message goes on behind the name of a node that is not heard."""
BUNDLE_LABEL = "rmctl/bundle"
MOST_TOPICS = 4
MOST_BUNDLES = 64
"""A selector takes no more values."""


class Wait:
    """What is still waited for. `seen` holds the newest state of each."""

    def __init__(self, targets: Sequence[Target], goal: Goal, default_project: str) -> None:
        self.goal = goal
        self.default_project = default_project
        self.open = {self._key(target): target for target in targets}
        self.seen: dict[tuple[str, str, str], Document] = {}
        self.listed: set[tuple[str, str, str]] = set()
        self.told: dict[tuple[str, str, str], str] = {}
        self.reached: list[Document] = []

    def _key(self, target: Target) -> tuple[str, str, str]:
        project = (target.project or self.default_project) if target.kind.namespaced else ""
        return (target.kind.name, project, target.name)

    def topics(self) -> list[Topic]:
        """One a kind and project; a single name is asked for by name."""
        groups: dict[tuple[str, str], list[Target]] = {}
        for (kind, project, _), target in self.open.items():
            groups.setdefault((kind, project), []).append(target)
        return [
            Topic(
                found[0].kind, {"fieldSelector": f"metadata.name={found[0].name}"} if len(found) == 1 else {}, project
            )
            for (_, project), found in groups.items()
        ] + self._of_their_jobs(groups)

    def _of_their_jobs(self, groups: Mapping[tuple[str, str], Sequence[Target]]) -> list[Topic]:
        """A bundle waits for its jobs, and they know why."""
        if len(groups) > MOST_TOPICS or any(kind == JOB.name for kind, _ in groups):
            return []
        return [
            Topic(JOB, {"labelSelector": f"{BUNDLE_LABEL} in ({_names(found[:MOST_BUNDLES])})"}, project, aside=True)
            for (kind, project), found in groups.items()
            if kind == BUNDLE.name
        ]

    def take(self, change: Change) -> None:
        """Raises NotWell for what will not get there by itself, ServerRefused for what is not there."""
        if change.type == "SYNCED":
            self._synced(change.kind)
            return
        document = change.document
        key = (change.kind, namespace(document), str(metadata(document).get("name")))
        if key not in self.open:
            if change.kind == JOB.name and change.type != "DELETED" and _tells(ready(document)):
                self._tell(key, document)
            return
        if change.type == "LISTED":
            self.listed.add(key)
        if change.type == "DELETED":
            self._gone(key)
            return
        self.seen[key] = document
        self._tell(key, document)
        if self.goal.reached(document):
            self._done(key)
        else:
            self._refuse_stalled(document)

    def _synced(self, kind: str) -> None:
        for key in [key for key in self.open if key[0] == kind and key not in self.listed]:
            self._gone(key)
        self.listed = {key for key in self.listed if key[0] != kind}

    def _gone(self, key: tuple[str, str, str]) -> None:
        target = self.open[key]
        if isinstance(self.goal, Gone):
            self._done(key)
            return
        gone = f'{target.kind.name} "{str(target).partition("/")[2]}": '
        raise ServerRefused(404, "NotFound", gone + ("was deleted meanwhile" if key in self.seen else "not found"))

    def _done(self, key: tuple[str, str, str]) -> None:
        del self.open[key]
        if key in self.seen:
            self.reached.append(self.seen[key])

    def _tell(self, key: tuple[str, str, str], document: Document) -> None:
        state = ready(document)
        if state.reason == "-" or (state.reason == "Deleting" and not state.message):
            return
        text = f"{title(document)}  {state.reason}{': ' + state.message if state.message else ''}{_way_out(document)}"
        if self.told.get(key) != text:
            self.told[key] = text
            say(text)

    def _refuse_stalled(self, document: Document) -> None:
        found = stalled(document)
        if found and not isinstance(self.goal, Gone) and self.goal != Condition("Stalled"):
            text = f"{title(document)} will not go on by itself ({found.get('reason')}): {found.get('message', '')}"
            raise NotWell(text.rstrip(": "), hint=f"rmctl why {title(document)}")

    def overdue(self, seconds: float) -> CliError:
        """What is told when the time is up: the first that is not there yet, and why."""
        key, target = next(iter(self.open.items()))
        state = ready(self.seen[key]) if key in self.seen else None
        why = (
            f": {state.reason}{', ' + state.message if state.message else ''}" if state and state.reason != "-" else ""
        )
        what = "is not gone" if isinstance(self.goal, Gone) else f"has not reached {self.goal}"
        return TimedOut(f"{target} {what} after {span(seconds)}{why}", hint=f"rmctl why {target}")


def _way_out(document: Document) -> str:
    """Of a job whose deletion waits for a node that may never answer."""
    state, node = ready(document), status(document).get("node")
    waits = state.reason == "Deleting" and OUT_OF_REACH in state.message and GIVES_UP not in state.message
    return f"; {GIVES_UP} {node} gives it up, if it will not come back" if waits and node else ""


def _tells(state: Ready) -> bool:
    """A deletion is worth a word only where a node keeps it."""
    return state.reason in TELLING or (state.reason == "Deleting" and OUT_OF_REACH in state.message)


def _names(targets: Sequence[Target]) -> str:
    return ",".join(target.name for target in targets)


def await_goal(session: Session, targets: Sequence[Target], goal: Goal, seconds: float) -> list[Document]:
    """The objects as they were when they got there, those deleted left out. Raises TimedOut, NotWell, ServerRefused."""
    waiting = Wait(targets, goal, session.project)
    try:
        with closing(together(session, waiting.topics(), Deadline(seconds))) as changes:
            for change in changes:
                waiting.take(change)
                if not waiting.open:
                    break
    except TimeoutError:
        raise waiting.overdue(seconds) from None
    return waiting.reached


def await_ready(session: Session, targets: Sequence[Target], seconds: float) -> list[Document]:
    """As `await_goal`; what is ready and yet degraded gets a warning."""
    found = await_goal(session, targets, READY, seconds)
    for document in found:
        if holds(document, "ResilienceDegraded"):
            warn(f"{title(document)}: {condition(document, 'ResilienceDegraded').get('message', 'degraded')}")
    return found
