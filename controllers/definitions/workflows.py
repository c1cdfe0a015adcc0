"""Workflows: finite work in one file, step by step, each step on record."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from controllers.definitions.context import Cancellation, Cancelled, Clock
from controllers.definitions.telling import bounded, summary, words
from controllers.definitions.touching import Ask, CancelTask, PassOver, Promises, Step
from resources.canonical import MAX_DEPTH, Document, depth, size
from resources.names import KIND
from resources.validation import Invalid, parse

DEADLINE_SECONDS = 3600.0
MAX_NAME = 512
MAX_RESULT = 4 * 1024 * 1024
"""Bytes of JSON, of a step and of a run."""


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
        self._begun: set[str] = set()
        self.waits: PassOver | None = None
        """Why the run ends here for now, whatever its code makes of that."""

    def step(self, name: str, call: Callable[[], Any], *, manual: bool = False) -> Any:
        """What `call` returns, from the record if it has been called in this run before. To be awaited in an async run.

        A name is used once in a run. A step whose process dies is called again; a `manual` one is not: the run then
        waits until a person says whether it happened.
        """
        return self._driven(self._stepped(self._named(name), call, manual=manual), f"ctx.step of {name}")

    def checkpoint(self, name: str) -> Any:
        """Ends here until a person lets the run go on; then it is what that person gave."""
        return self._driven(self._checked(self._named(name)), f"ctx.checkpoint of {name}")

    def _driven(self, steps: Generator[Step, Any, Any], what: str) -> Any:
        if self.waits is not None:
            steps.close()
            raise self.waits
        return self.promises.give(steps, what)

    def _named(self, name: Any) -> str:
        """Raises TypeError, ValueError."""
        if not isinstance(name, str):
            raise TypeError(f"the name of a step: expected text, got {type(name).__name__}")
        if not 0 < len(name) <= MAX_NAME or not all(map(_plain, name)):
            raise ValueError(f"the name of a step: expected 1 to {MAX_NAME} characters without control characters")
        if name in self._begun:
            raise ValueError(f'step "{name}": there was one of this name, and each needs its own')
        self._begun.add(name)
        return name

    def _stepped(self, name: str, call: Callable[[], Any], *, manual: bool) -> Generator[Step, Any, Any]:
        answer: Document = yield {"step": "begin", "name": name, "manual": manual}
        if answer["next"] != "run":
            return self._recorded(name, answer)
        try:
            value = yield call
            _check(value)
        except Exception as error:
            self.cancellation.check()  # a step that was interrupted has not failed
            yield {"step": "end", "name": name, "error": words(error)}
            raise
        yield {"step": "end", "name": name, "result": value}
        return value

    def _checked(self, name: str) -> Generator[Step, Any, Any]:
        answer: Document = yield {"step": "checkpoint", "name": name}
        return self._recorded(name, answer)

    def _recorded(self, name: str, answer: Document) -> Any:
        match answer["next"]:
            case "done":
                return answer["result"]
            case "failed":
                raise StepFailed(f"{name}: {answer['error']}")
            case _:
                self.waits = PassOver(0.0, f"waits for {name}")
                raise self.waits


def _plain(character: str) -> bool:
    return 31 < ord(character) != 127 and not 0xD800 <= ord(character) <= 0xDFFF


def _check(value: Any) -> None:
    """Raises ValueError for what is no JSON, or too much of it."""
    if (found := size(value)) > MAX_RESULT:
        raise ValueError(f"a result of {found} bytes: at most {MAX_RESULT}")
    if depth(value) > MAX_DEPTH:
        raise ValueError(f"a result that is nested deeper than {MAX_DEPTH}")


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
    ctx = WorkflowContext(ask, clock, cancellation, is_async=workflow.is_async)
    said = _executed(workflow, ctx, message, under_way)
    return said if ctx.waits is None or "cancelled" in said else {"waits": str(ctx.waits)}


def _executed(
    workflow: Workflow, ctx: WorkflowContext, message: Document, under_way: Callable[[CancelTask], None]
) -> Document:
    try:
        given = message["input"] if workflow.input is None else parse(workflow.input, message["input"], path="input")
        if workflow.is_async:
            result = asyncio.run(ctx.promises.kept(workflow.run(ctx, given), under_way))
        else:
            result = workflow.run(ctx, given)
        if isinstance(result, BaseModel):
            result = result.model_dump(mode="json", by_alias=True)
        _check(result)
    except (asyncio.CancelledError, Cancelled) as error:
        return {"cancelled": True} if ctx.cancellation.is_set() else {"failed": summary(error)}
    except Invalid as refused:
        return {"failed": bounded(str(refused))}
    except SystemExit as error:
        return {"failed": f"the workflow called sys.exit({error.code})"}
    except MemoryError as error:
        return {"failed": summary(error), "spent": True}
    except BaseException as error:  # it would raise the same in the next process
        return {"failed": summary(error)}
    return {"result": result}
