"""The HTTP application on a real store, served by uvicorn on a unix socket and, when asked, on loopback."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from api.http.app import build
from api.http.protocol import PeerProtocol
from api.http.services import Caller, ServerInfo, Services
from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import resources
from store.store import Store
from tests.builders import a_bundle, a_pool

API = "/apis/rmctl/v1"
TOKEN = "a-token-of-the-tests"


class Served:
    """What a test holds: the client, the store behind it, and the addresses."""

    def __init__(self, store: Store, client: httpx.Client, app: Any, port: int) -> None:
        self.store = store
        self.client = client
        self.app = app
        self.port = port
        self.stopped = threading.Event()

    def put_pool(self, name: str = "local") -> None:
        self.store.write(lambda tx: resources.create(tx, Ref("pool", name), a_pool()))

    def apply(self, *documents: dict[str, Any], **options: Any) -> httpx.Response:
        return self.client.post(f"{API}/batch", json={"documents": documents, "fieldManager": "rmctl", **options})

    def get(self, path: str, **query: Any) -> Any:
        """The JSON at a path below the API's root; the answer must be 200."""
        answer = self.client.get(f"{API}/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def patch(self, path: str, body: Any, media: str = "merge-patch+json", **query: Any) -> httpx.Response:
        headers = {"Content-Type": f"application/{media}"}
        return self.client.patch(f"{API}/{path}", content=json.dumps(body), headers=headers, params=query)

    @contextmanager
    def watch(self, path: str, **query: Any) -> Iterator[Iterator[dict[str, Any]]]:
        """Lines of a watch as they come."""
        with self.client.stream("GET", f"{API}/{path}", params={"watch": "1", **query}) as answer:
            assert answer.status_code == 200, answer.read()
            yield (json.loads(line) for line in answer.iter_lines())


class _Quiet(uvicorn.Server):
    """Signals stay with the test runner."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def serving(**services: Any) -> Iterator[Served]:
    """A server for one test; everything it holds is given up at the end."""
    with tempfile.TemporaryDirectory(prefix="rm") as name:
        folder = Path(name)
        environment = Threads()
        store = Store.open(folder / "data", environment, synchronous="OFF")
        stopped = threading.Event()
        app = build(
            Services(
                **{
                    "store": store,
                    "now": time.time,
                    "server": ServerInfo("0.1.0", os.getpid(), str(folder), time.time()),
                    "stop": stopped.set,
                    "token": environment.token,
                    "tokens": {TOKEN: Caller("tester")},
                    **services,
                }
            )
        )
        sockets = [_unix(folder / "rmctl.sock"), _loopback()]
        server = _Quiet(
            uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=5, http=PeerProtocol)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": sockets}, daemon=True)
        thread.start()
        transport = httpx.HTTPTransport(uds=str(folder / "rmctl.sock"), verify=False)  # reads no certificates
        try:
            with httpx.Client(transport=transport, base_url="http://rmctl", timeout=30) as client:
                served = Served(store, client, app, sockets[1].getsockname()[1])
                served.stopped = stopped
                yield served
        finally:
            app.state.hub.close()
            server.should_exit = True
            thread.join()
            store.close()


def a_document(kind: str = "bundle", name: str = "ch-1", spec: Any = None, **metadata: Any) -> dict[str, Any]:
    """A manifest; a bundle of one job unless the test says otherwise."""
    spec = (a_bundle() if kind == "bundle" else a_pool()) if spec is None else spec
    return {"apiVersion": "rmctl/v1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _unix(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    finally:
        os.umask(before)
    made.listen(64)
    return made


def _loopback() -> socket.socket:
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    made.listen(64)
    return made
