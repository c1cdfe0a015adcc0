"""Heartbeats on their way, and since when the server may have heard nothing newer of this node."""

from __future__ import annotations


class Heartbeats:
    """Instants in seconds on one monotonic clock. Number 0 is the Hello."""

    def __init__(self, now: float) -> None:
        self._sent = {0: now}
        self.answered = now
        """When the server last acknowledged one."""

    def send(self, seq: int, now: float) -> None:
        self._sent[seq] = now

    def acknowledge(self, seq: int, now: float) -> float | None:
        """When it was sent: the server heard of this node no earlier, so the fence counts from there.

        None for one that is not on its way.
        """
        sent = self._sent.get(seq)
        if sent is None:
            return None
        self._sent = {number: at for number, at in self._sent.items() if number > seq}
        self.answered = now
        return sent
