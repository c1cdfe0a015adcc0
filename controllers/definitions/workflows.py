"""Workflows: finite work in one file, step by step, each step on record."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from controllers.definitions.asking import Ask, Asking
from controllers.definitions.context import Cancellation, Cancelled, Clock
from controllers.definitions.telling import summary, words
from controllers.definitions.touching import CancelTask, PassOver, Promises, Step
from resources.canonical import Document, canonical
from resources.names import KIND
from resources.validation import Invalid, parse

DEADLINE_SECONDS = 3600.0


class StepFailed(Exception):
    """The step raised when it was carried out, and is not tried again in this run."""


@dataclass(frozen=True)
class Workflow:
    """What a workflow file exports, once."""

    name: str
    input: type[BaseModel] | None
    run: Callable[..., Any]
    deadline: float = DEADLINE_SECONDS

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.run)


def workflow(
    name: str,
    *,
    input: type[BaseModel] | None = None,  # noqa: A002  the word for it
    deadline: float = DEADLINE_SECONDS,
) -> Callable[[Callable[..., Any]], Workflow]:
    """Makes a workflow of `run(ctx, input)`, async or plain. `deadline` are the seconds that one process has for it."""
    if not KIND.fullmatch(name):
        raise ValueError(f'name "{name}": must match {KIND.pattern}')
    if not deadline > 0:
        raise ValueError("deadline: must be > 0 seconds")
    return lambda run: Workflow(name, input, run, deadline)


class WorkflowContext:
    """What a workflow may ask."""

    def __init__(self, ask: Ask, clock: Clock, cancellation: Cancellation, *, is_async: bool) -> None:
        self.clock = clock
        self.cancellation = cancellation
        self.promises = Promises(ask, is_async=is_async)

    def step(self, name: str, call: Callable[[], Any], *, manual: bool = False) -> Any:
        """What `call` returns, from the record if it has been called in this run before. To be awaited in an async run.

        Names are unique in a run. A step whose process dies is called again; a `manual` one is not: the run then waits
        until a person says whether it happened.
        """
        return self.promises.give(_stepped(name, call, self.cancellation, manual=manual), f"ctx.step of {name}")

    def checkpoint(self, name: str) -> Any:
        """Ends here until a person lets the run go on; then it is what that person gave."""
        return self.promises.give(_checked(name), f"ctx.checkpoint of {name}")


def _stepped(
    name: str, call: Callable[[], Any], cancellation: Cancellation, *, manual: bool
) -> Generator[Step, Any, Any]:
    answer: Document = yield {"step": "begin", "name": name, "manual": manual}
    if answer["next"] != "run":
        return _recorded(name, answer)
    try:
        value = yield call
        canonical(value)
    except Exception as error:
        cancellation.check()  # a step that was interrupted has not failed
        yield {"step": "end", "name": name, "error": words(error)}
        raise
    yield {"step": "end", "name": name, "result": value}
    return value


def _checked(name: str) -> Generator[Step, Any, Any]:
    answer: Document = yield {"step": "checkpoint", "name": name}
    return _recorded(name, answer)


def _recorded(name: str, answer: Document) -> Any:
    match answer["next"]:
        case "done":
            return answer["result"]
        case "failed":
            raise StepFailed(f"{name}: {answer['error']}")
        case _:
            raise PassOver(0.0, f"waits for {name}")


def execute(
    workflow: Workflow,
    message: Document,
    ask: Ask,
    clock: Clock,
    cancellation: Cancellation,
    *,
    under_way: Callable[[CancelTask], None] = lambda _: None,
) -> Document:
    """One process's part of a run, to its end or to where it waits."""
    asking = Asking(ask)
    try:
        given = message["input"] if workflow.input is None else parse(workflow.input, message["input"], path="input")
        ctx = WorkflowContext(asking, clock, cancellation, is_async=workflow.is_async)
        if workflow.is_async:
            result = asyncio.run(ctx.promises.kept(workflow.run(ctx, given), under_way))
        else:
            result = workflow.run(ctx, given)
        if isinstance(result, BaseModel):
            result = result.model_dump(mode="json", by_alias=True)
        canonical(result)
    except PassOver as over:
        return {"waits": str(over)}
    except (asyncio.CancelledError, Cancelled):
        return {"cancelled": True}
    except Invalid as refused:
        return {"failed": str(refused)}
    except Exception as error:
        return {"failed": summary(error)}
    except SystemExit as error:
        return {"failed": f"the workflow called sys.exit({error.code})"}
    finally:
        asking.end()
    return {"result": result}
