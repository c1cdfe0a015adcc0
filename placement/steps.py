"""A call of other people's code that may run so many lines of Python, and no more."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from inspect import currentframe
from typing import TypeVar

T = TypeVar("T")
MOST_STEPS = 50_000
"""Lines of Python that one call may run."""

_watch = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.py_object)(("PyEval_SetTrace", ctypes.pythonapi))
_ASK = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)


class TooLong(BaseException):
    """It ran more lines than it may, whatever became of that inside of it."""


class _Steps:
    """Asked at every line: raises at each one beyond the limit, so a call that swallows the first meets the next.

    A function given to `sys.settrace` is dropped once it has raised. Asked by way of the interpreter's C interface,
    as the truth of an object, it stays.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_STEPS

    def __bool__(self) -> bool:
        self.left -= 1
        if self.left < 0:
            raise TooLong
        return False


def limited(call: Callable[..., T], *arguments: object) -> T:
    """What the call answers. Raises TooLong, and whatever the call does.

    What cannot be ended: a call into C that does not return, a loop of a single instruction (`while True: pass` on one
    line, before Python 3.12), and code that takes the tracer of its thread away.
    """
    steps, before, own = _Steps(), sys.gettrace(), currentframe()
    assert own is not None
    own.f_trace_lines = False  # else a line of this function could raise, and leave the tracer where it is
    _watch(_ASK, steps)
    try:
        answer = call(*arguments)
    finally:
        sys.settrace(before)
    if steps.left < 0:
        raise TooLong
    return answer
