"""The server's log on stderr: JSON lines for programs, plain lines for people."""

from __future__ import annotations

import asyncio
import errno
import logging
import sys
import time
from collections.abc import Callable, MutableMapping
from typing import Any, Literal

import structlog

from cli.terminal import safe

Form = Literal["auto", "json", "text"]
OUT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
PAUSE_SECONDS = 10.0
"""How often a listener that can take nobody says so."""
KNOWN = ("timestamp", "level", "event", "kind", "project", "name")


def configure(form: Form = "auto") -> None:
    """`auto` is for people on a terminal and for programs elsewhere."""
    plain = form == "text" or (form == "auto" and sys.stderr.isatty())
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            text if plain else structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def text(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> str:
    """`10:31:07 info pass pool/default: outcome settled`; an exception's lines follow."""
    at = str(entry.get("timestamp", ""))[11:19]
    about = f" {entry['kind']}/{entry['name']}" if "kind" in entry and "name" in entry else ""
    rest = [f"{key} {value}" for key, value in entry.items() if key not in (*KNOWN, "exception")]
    line = f"{at} {entry.get('level', '')} {entry.get('event', '')}{about}" + (f": {', '.join(rest)}" if rest else "")
    told = [safe(part) for part in str(entry.get("exception", "")).splitlines()]
    return "\n".join([safe(line), *told])


class Faults:
    """The handler of an event loop's own errors: what a listener repeats without end is one line in ten seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._next = float("-inf")
        self._unsaid = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in OUT_OF:
            loop.default_exception_handler(context)
            return
        self._unsaid += 1
        if self._now() < self._next:
            return
        times, self._unsaid, self._next = self._unsaid, 0, self._now() + PAUSE_SECONDS
        structlog.get_logger().error("no connection can be taken", error=str(error.strerror), times=times)
