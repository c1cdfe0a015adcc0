"""An API server for tests of the client: real HTTP over a unix socket, answers from a table, every request kept."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

ROOT = "/apis/rmctl/v1"
NAMESPACED = ("jobs", "bundles", "templates", "reservations", "schedules", "webhooks")


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    body: Any
    content_type: str


@dataclass(frozen=True)
class Answer:
    """`body` is JSON, or text as it stands; `lines` are sent one by one and then the answer ends."""

    body: Any = None
    code: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    lines: tuple[Any, ...] = ()


Reply = Answer | Callable[[Request], Answer]


def status(code: int, reason: str, message: str, **details: Any) -> Answer:
    """A refusal, as the API writes it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}
    return Answer({**body, "details": details, "code": code}, code)


class FakeApi:
    """`answers` maps "METHOD PATH" to replies; the last of several is repeated. Whatever is not there is a 404."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.requests: list[Request] = []
        self._answers: dict[str, list[Reply]] = {}
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"unix:{self.socket}"

    def on(self, what: str, *replies: Reply) -> None:
        """`GET jobs` is short for the path below the API's root; what lives in projects is in default."""
        method, _, path = what.partition(" ")
        self._answers[f"{method} {_whole(path)}"] = list(replies)

    def lists(self, plural: str, *items: dict[str, Any], revision: int = 7) -> None:
        """A list, and a watch on it that ends at once."""
        document = {"kind": "List", "metadata": {"resourceVersion": str(revision)}, "items": list(items)}
        self.on(f"GET {plural}", Answer(document))
        for item in items:
            self.on(f"GET {plural}/{item['metadata']['name']}", Answer(item))

    def sent(self, method: str, path: str) -> list[Request]:
        return [one for one in self.requests if (one.method, one.path) == (method, _whole(path))]

    def reply(self, request: Request) -> Answer:
        self.requests.append(request)
        replies = self._answers.get(f"{request.method} {request.path}")
        if replies is None:
            return status(404, "NotFound", f"{request.path}: not found")
        with self._lock:
            found = replies.pop(0) if len(replies) > 1 else replies[0]
        return found if isinstance(found, Answer) else found(request)


def _whole(path: str) -> str:
    if path.startswith("/"):
        return path
    head = path.partition("/")[0]
    return f"{ROOT}/namespaces/default/{path}" if head in NAMESPACED else f"{ROOT}/{path}"


@contextmanager
def serving(folder: Path) -> Iterator[FakeApi]:
    """A fake server on a socket in `folder`, until the block is left."""
    api = FakeApi(folder / "api.sock")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            parts = urlsplit(self.path)
            size = int(self.headers.get("Content-Length") or 0)
            data = self.rfile.read(size)
            body = json.loads(data) if data else None
            kind = self.headers.get("Content-Type") or ""
            self._send(api.reply(Request(self.command, parts.path, dict(parse_qsl(parts.query)), body, kind)))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - the names that http.server looks for

        def _send(self, found: Answer) -> None:
            text = found.body if isinstance(found.body, str) else "" if found.body is None else json.dumps(found.body)
            data = b"".join(json.dumps(line).encode() + b"\n" for line in found.lines) or text.encode()
            self.send_response(found.code)
            for name, value in found.headers.items():
                self.send_header(name, value)
            if found.lines:
                self.send_header("Connection", "close")
            else:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = self.close_connection or bool(found.lines)

        def address_string(self) -> str:
            return "local"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as http.server calls it
            """Nothing: what is asked is kept in `requests`."""

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True
        request_queue_size = 16

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Nothing: whoever has seen enough goes away in the middle, and a test reads what stands on stderr."""

    with Server(str(api.socket), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield api
        server.shutdown()
