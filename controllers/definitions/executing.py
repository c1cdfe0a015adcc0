"""One pass of a definition, wherever it runs: from the message that asks for it to the message that answers."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from controllers.definitions import reading
from controllers.definitions.context import Cancellation, Cancelled, Clock, Context
from controllers.definitions.results import KEEP, Result, condition_false
from controllers.definitions.sdk import Definition, Metadata, Resource, own_status
from controllers.definitions.telling import bounded, summary
from controllers.definitions.touching import Ask, CancelTask, PassOver
from resources.canonical import Document, canonical
from resources.conditions import Condition
from resources.schedules import next_time
from resources.validation import FieldError, Invalid, parse

MAX_STATUS = 1024 * 1024
MAX_FILES = 100


def resolve(definition: Definition, specs: list[Any]) -> Document:
    """What a definition says of some specs: each its initial status, or what is wrong with it."""
    return {"proposals": [_proposal(definition, spec) for spec in specs], "deadline": definition.deadline}


def schema(definition: Definition) -> Document:
    """The JSON Schemas of its models."""
    models = {"spec": definition.spec, "status": definition.status}
    try:
        found = {part: model.model_json_schema(by_alias=True) for part, model in models.items() if model is not None}
    except Exception as error:
        return {"failed": summary(error)}
    return {"schemas": found, "description": (definition.spec.__doc__ or "").strip()}


def _proposal(definition: Definition, document: Any) -> Document:
    try:
        spec = parse(definition.spec, document)
    except Invalid as refused:
        return {"errors": [_problem(error) for error in refused.errors]}
    except Exception as error:
        return {"errors": [_problem(FieldError("spec", f"its model raised {summary(error)}"))]}
    try:
        status = definition.first_status(spec)
        canonical(status)
    except Exception as error:
        return {"errors": [_problem(FieldError("spec", f"initial_status failed: {summary(error)}"))]}
    return {"status": status}


def _problem(error: FieldError) -> Document:
    return {"path": error.path, "message": error.message, "hint": error.hint, "unknown": error.unknown}


def reconcile(
    definition: Definition,
    message: Document,
    ask: Ask,
    clock: Clock,
    cancellation: Cancellation,
    *,
    under_way: Callable[[CancelTask], None] = lambda _: None,
) -> Document:
    """`under_way` is handed what cancels an async pass from its own loop's thread."""
    try:
        resource = _resource(definition, message["resource"])
        sources = _sources(definition, resource, clock)
        ctx = Context(ask, clock, cancellation, is_async=definition.is_async, unsettled=message["open"])
        if definition.is_async:
            given = asyncio.run(ctx.promises.kept(definition.reconcile(ctx, resource), under_way))
        else:
            given = definition.reconcile(ctx, resource)
        return {**_answer(definition, given, ctx.told), **sources}
    except PassOver as over:
        unready = [condition_false("Ready", over.unready, bounded(str(over)))] if over.unready else []
        return {"after": over.after, "reason": str(over), "events": ctx.told, "conditions": _told(unready), **sources}
    except (asyncio.CancelledError, Cancelled):
        return {"failed": "the pass was cancelled", "cancelled": True}
    except MemoryError:
        return {"failed": "out of memory", "spent": True}
    except Exception as error:
        return {"failed": summary(error), "trace": bounded(traceback.format_exc())}
    except SystemExit as error:
        return {"failed": f"the definition called sys.exit({error.code})", "spent": True}


def _sources(definition: Definition, resource: Any, clock: Clock) -> Document:
    """What wakes a settled resource. Files are looked at before the pass, so that no change falls between."""
    found: Document = {}
    if definition.every is not None:
        found["every"] = definition.every
    if definition.cron is not None:
        found["at"] = next_time(definition.cron, definition.time_zone, clock.now())
    if definition.watch is not None:
        paths = [Path(path).absolute() for path in _paths(definition.watch(resource))]
        found["files"] = {str(path): stamp(path) for path in paths}
    return found


def _paths(given: Any) -> list[Any]:
    if isinstance(given, str | bytes | Path):
        raise TypeError(f"watch returned {type(given).__name__}: expected a list of paths")
    paths = list(given)
    if len(paths) > MAX_FILES:
        raise ValueError(f"watch returned {len(paths)} paths: at most {MAX_FILES}")
    return paths


def stamp(path: Path) -> list[int] | None:
    """What tells one state of a file from another; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]


def _resource(definition: Definition, document: Document) -> Resource[Any, Any]:
    metadata = dict(document["metadata"])
    metadata["finalizers"] = tuple(metadata.get("finalizers", ()))
    deleting = metadata["deletion_timestamp"] is not None
    spec = reading.spec_of(definition, document["spec"], deleting=deleting)
    return Resource(
        Metadata(**metadata),
        spec,
        reading.status_of(definition, document["status"], spec, deleting=deleting),
        tuple(map(Condition.model_validate, document["conditions"])),
    )


def _answer(definition: Definition, given: Any, told: list[Document]) -> Document:
    if not isinstance(given, Result):
        name = "nothing" if given is None else type(given).__name__
        raise TypeError(f"reconcile returned {name}: expected ctx.settled(), ctx.requeue() or ctx.requeue_after()")
    answer: Document = {
        "after": given.after,
        "conditions": _told(given.conditions),
        "events": told,
    }
    if given.status is not KEEP:
        answer["status"] = own_status(definition, given.status)
    if given.finalizers is not None:
        answer["finalizers"] = list(given.finalizers)
    if len(canonical(answer.get("status")).encode()) > MAX_STATUS:
        raise ValueError(f"status is over its limit of {MAX_STATUS} bytes")
    canonical(answer).encode()
    return answer


def _told(conditions: Iterable[Condition]) -> list[Document]:
    return [one.model_dump(mode="json", by_alias=True) for one in conditions]
