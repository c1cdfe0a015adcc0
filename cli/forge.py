"""`rmctl dev forge`: a forge with one pull request, to see the kind `pull-request` at work."""

from __future__ import annotations

import re
import socket
from typing import Annotated

import typer

from cli.errors import UsageProblem
from cli.terminal import out, say

HEAD = "5f2c" * 10
REPOSITORY, NUMBER = "acme/site", 12


def forge(
    listen: Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="0 takes any port")] = "127.0.0.1:7070",
    head: Annotated[str, typer.Option("--head", metavar="SHA", help="of its pull request")] = HEAD,
) -> int:
    """Run a forge on this machine, in the shapes of GitHub's REST API, until Ctrl-C."""
    import uvicorn

    from api.forge import Forge, Pull

    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or host not in ("127.0.0.1", "localhost"):
        raise UsageProblem(
            f'--listen "{listen}": expected 127.0.0.1:PORT; a forge without passwords stays on this machine'
        )
    if not re.fullmatch("[0-9a-f]{40}", head):
        raise UsageProblem(f'--head "{head}": expected 40 hex digits')
    made = Forge()
    made.pulls[REPOSITORY, NUMBER] = Pull(NUMBER, head, {"build": "success", "test": "failure"}, ("test",), ("ada",))
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((host, int(port)))
        except OSError as error:
            raise UsageProblem(f'--listen "{listen}": {error.strerror}') from None
        out(f"rmctl forge ready  http://{host}:{door.getsockname()[1]}  {REPOSITORY}#{NUMBER} at {head}")
        say("Next: GITHUB_API_URL=http://… rmctl server, with passEnvironment in its settings")
        uvicorn.Server(uvicorn.Config(made.app(), log_config=None, access_log=False, lifespan="off")).run([door])
    return 0
