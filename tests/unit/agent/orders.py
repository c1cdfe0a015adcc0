"""Orders for tests: name only what the test is about."""

from __future__ import annotations

from typing import Any

from agent.order import Order


def an_order(**fields: Any) -> Order:
    known = {
        "job": "ch-1.primary.encode",
        "job_uid": "u1",
        "instance": "u1-1-1",
        "instance_key": "primary",
        "attempt": 1,
        "command": ("true",),
    }
    return Order(**(known | fields))
