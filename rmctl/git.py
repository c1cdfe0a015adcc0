"""Git worktrees for the runs of a definition."""

from controllers.definitions.worktrees import (
    Asked,
    Begun,
    Claim,
    Clone,
    Later,
    Occupied,
    Place,
    begun,
    kept,
    later,
    vacated,
)
from controllers.providers.git_worktrees import Login

__all__ = [
    "Asked",
    "Begun",
    "Claim",
    "Clone",
    "Later",
    "Login",
    "Occupied",
    "Place",
    "begun",
    "kept",
    "later",
    "vacated",
]
