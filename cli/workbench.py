"""`rmctl server --dev KIND`: the passes of a kind run here, before one's eyes, while the server does all else."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from cli.errors import UsageProblem
from cli.session import Session
from cli.terminal import out, say
from controllers.definitions.discovery import FOLDER
from controllers.definitions.loading import SUFFIX
from controllers.definitions.workbench import serve
from controllers.runtime.environment import Threads
from resources.canonical import Document
from resources.names import shown

PATH = "/apis/rmctl/v1/definitions/workbench"
BACKLOG = 64
TERMINAL = ("TERM", "PYTHONBREAKPOINT")
"""What a definition sees here and not on the server."""


def work(session: Session, kinds: Sequence[str]) -> int:
    """Until Ctrl-C. Raises UsageProblem for a kind without a file in this folder."""
    files = {kind: Path.cwd() / ".rm" / FOLDER / f"{kind}{SUFFIX}" for kind in kinds}
    for kind, path in files.items():
        if not path.is_file():
            raise UsageProblem(f"--dev {kind}: no file {path}", hint=f"rmctl init resource-manager {kind}")
    if len(files) != 1:
        raise UsageProblem("--dev takes one kind; open another terminal for another one")
    ((kind, path),) = files.items()
    with tempfile.TemporaryDirectory(prefix="rmctl-") as folder, socket.socket(socket.AF_UNIX) as door:
        address = Path(folder) / "bench.sock"
        door.bind(str(address))
        door.listen(BACKLOG)
        asked = {"kind": kind, "project": session.project, "file": str(path), "socket": str(address)}
        session.client.send("POST", PATH, asked)
        session.client.close()
        say(f'{kind} runs here, from {path}, for project "{session.project}"; Ctrl-C gives it back')
        os.chdir(path.parent)  # where the server's processes start too
        try:
            while True:
                end, _ = door.accept()
                serve(end, path, Threads(), _tell, _see)
        except KeyboardInterrupt:
            say(f"{kind} is the server's again")
    return 0


def _see(environment: Mapping[str, str]) -> None:
    """Only what the definition sees on the server, so that it does not work here alone."""
    kept = {name: os.environ[name] for name in TERMINAL if name in os.environ}
    os.environ.clear()
    os.environ.update({**environment, **kept})


def _tell(message: Document, answer: Document) -> None:
    if message.get("do") != "reconcile":
        return
    metadata = message["resource"]["metadata"]
    name = shown(metadata["kind"], metadata["key"])
    if answer.get("trace"):
        for line in str(answer["trace"]).splitlines():
            say(line)
    if "failed" in answer:
        outcome = f"failed: {answer['failed']}"
    elif answer.get("after") is None:
        outcome = "settled"
    else:
        outcome = f"again after {answer['after']:g} s"
    out(f"{name} generation {metadata['generation']}: {outcome}")
