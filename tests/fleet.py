"""A server process, agent processes and rmctl against them, for tests that tell a story from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agent.leftovers import end_all
from tests.cli_runs import Ran

COMMAND = (sys.executable, "-m", "rmctl")
SLEEPER = """\
apiVersion: rmctl/v1
kind: bundle
metadata: {name: NAME}
spec:
  pool: default
  jobs:
    - jobName: main
      command: [sleep, "1000"]
      requirements: {requiredCapacity: 0.5, onRuntimeFailure: avoidSpare}
"""


class Process(NamedTuple):
    """`line` is what it printed when it was ready."""

    popen: subprocess.Popen[str]
    line: str


class Fleet:
    """Everything below one folder. Processes started here are ended by whoever made the fleet.

    `command` is how rmctl is called, by default that of this tree.
    """

    def __init__(self, folder: Path, command: Sequence[str] = COMMAND) -> None:
        self.folder = folder
        self._command = tuple(command)
        self.environment = {**os.environ, "RM_DATA": str(folder), "RMCTL_CONFIG": str(folder / "none.toml")}
        self.environment.pop("RMCTL_SERVER", None)
        self.nodes: list[str] = []
        self._processes: list[subprocess.Popen[str]] = []
        self.cwd: Path | None = None
        """Where processes are started; None is where the tests are."""

    def rmctl(self, *words: str, stdin: str = "") -> Ran:
        ran = subprocess.run(
            [*self._command, *words],
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.cwd,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def server(self, *flags: str) -> Process:
        return self._started("server", *flags)

    def agent(self, name: str, *flags: str) -> Process:
        """Joins with a token of its own."""
        token = self.rmctl("node", "token", name)
        assert token.code == 0, token.err
        self.nodes.append(name)
        return self._started("agent", "--node", name, "--token", token.out.strip(), *flags)

    def again(self, name: str) -> Process:
        """An agent that has joined before, with the credential that it keeps."""
        return self._started("agent", "--node", name)

    def _started(self, *words: str) -> Process:
        """Blocks until it says that it is ready."""
        with (self.folder / f"{words[0]}.log").open("a") as log:
            line = [*self._command, *words]
            popen = subprocess.Popen(
                line, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True, cwd=self.cwd
            )
        self._processes.append(popen)
        assert popen.stdout is not None
        return Process(popen, popen.stdout.readline())

    def end(self) -> None:
        for popen in reversed(self._processes):
            popen.terminate()
            popen.wait()
            if popen.stdout is not None:
                popen.stdout.close()
        for name in self.nodes:
            end_all(self.folder / "agents" / name, grace=0)


@contextmanager
def a_fleet(command: Sequence[str] = COMMAND) -> Iterator[Fleet]:
    """On a short path: a socket's name has 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="rmctl-") as folder:
        fleet = Fleet(Path(folder), command)
        try:
            yield fleet
        finally:
            fleet.end()
