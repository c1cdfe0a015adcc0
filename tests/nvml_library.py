"""A shared library that speaks as NVIDIA's does, built for the test, and a process that reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("data") / "nvml" / "library.c"
ROOT = Path(__file__).resolve().parents[1]
READER = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from agent.cards import devices_of
from agent.nvml import Nvml, Unreadable
library = Nvml.open(Path(sys.argv[1]))
print(json.dumps(library is not None), flush=True)
for _ in sys.stdin:
    try:
        cards = library.cards()
        told = {"devices": [asdict(device) for device in devices_of(cards)]}
        told["sick"] = {card.id: card.health.reason for card in cards if not card.health.well}
    except Unreadable as error:
        told = {"unreadable": str(error)}
    print(json.dumps(told), flush=True)
"""


def build(folder: Path) -> Path:
    """The folder of libnvidia-ml.so.1."""
    made = folder / "libnvidia-ml.so.1"
    words = ["cc", "-shared", "-fPIC", "-O1", "-Wl,-soname,libnvidia-ml.so.1", "-o", str(made), str(SOURCE)]
    subprocess.run(words, check=True)
    return folder


class Machine:
    """What the library tells of, and a process of its own that asks it: a library once loaded stays loaded."""

    def __init__(self, folder: Path, library: Path, **more: str) -> None:
        self._file = folder / "nvml.txt"
        self.sysfs = folder / "sysfs"
        self.environment: Mapping[str, str] = {
            **os.environ,
            "LD_LIBRARY_PATH": str(library),
            "FAKE_NVML": str(self._file),
            **more,
        }
        self._process: subprocess.Popen[str] | None = None

    def has(self, *lines: str) -> None:
        """From now on; the file is there as a whole or not at all."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text("".join(f"{line}\n" for line in lines))
        fresh.replace(self._file)

    def numa(self, bus: str, node: int) -> None:
        (self.sysfs / bus).mkdir(parents=True)
        (self.sysfs / bus / "numa_node").write_text(f"{node}\n")

    def open(self) -> bool:
        """Whether there is a driver that answers."""
        words = [sys.executable, "-c", READER, str(self.sysfs)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment, cwd=ROOT
        )
        assert self._process.stdout is not None
        return bool(json.loads(self._process.stdout.readline()))

    def look(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()
