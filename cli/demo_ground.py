"""What the demo stands on: a folder of its own, and addresses that no other demo of this machine uses."""

from __future__ import annotations

import shutil
import socket
import struct
from pathlib import Path

from cli.demo_processes import NODES
from cli.errors import CliError

NAME = "\0rmctl-demo"
"""In the abstract namespace: it goes with the process that holds it."""
PORTS = (8101, 8201)
"""What the examples serve on."""


def take(folder: Path) -> socket.socket:
    """The folder is cleared and the addresses are ours until what is returned is closed. Raises CliError."""
    if _held(folder / "lock"):
        raise CliError(f"a demo runs in {folder} already", hint="end it with Ctrl-C first")
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(NAME)
        claim.listen()
    except OSError:
        claim.close()
        both = f"both would serve on {NODES[0].address} to {NODES[-1].address}"
        told = f"another demo runs on this machine{_whose()}: {both}"
        raise CliError(told, hint="end that one with Ctrl-C first") from None
    try:
        clear(folder)
        _probe()
    except BaseException:
        claim.close()
        raise
    return claim


def _whose() -> str:
    """The process id of who holds the claim, in brackets; empty when it is gone meanwhile."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(NAME)
            pid = struct.unpack("3i", asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        except OSError:
            return ""
    return f" (process {pid})"


def _probe() -> None:
    for plan in NODES:
        for port in PORTS:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((plan.address, port))
                except OSError as error:
                    raise CliError(
                        f"the examples serve on {plan.address}:{port}, and that cannot be: {error.strerror}"
                    ) from None


def clear(folder: Path) -> None:
    """Remove what an earlier demo left, its jobs first. Raises CliError for one that is no demo's."""
    from agent.leftovers import end_all

    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True)
        return
    parts = {"lock", "state.db", "agents", "rmctl.sock", "agents.sock", "http-token", "tls", "server.toml", "runners"}
    if any(folder.iterdir()) and not (folder / "lock").exists():
        raise CliError(f"{folder} is no demo's folder: choose another one with --data")
    for plan in NODES:
        end_all(folder / "agents" / plan.name)
    for path in folder.iterdir():
        if path.name in parts or path.suffix in (".log", ".db-wal", ".db-shm") or path.name.startswith("state.db"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _held(lock: Path) -> bool:
    import fcntl

    if not lock.exists():
        return False
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def free_port() -> int:
    """7077 where it is free, else any."""
    for port in (7077, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise CliError("no free port on 127.0.0.1")
