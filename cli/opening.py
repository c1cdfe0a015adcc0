"""`rmctl open`: the server's pages in a browser, through a listener of its own or through a proxy to its socket."""

from __future__ import annotations

import os
import threading
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from cli import paths
from cli.address import Address
from cli.client import UnixConnection
from cli.errors import BadEnvironment, UsageProblem
from cli.session import Session
from cli.targets import targets
from cli.terminal import out, safe, say

PAGES = "/ui"
PASSED_UP = ("Accept", "Cookie", "Origin", "Host")
PASSED_DOWN = ("Content-Type", "Location", "Set-Cookie", "Cache-Control", "Referrer-Policy", "X-Content-Type-Options",
               "Content-Security-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy")  # fmt: skip
ANSWER_SECONDS = 60.0


def open_pages(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="[KIND/NAME]", help="its page; the overview unless given")] = "",
    print_only: Annotated[bool, typer.Option("--print", help="print the address, and start no browser")] = False,
    port: Annotated[int, typer.Option(help="of the proxy on 127.0.0.1; any free one unless given")] = 0,
) -> int:
    """Show the pages. The address is good once; over the socket a proxy on loopback runs until Ctrl-C."""
    session: Session = context.obj
    session.output()
    if not 0 <= port <= 65535:
        raise UsageProblem(f"--port {port}: 0 to 65535")
    page = _page(session, what)
    token = str(session.client.send("POST", paths.PAGES, {})["token"])
    address = session.address
    query = urlencode({**({"project": session.project} if session.asked_project else {}), "token": token})
    if address.scheme != "unix":
        _show(f"{address}{page}?{query}", print_only)
        return 0
    proxy = _proxy(address, port)
    _show(f"http://127.0.0.1:{proxy.server_address[1]}{page}?{query}", print_only)
    say("A proxy to the server's socket, until Ctrl-C.")
    with proxy:
        proxy.serve_forever()
    return 0


def _page(session: Session, what: str) -> str:
    if not what:
        return PAGES
    found = targets([what], session.kind)
    if len(found) != 1 or not found[0].name:
        raise UsageProblem(f'"{what}": expected KIND/NAME')
    return f"{PAGES}/{found[0].kind.name}/{quote(found[0].name)}"


def _show(url: str, print_only: bool) -> None:
    out(safe(url))
    if print_only or not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        return
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _proxy(server: Address, port: int) -> ThreadingHTTPServer:
    """Bound, not yet serving. Raises BadEnvironment."""

    class Handler(BaseHTTPRequestHandler):
        """Only looks at pages; the server asks for the token or the cookie as on any listener."""

        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            if self.path != PAGES and not self.path.startswith((f"{PAGES}?", f"{PAGES}/")):
                self.send_error(404)
                return
            connection = UnixConnection(server.host)
            try:
                connection.connect()
                assert connection.sock is not None
                connection.sock.settimeout(ANSWER_SECONDS)
                headers = {name: self.headers[name] for name in PASSED_UP if name in self.headers}
                connection.request("GET", self.path, headers={**headers, "Rmctl-Door": "listener"})
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, HTTPException):
                self.send_error(502, "the server does not answer")
                return
            finally:
                connection.close()
            self.send_response(answer.status)
            for name in PASSED_DOWN:
                for value in answer.headers.get_all(name) or ():
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:  # noqa: A002, ARG002 - as the library has it
            return

    try:
        found = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise BadEnvironment(f"127.0.0.1:{port}: {(error.strerror or str(error)).lower()}") from None
    found.daemon_threads = True
    return found
