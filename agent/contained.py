"""A fault in one command or in one instance's life costs itself, never the agent and the other jobs on its node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger()


async def contained(work: Callable[..., Awaitable[None]], *arguments: object) -> None:
    """Do it; what it raises is logged with its traceback and goes no further."""
    try:
        await work(*arguments)
    except Exception:
        log.exception("a part of the agent failed", part=getattr(work, "__qualname__", repr(work)))
