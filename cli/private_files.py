"""Files that only their owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from cli.errors import BadEnvironment


def write_private(path: Path, text: str) -> None:
    """Raises BadEnvironment for one that is there, or cannot be made."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise BadEnvironment(f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
