"""What the placer refuses to look at."""

from __future__ import annotations


class PlacementError(Exception):
    """Base of every refusal of this package."""


class InvalidRequest(PlacementError):
    """A request or policy that no fleet could answer; nothing was planned."""

    code = "INVALID_INPUT"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
