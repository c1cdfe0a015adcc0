"""What a client does while the server is killed: each story begins where another one has settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from resources.canonical import Document, canonical
from resources.reference import Ref
from store import effects, nodes, resources
from store.tx import Tx
from tests.builders import a_bundle, a_job_entry
from tests.crash.life import Life

BUNDLE = Ref("bundle", "ch-1", "default")
TEMPLATE = Ref("template", "web", "default")
GONE = "gone"


@dataclass(frozen=True)
class Story:
    """`after` names the story whose end is this one's beginning. `wants` are the states it acknowledges, in order."""

    name: str
    tell: Callable[[Life], None]
    after: str | None = None
    wants: tuple[str, ...] = ()


def _document(version: int, **more: Any) -> Document:
    return a_bundle(a_job_entry("web", env={"VERSION": str(version)}), pool="default", **more)


def _template(life: Life) -> None:
    """Named like the job, whose defaults it gives."""

    def write(tx: Tx) -> None:
        if resources.find(tx, TEMPLATE) is None:
            resources.create(tx, TEMPLATE, {"workingDir": "work"})

    life.write(write)


def _apply(life: Life, document: Document | None) -> None:
    """What the door of the API writes, and the client's note of the answer."""

    def write(tx: Tx) -> None:
        found = resources.find(tx, BUNDLE)
        if document is None:
            if found is not None:
                resources.request_deletion(tx, found)
        elif found is None:
            resources.create(tx, BUNDLE, document, finalizers=("rmctl/jobs",))
        else:
            resources.replace(tx, found, document=document)

    life.write(write)
    life.acknowledge(_wanted(document))


def _wanted(document: Document | None) -> str:
    return GONE if document is None else canonical(document)


def _start_pending(tx: Tx) -> bool:
    return any(record.kind == "StartJob" and not record.final for record in effects.list_all(tx))


def _delete_while_pending(life: Life) -> None:
    _apply(life, _document(1))
    life.until(_start_pending)
    _apply(life, None)


def _fail(life: Life) -> None:
    """The job's process dies, and is started again."""
    with _reading(life) as tx:
        (running,) = [i for i in nodes.list_instances(tx) if i.alive]
    life.outside.end(running.id, life.scheduler.now)
    life.until(lambda tx: any(i.alive and i.id != running.id for i in nodes.list_instances(tx)))


def _reading(life: Life):  # type: ignore[no-untyped-def]
    assert life.store is not None
    return life.store.read()


TWICE = _document(3, resiliencePolicy={"sameNode": "forbid"})
FIRST, SECOND, THIRD = _wanted(_document(1)), _wanted(_document(2)), _wanted(TWICE)
STORIES = (
    Story("start", _template),
    Story("create", partial(_apply, document=_document(1)), after="start", wants=(FIRST,)),
    Story("replace", partial(_apply, document=_document(2)), after="create", wants=(SECOND,)),
    Story("second-copy", partial(_apply, document=TWICE), after="create", wants=(THIRD,)),
    Story("fail", _fail, after="create"),
    Story("delete", partial(_apply, document=None), after="create", wants=(GONE,)),
    Story("delete-pending", _delete_while_pending, after="start", wants=(FIRST, GONE)),
)
