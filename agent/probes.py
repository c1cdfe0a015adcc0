"""Asking a job how it is: a command, a port, or a page."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from anyio import to_thread

from agent.order import Probe

ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class Surroundings:
    """Where a job's probes run: `port` is its first declared tcp port, 0 for none."""

    folder: Path
    env: Mapping[str, str]
    address: str
    port: int


async def ask(probe: Probe, around: Surroundings) -> str | None:
    """None for a good answer, else what was wrong with it, in a few words."""
    if probe.exec:
        return await _exec(probe.exec, around)
    if probe.tcp:
        return await _tcp(around.address, probe.tcp)
    return await to_thread.run_sync(_http, probe.http, around, abandon_on_cancel=True)


async def _tcp(address: str, port: int) -> str | None:
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            await (await anyio.connect_tcp(address, port)).aclose()
    except TimeoutError:
        return f"tcp {port} does not answer"
    except OSError:
        return f"tcp {port} refuses"
    return None


def _http(url: str, around: Surroundings) -> str | None:
    if url.startswith("/"):
        url = f"http://{around.address}:{around.port}{url}"
    try:
        parts = urlsplit(url)
        connection = HTTPConnection(parts.hostname or around.address, parts.port or 80, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
            status = connection.getresponse().status
        finally:
            connection.close()
    except TimeoutError:
        return f"{url} does not answer"
    except (OSError, HTTPException, ValueError):
        return f"{url} cannot be read"
    return None if 200 <= status < 400 else f"{url} answers {status}"


async def _exec(argv: tuple[str, ...], around: Surroundings) -> str | None:
    try:
        process = await to_thread.run_sync(_spawn, argv, around)
    except (OSError, ValueError) as error:
        return f"{argv[0]} cannot be run: {error}"
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            code = await to_thread.run_sync(process.wait, abandon_on_cancel=True)
    except TimeoutError:
        return f"{argv[0]} does not end"
    finally:
        if process.returncode is None:
            _end(process)
    return None if code == 0 else f"{argv[0]} exits {code}"


def _spawn(argv: tuple[str, ...], around: Surroundings) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        argv, env=around.env, cwd=around.folder, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
