"""The killer as a process of its own, for tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def killed(*words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, which has one thread and may fork."""
    command = [sys.executable, "-m", "tests.crash", *words, "--agent-stride", "0", "--jobs", "1"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
