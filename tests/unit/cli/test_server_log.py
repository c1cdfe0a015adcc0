"""The server's log: lines for people, and listeners that can take nobody."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import pytest
import structlog

from cli.server_log import PAUSE_SECONDS, Faults, text


def test_a_line_for_people_has_no_json_and_no_control_byte() -> None:
    entry: dict[str, Any] = {
        "kind": "pool",
        "project": "",
        "name": "default",
        "outcome": "settled\x1b",
        "event": "pass",
    }
    entry |= {"level": "info", "timestamp": "2026-11-30T10:31:07.514635Z"}
    assert text(None, "info", entry) == "10:31:07 info pass pool/default: outcome settled\\x1b"
    entry = {"event": "x", "level": "error", "timestamp": "2026-11-30T10:31:07Z", "exception": "Traceback\n  boom"}
    assert text(None, "error", entry).splitlines() == ["10:31:07 error x", "Traceback", "  boom"]


def test_a_listener_without_descriptors_says_so_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    faults = Faults(lambda: now[0])
    loop = asyncio.new_event_loop()
    others: list[dict[str, Any]] = []
    monkeypatch.setattr(loop, "default_exception_handler", others.append)
    full = {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")}
    with structlog.testing.capture_logs() as told:
        for _ in range(1000):
            faults(loop, full)
        now[0] += PAUSE_SECONDS
        faults(loop, full)
        faults(loop, {"message": "other"})
    loop.close()
    assert [one["times"] for one in told] == [1, 1000]
    assert others == [{"message": "other"}]
