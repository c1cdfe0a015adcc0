"""How much of a long test one run takes: a share, another one with every commit, and all of it at night."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
WHOLE = os.environ.get("RMCTL_WHOLE") == "1"
PART = 3


def share(examples: int) -> int:
    """Of so many examples those that are tried now."""
    return examples if WHOLE else examples // PART


@cache
def turn() -> int:
    """A number that every commit has for itself; 0 outside of a checkout."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", "HEAD"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return int(found[:7], 16) if found else 0
