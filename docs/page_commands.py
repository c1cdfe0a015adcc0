"""Runs the commands of the pages: `python docs/page_commands.py [PAGE...]`, each page's in their order, beside a demo.

In a page, a comment before an indented block says what becomes of it:

    <!-- run -->            every command must end with 0
    <!-- run: exit 6 -->    the block is one command that must end so
    <!-- file: a.yaml -->   the block is that file
    <!-- more: a.yaml -->   the block stands behind what the file has
    <!-- own server -->     the page starts a server of its own, in a data folder of its own
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agent.leftovers import end_all
from cli import paths
from cli.apply import send
from cli.demo import EXAMPLES
from cli.demo_ground import free_port, take
from cli.demo_processes import NODES, Processes
from cli.flags import Flags
from cli.manifests import load
from cli.session import Session
from cli.targets import Target
from cli.waiting import await_ready

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^<!-- (run|file|more)(?:: ([^\n]+?))? -->\n+((?:(?: {4}[^\n]*)?\n)+)", re.MULTILINE)
OWN = "<!-- own server -->"
PAGE_SECONDS = 300
SERVER = re.compile(r"^rmctl server(?: [^&\n]*)?&", re.MULTILINE)
AGENT = re.compile(r"rmctl agent --node ([a-z0-9-]+)[^&\n]*&", re.MULTILINE)
KILLED = "kill -9 $(rmctl server status"
LEAVE = """\
leave() {
    code=$?
    if [ $code != 0 ]; then echo "$at ended with $code"; fi
    kill $(jobs -p) 2>/dev/null || true
}
trap leave EXIT
pid() { rmctl server status -o jsonpath={.pid} 2>/dev/null || true; }
"""
READY = 'until [ -n "$(pid)" ]; do sleep 0.1; done\n'
WAS = "was=$(pid)\n"
AGAIN = 'until now=$(pid); [ -n "$now" ] && [ "$now" != "$was" ]; do sleep 0.1; done\n'


class Block(NamedTuple):
    """`what` is run, file or more; `told` the rest of the comment."""

    line: int
    what: str
    told: str
    text: str


def blocks(page: str) -> list[Block]:
    return [
        Block(page.count("\n", 0, found.start()) + 1, found[1], found[2] or "", _text(found[3]))
        for found in BLOCK.finditer(page)
    ]


def _text(block: str) -> str:
    """Without the indentation that makes it a block."""
    return "\n".join(line[4:] for line in block.strip("\n").split("\n")) + "\n"


def script(name: str, page: str) -> str:
    """What bash runs; it ends at the first command that does not end as the page says."""
    parts = ["set -eu -o pipefail\nat='before the first block'\n"]
    parts.append(LEAVE)
    for block in blocks(page):
        parts.append(f"at={name}:{block.line}\n")
        if block.what != "run":
            sign = ">" if block.what == "file" else ">>"
            parts.append(f"cat {sign}{block.told} <<'END OF BLOCK'\n{block.text}END OF BLOCK\n")
        elif block.told:
            wanted = block.told.removeprefix("exit ")
            parts.append(f"got=0; ( {block.text.rstrip()} ) || got=$?\n[ $got = {int(wanted)} ]\n")
        elif KILLED in block.text:
            parts.append(WAS + block.text + AGAIN)
        else:
            parts.append(block.text + (READY if SERVER.search(block.text) else ""))
            parts += [
                f"until rmctl wait node/{name} >/dev/null 2>&1; do :; done\n" for name in AGENT.findall(block.text)
            ]
    return "".join(parts)


def run(page: Path, data: Path, rmctl: Path) -> bool:
    """Whether every command of the page ended as it says."""
    name, text = str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rmctl-page-") as folder:
        own = Path(folder) / "data" if OWN in text else data
        environment = {**os.environ, "PATH": f"{rmctl}:{os.environ['PATH']}", "RM_DATA": str(own)}
        environment |= {"HOME": folder, "RMCTL_CONFIG": f"{folder}/config.toml"}
        for unwanted in ("RMCTL_SERVER", "RM_JOIN_TOKEN"):
            environment.pop(unwanted, None)
        try:
            ran = subprocess.run(
                ["bash", "-c", script(name, text)],
                cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, timeout=PAGE_SECONDS, check=False,
            )  # fmt: skip
            code, told = ran.returncode, ran.stdout
        except subprocess.TimeoutExpired as late:
            code, told = 124, (late.stdout or b"").decode(errors="replace")
        finally:
            if own is not data:
                _end(own, environment)
    print(f"{'ok  ' if code == 0 else 'FAIL'} {name}  {time.monotonic() - began:.1f} s", flush=True)
    if code:
        print(textwrap.indent(told, "  | "), flush=True)
    return code == 0


def _end(data: Path, environment: dict[str, str]) -> None:
    """The server of a page, its agents, and their jobs."""
    subprocess.run(["rmctl", "server", "stop"], env=environment, capture_output=True, check=False)
    for lock in data.glob("agents/*"):
        end_all(lock)


@contextmanager
def a_demo() -> Iterator[Path]:
    """The data folder of a demo whose examples run, or wait as they should."""
    with tempfile.TemporaryDirectory(prefix="rmctl-docs-") as name:
        folder = Path(name) / "demo"
        with take(folder):
            processes = Processes(folder, f"127.0.0.1:{free_port()}", lambda _line: None)
            session = Session(Flags(server=f"unix:{folder}/rmctl.sock"))
            try:
                processes.start_server()
                for path in sorted(EXAMPLES.glob("*.yaml")):
                    send(session, load([str(path)]), dry_run=False)
                    if path.name.startswith("00-"):
                        _nodes(session, processes)
                bundle = session.kind("bundle")
                await_ready(session, [Target(bundle, name) for name in ("hello", "channel")], PAGE_SECONDS)
                yield folder
            finally:
                session.client.close()
                processes.stop()


def _nodes(session: Session, processes: Processes) -> None:
    for plan in NODES:
        token = session.client.send("POST", paths.TOKENS, {"node": plan.name, "pool": "local"})["token"]
        processes.start_agent(plan, token)
    session.client.send("DELETE", paths.item(Target(session.kind("pool"), "default"), session.project))


def main(words: list[str]) -> int:
    pages = [Path(word).resolve() for word in words] or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    pages = [page for page in pages if blocks(page.read_text(encoding="utf-8"))]
    with tempfile.TemporaryDirectory(prefix="rmctl-bin-") as folder:
        shim = Path(folder) / "rmctl"
        shim.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m rmctl "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
        with a_demo() as data, ThreadPoolExecutor() as beside:
            apart = [page for page in pages if OWN in page.read_text(encoding="utf-8")]
            begun = [beside.submit(run, page, data, shim.parent) for page in apart]
            well = [run(page, data, shim.parent) for page in pages if page not in apart]
            well += [one.result() for one in begun]
    print(f"{sum(well)} passed, {len(well) - sum(well)} failed")
    return 0 if all(well) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
