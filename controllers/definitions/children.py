"""Child runs as a resource asks for them: started once a key, and found again by every pass."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal

from controllers.definitions.touching import EffectMismatch, PassOver, Promises, Step, named
from resources.canonical import Document


class NoWorkflow(Exception):
    """There is no file for the workflow."""


@dataclass(frozen=True)
class Run:
    """What is on record of a child run. `result` once it has succeeded."""

    key: str
    run_id: str
    attempt: int
    state: Literal["pending", "running", "waiting", "succeeded", "failed", "interrupted"]
    result: Any = None
    error: str = ""

    @property
    def succeeded(self) -> bool:
        return self.state == "succeeded"


class Workflows:
    """`ctx.workflows`."""

    def __init__(self, promises: Promises) -> None:
        self._promises = promises

    def ensure(self, *, key: str, workflow: str, input: Document) -> Any:  # noqa: A002  the word for it
        """The `Run` of this key, started now if it was not before; to be awaited in an async `reconcile`.

        The same key with another workflow or input is an error. A run that failed stays failed: ask again under another
        key. The resource is woken when the run has ended. One that keeps being interrupted is tried again with pauses.
        """
        named(request_key=key, workflow=workflow)
        steps = _ensured({"workflow": "ensure", "key": key, "name": workflow, "input": input})
        return self._promises.give(steps, f"ctx.workflows.ensure of {key}")


def _ensured(message: Document) -> Generator[Step, Any, Run]:
    answer: Document = yield message
    match answer["next"]:
        case "mismatch":
            raise EffectMismatch(answer["reason"])
        case "over":
            raise PassOver(answer["after"], answer["reason"])
        case "missing":
            raise NoWorkflow(answer["reason"])
        case _:
            told = {name: answer[name] for name in ("run_id", "attempt", "state", "result")}
            return Run(message["key"], error=answer.get("error") or "", **told)
