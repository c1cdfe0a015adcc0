"""A workflow's part in one process: what its code may do, and what becomes of what it may not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from controllers.definitions.context import Cancellation
from controllers.definitions.workflows import MAX_RESULT, WorkflowContext, execute, workflow
from controllers.runtime.environment import Threads
from resources.canonical import MAX_DEPTH, Document, canonical


def carried_out(code: Callable[[WorkflowContext], Any], *, waits: bool = False) -> tuple[Document, list[Document]]:
    """The last word, and what was asked before; every word can be sent."""
    asked: list[Document] = []

    def ask(message: Document) -> Document:
        canonical(message).encode()
        asked.append(message)
        return {"next": "waits" if waits else "run"}

    made = workflow("build")(lambda ctx, _given: code(ctx))
    said = execute(made, {"input": {}}, ask, Threads(), Cancellation())
    canonical(said).encode()
    return said, asked


def test_two_steps_of_one_name_are_told_instead_of_taken_for_one() -> None:
    said, asked = carried_out(lambda ctx: [ctx.step("same", lambda: 1), ctx.step("same", lambda: 2)])
    assert said["failed"].startswith('ValueError: step "same": there was one of this name, and each needs its own')
    assert [one["step"] for one in asked] == ["begin", "end"]


@pytest.mark.parametrize("name", [5, "", "x" * 513, "a\nb", "\ud800"])
def test_a_step_needs_a_name_that_can_be_told(name: Any) -> None:
    said, asked = carried_out(lambda ctx: ctx.step(name, lambda: 1))
    assert "the name of a step: expected" in said["failed"]
    assert asked == []


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", ["x" * MAX_RESULT, "\ud800", float("nan"), {1, 2}, nested(MAX_DEPTH + 1)])
def test_a_result_that_cannot_be_kept_fails_its_step_at_once(value: Any) -> None:
    said, asked = carried_out(lambda ctx: ctx.step("a", lambda: value))
    assert "Error: " in said["failed"]
    assert "Error: " in asked[-1]["error"]
    assert "failed" in carried_out(lambda _ctx: value)[0]


def test_a_result_may_be_nested_as_deep_as_a_manifest() -> None:
    assert carried_out(lambda ctx: ctx.step("a", lambda: nested(MAX_DEPTH)))[0] == {"result": nested(MAX_DEPTH)}


class Odd(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt("k"), GeneratorExit(), Odd("o"), asyncio.CancelledError(), ValueError("\ud800")]
)
def test_whatever_the_code_raises_is_the_end_of_the_run_and_not_of_its_process(error: BaseException) -> None:
    def code(_ctx: WorkflowContext) -> None:
        raise error

    assert carried_out(code)[0]["failed"].startswith(type(error).__name__)


def test_a_step_that_was_interrupted_has_not_failed() -> None:
    def interrupted(ctx: WorkflowContext) -> None:
        ctx.cancellation.set()
        raise ChildProcessError("the signal went to the whole group")

    said, asked = carried_out(lambda ctx: ctx.step("a", lambda: interrupted(ctx)))
    assert (said, [one["step"] for one in asked]) == ({"cancelled": True}, ["begin"])


def test_a_run_that_waits_goes_no_further_whatever_its_code_catches() -> None:
    def code(ctx: WorkflowContext) -> str:
        for name in ("asked", "after"):
            try:
                ctx.checkpoint(name)
            except BaseException:  # noqa: S110  as hasty code does
                pass
        return "passed"

    said, asked = carried_out(code, waits=True)
    assert (said, [one["name"] for one in asked]) == ({"waits": "waits for asked"}, ["asked"])
