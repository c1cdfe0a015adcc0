"""Telling: what went wrong in a definition, in one sentence that names its file and line."""

from __future__ import annotations

import traceback
from types import FrameType

from pydantic import ValidationError

MAX_TEXT = 8192
SUFFIXES = (".resource_manager.py", ".workflow.py")


def words(error: BaseException) -> str:
    """`ValueError: text`, on one line however the error prints itself."""
    name = type(error).__name__
    if isinstance(error, ValidationError):
        first, *more = error.errors()
        where = ".".join(map(str, first["loc"]))
        text = f"{where}: {first['msg']}" if where else first["msg"].removeprefix("Value error, ")
        return bounded(f"{error.title}: {text}" + (f" (and {len(more)} more)" if more else ""))
    try:
        text = str(error)
    except Exception as other:
        text = f"its text cannot be had: {type(other).__name__}"
    return bounded(f"{name}: {text}" if text else name)


def summary(error: BaseException) -> str:
    """`words`, with the line of the definition that it passed last."""
    found = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.endswith(SUFFIXES)]
    return words(error) + (f" ({_base(found[-1].filename)}:{found[-1].lineno})" if found else "")


def place(frame: FrameType | None) -> str:
    """`site.resource_manager.py:12`, of the innermost frame that is in a definition; empty where none is."""
    while frame is not None:
        if frame.f_code.co_filename.endswith(SUFFIXES):
            return f"{_base(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def bounded(text: str) -> str:
    text = text.encode(errors="backslashreplace").decode()  # half a character cannot be sent
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


def _base(path: str) -> str:
    return path.rpartition("/")[2]
