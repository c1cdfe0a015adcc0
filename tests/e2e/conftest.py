"""One event loop for all end-to-end tests of a process, as a server has one."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
async def one_loop(anyio_backend: str) -> None:
    """Holds the loop. gRPC wakes every loop it has seen through one socket, and what reads it in vain raises."""
