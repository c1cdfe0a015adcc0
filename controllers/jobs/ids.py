"""Derived names: an instance is a job's uid, the generation of its run, and its attempt."""

from __future__ import annotations

from typing import NamedTuple


class InstanceId(NamedTuple):
    uid: str
    generation: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.uid}.{self.generation}.{self.attempt}"

    @property
    def start_key(self) -> str:
        return f"start/{self.generation}/{self.attempt}"

    @property
    def stop_key(self) -> str:
        return f"stop/{self.generation}/{self.attempt}"


def read(text: str) -> InstanceId:
    """The parts of an instance id. Raises ValueError for a text that is none."""
    uid, generation, attempt = text.rsplit(".", 2)
    return InstanceId(uid, int(generation), int(attempt))
