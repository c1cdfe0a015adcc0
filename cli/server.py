"""`rmctl server`: one process that runs until SIGTERM."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from cli.address import data_folder

if TYPE_CHECKING:
    from cli.settings import ServerSettings
    from controllers.plugins.host import Host
    from controllers.scheduling import Scheduling


def run(
    *,
    data: Path | None,
    store: str | None = None,
    http: Sequence[str] = (),
    agents: Sequence[str] = (),
    config: Path | None = None,
    log: str | None = None,
) -> int:
    """The exit code: 0 after a clean stop, 2 for settings, 5 for what the machine refuses."""
    from cli import placement_plugins, server_log, settings
    from controllers.plugins.host import Host
    from resources.validation import Invalid

    server_log.configure()
    data = (data or data_folder()).absolute()
    if store is not None:
        return _refuse("--store: this version keeps its state in a folder (--data)", 2)
    problem = next(filter(None, map(_address_problem, (*http, *agents))), None) or _path_problem(data)
    if problem:
        return _refuse(problem, 2)
    try:
        flags = {"data": str(data), "http": tuple(http), "agents": tuple(agents), "log": log}
        read = settings.read(flags, config=config)
        server_log.configure(read.log)
    except Invalid as invalid:
        return _refuse("; ".join(map(str, invalid.errors)), 2)
    with closing(Host(read.placement.plugins, time.monotonic)) as plugins:
        try:
            scheduling = placement_plugins.scheduling(read.placement, plugins.load())
        except Invalid as invalid:
            return _refuse("; ".join(map(str, invalid.errors)), 2)
        return _served(data, read, scheduling, plugins)


def _served(data: Path, read: ServerSettings, scheduling: Scheduling, plugins: Host) -> int:
    from api.listening import AddressRefused
    from cli import compose, server_log
    from store.errors import Corrupt, Failed, Owned, StoreError

    compose.warn_of_library()

    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(server_log.Faults())
        await compose.Server(read, scheduling, plugins).serve()

    try:
        asyncio.run(serve())
    except Corrupt as error:
        return _refuse(f"{error}: rmctl doctor --data {data} names all of them, rmctl restore brings a backup back", 5)
    except Failed as error:
        return _refuse(f"{data / 'state.db'}: {error}", 5)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{where}{(error.strerror or str(error)).lower()}", 5)
    except Owned as error:
        return _refuse(f"{error}: end it with rmctl server stop, or give this one a folder of its own with --data", 5)
    except (StoreError, AddressRefused) as error:
        return _refuse(str(error), 5)
    return 0


def _refuse(message: str, code: int) -> int:
    print(f"rmctl: error: {message}", file=sys.stderr)
    return code


def _path_problem(data: Path) -> str | None:
    length = len(str((data / "agents.sock").absolute()).encode())
    return f"socket path is {length} bytes, limit 107" if length > 107 else None


def _address_problem(address: str) -> str | None:
    from api.listening import AddressRefused, listener

    try:
        listener(address)
    except AddressRefused as refused:
        return str(refused)
    return None
