"""The line between a server and its processes: the other side may be gone, or there and deaf."""

from __future__ import annotations

import socket

import pytest

from controllers.definitions.channel import Channel, Stuck


def test_who_takes_nothing_in_is_not_waited_for() -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs, pytest.raises(Stuck):
        Channel(mine, patience=0.05).send({"text": "x" * 4_000_000})


def test_what_is_taken_in_is_received_whole() -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs:
        Channel(mine, patience=30).send({"text": "x" * 10_000})
        assert Channel(theirs).receive() == {"text": "x" * 10_000}
