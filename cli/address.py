"""Where the server is: the flag, the environment, the current context, else the default data folder's socket."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from cli import messages
from cli.errors import UsageProblem

MAX_SOCKET_PATH_BYTES = 107
LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
HOST_PORT = r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9][-A-Za-z0-9.]*):([0-9]{1,5})/?"


class Address(NamedTuple):
    """`scheme` is unix, http or https; `host` holds the socket's path for unix."""

    scheme: str
    host: str
    port: int = 0

    def __str__(self) -> str:
        return f"unix:{self.host}" if self.scheme == "unix" else f"{self.scheme}://{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        return self.scheme == "unix" or self.host in LOOPBACK or self.host.startswith("127.")


def parse_address(text: str) -> Address:
    """`unix:PATH`, an absolute path, `HOST:PORT` (plain on loopback, TLS elsewhere), `http://…`, `https://…`."""
    if text.startswith(("unix:", "/")):
        path = text.removeprefix("unix:")
        if path.startswith("//"):
            path = "/" + path.lstrip("/")
        if not path or "\0" in path:
            raise UsageProblem(messages.SERVER_ADDRESS.format(text=text))
        size = len(os.fsencode(path))
        if size > MAX_SOCKET_PATH_BYTES:
            raise UsageProblem(messages.SOCKET_PATH.format(size=size))
        return Address("unix", path)
    scheme, divider, rest = text.partition("://")
    if not divider:
        scheme, rest = "", text
    found = re.fullmatch(HOST_PORT, rest, re.ASCII)
    if found is None or scheme not in ("", "http", "https") or not 0 < int(found[2]) < 65536:
        raise UsageProblem(messages.SERVER_ADDRESS.format(text=text))
    host = found[1]
    if not scheme:
        scheme = "http" if host in LOOPBACK or host.startswith("127.") else "https"
    return Address(scheme, host, int(found[2]))


def data_folder() -> Path:
    """The default data folder: `RM_DATA`, else the state folder of whoever runs this."""
    named = os.environ.get("RM_DATA")
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "rmctl"


def default_address() -> Address:
    return parse_address(f"unix:{(data_folder() / 'rmctl.sock').absolute()}")
