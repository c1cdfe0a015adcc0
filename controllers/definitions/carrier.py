"""Runs whose steps are rows of the store: each step is asked for before it is carried out, and told after."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from controllers.definitions.channel import Broken, Garbled
from controllers.definitions.conversation import converse
from controllers.definitions.loading import source
from controllers.definitions.pool import Pool
from controllers.definitions.processes import Process
from controllers.runtime.patience import Patience
from resources.canonical import Document
from resources.workflow_run import RunRecord, StepRecord
from store import workflow_steps
from store.environment import Environment
from store.store import Store
from store.tx import Tx


class Died(Exception):
    """A process was lost, and with it nothing but its part of the run."""


class Carrier(Protocol):
    """Carries out one process's part of a run, for an engine that knows nothing of how."""

    name: str
    """What the record of a run says of who keeps its steps."""

    def ready(self, told: Callable[[str], None]) -> bool:
        """Waits until runs can be carried out; False once nothing is to be begun any more.

        `told` hears why it waits.
        """
        ...

    def carry(self, run: RunRecord, path: Path) -> Document:
        """The last word: `result`, `failed`, `waits` or `interrupted`. Raises Died, Superseded, Unusable."""
        ...

    def interrupt(self, run_id: str) -> None: ...
    def stop(self) -> None:
        """What is under way is left where it is."""
        ...


class StoreCarrier:
    name = "store"

    def __init__(self, store: Store, environment: Environment, pool: Pool) -> None:
        self._patience = Patience(store, environment)
        self._clock = environment.monotonic
        self._pool = pool
        self._at_work: dict[str, Process] = {}

    def ready(self, _told: Callable[[str], None]) -> bool:
        return True

    def carry(self, run: RunRecord, path: Path) -> Document:
        runner = self._pool.take(path, source(path)[1])
        assert isinstance(runner, Process)
        self._at_work[run.run_id] = runner
        try:
            said = converse(runner, run.input, partial(self._answer, run), self._clock)
        except Garbled as error:
            self._pool.retire(runner, now=True)
            return {"failed": f"the workflow said {error}"}
        except BaseException as error:
            self._pool.retire(runner, now=True)
            if isinstance(error, Broken):
                raise Died(runner.ended()) from error
            raise
        finally:
            self._at_work.pop(run.run_id, None)
        self._pool.give_back(runner, said)
        return said

    def interrupt(self, run_id: str) -> None:
        runner = self._at_work.get(run_id)
        if runner is not None:
            runner.interrupt()

    def stop(self) -> None:
        self._patience.stop()
        for run_id in tuple(self._at_work):
            self.interrupt(run_id)

    def _answer(self, run: RunRecord, ask: Document) -> Document:
        return self._patience.write(partial(answer, run=run, ask=ask))


def answer(tx: Tx, *, run: RunRecord, ask: Document) -> Document:
    """What the record says of a step. Raises Superseded, and Garbled for what may not be asked."""
    match ask:
        case {"step": "begin", "name": str() as name, "manual": bool() as manual}:
            return _shown(workflow_steps.begin(tx, run, name, manual=manual))
        case {"step": "checkpoint", "name": str() as name}:
            return _shown(workflow_steps.checkpoint(tx, run, name))
        case {"step": "end", "name": str() as name, "error": str() as error}:
            workflow_steps.end(tx, run, name, error=error)
        case {"step": "end", "name": str() as name}:
            workflow_steps.end(tx, run, name, result=ask.get("result"))
        case _:
            raise Garbled("what it may not say")
    return {"next": "ok"}


def _shown(found: StepRecord | workflow_steps.Next) -> Document:
    if isinstance(found, StepRecord):
        return {"next": found.state, "result": found.result, "error": found.error}
    return {"next": found}
