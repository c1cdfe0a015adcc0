"""A story on a small disk of its own, told as JSON: `unshare -rm python -m tests.full_disk FOLDER`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.fleet import COMMAND, Fleet

SIZE = "8m"
BLOCK = b"x" * 4096


class Disk:
    """`fill` takes the last byte, `free` gives it all back."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs", str(folder)], check=True)
        self._filler = folder / "filler"

    def fill(self) -> None:
        with self._filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(BLOCK)
            except OSError:
                return

    def free(self) -> None:
        self._filler.unlink()


def bundle(name: str) -> str:
    requirements = {"requiredCapacity": 0.01, "onRuntimeFailure": "avoidSpare"}
    job = {"jobName": "web", "command": ["sleep", "1000"], "requirements": requirements}
    spec = {"pool": "default", "jobs": [job]}
    return json.dumps({"apiVersion": "rmctl/v1", "kind": "bundle", "metadata": {"name": name}, "spec": spec})


def main(folder: Path) -> dict[str, Any]:
    disk = Disk(folder / "data")
    fleet = Fleet(folder)
    fleet.environment["RM_DATA"] = str(folder / "data")
    try:
        return _story(fleet, disk)
    finally:
        fleet.end()


def _story(fleet: Fleet, disk: Disk) -> dict[str, Any]:
    told: dict[str, Any] = {}
    server = fleet.server()
    fleet.agent("n1", "--data", str(fleet.folder / "agents" / "n1"))
    told["before"] = _applied(fleet, "before")
    disk.fill()
    refused = _until_refused(fleet)
    told["while it is full"] = [refused.code, refused.err]
    listed = fleet.rmctl("get", "bundle", "before", "-o", "name")
    told["reads go on"] = [listed.code, listed.out]
    disk.free()
    told["after"] = _applied(fleet, "after")
    disk.fill()
    _until_refused(fleet)
    stopped = fleet.rmctl("server", "stop")
    told["it ends"] = [stopped.code, server.popen.wait()]
    started = subprocess.run([*COMMAND, "server"], env=fleet.environment, capture_output=True, text=True, check=False)
    told["it does not start"] = [started.returncode, started.stderr.splitlines()[-1]]
    disk.free()
    fleet.server()
    told["again"] = _applied(fleet, "again")
    return told


def _applied(fleet: Fleet, name: str) -> int:
    return fleet.rmctl("apply", "-f", "-", "--wait", "--timeout", "120s", stdin=bundle(name)).code


def _until_refused(fleet: Fleet) -> Any:
    """What was free in the files of the database is used up first."""
    number = 0
    while True:
        ran = fleet.rmctl("apply", "-f", "-", stdin=bundle(f"more-{number}"))
        if ran.code:
            return ran
        number += 1


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
