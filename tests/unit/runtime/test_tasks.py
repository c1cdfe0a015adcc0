"""Tasks of a server: one that fails begins again, however it failed."""

from __future__ import annotations

import threading

import pytest

from controllers.runtime import environment
from controllers.runtime.environment import Threads


@pytest.mark.parametrize("failure", [RuntimeError("x"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_task_that_fails_begins_again(failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "AGAIN_SECONDS", 0.0)
    tried, well = [], threading.Event()

    def task() -> None:
        tried.append(1)
        if len(tried) == 1:
            raise failure
        well.set()

    Threads().spawn("task", task).join()
    assert (well.is_set(), len(tried)) == (True, 2)
