"""Who is told of a token: the forge that it is for, over real HTTP, and no other host."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from controllers.providers.git_worktrees import Login, beside, make
from resources.effect import Applied, Rejected
from tests.git_site import Site, git

REF = "refs/pull/12/head"
KNOWN = "Basic " + base64.b64encode(b"x-access-token:sentinel-credential").decode()


class Asked(SimpleHTTPRequestHandler):
    """Files for those who say who they are."""

    heard: list[str | None]

    def do_GET(self) -> None:
        self.heard.append(self.headers.get("Authorization"))
        if self.heard[-1] == KNOWN:
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="forge"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return None


class Serving:
    """A repository on loopback. `site` is what a login is good for."""

    def __init__(self, folder: Path) -> None:
        self.repository = Site(folder)
        self.head = self.repository.push(12, "first")
        git(self.repository.origin, "update-server-info")
        self.heard: list[str | None] = []
        handler = type("Heard", (Asked,), {"heard": self.heard})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
        self.site = f"http://127.0.0.1:{self._server.server_port}"
        git(self.repository.clone, "remote", "set-url", "origin", f"{self.site}/origin.git")
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def fetch(self, login: Login | None) -> Applied | Rejected:
        clone = str(self.repository.clone)
        return make(clone, beside(clone, "one"), self.head, ref=REF, login=login)

    def end(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    made = Serving(tmp_path)
    yield made
    made.end()


@pytest.mark.req("T57")
def test_the_forge_is_told_the_token_and_no_file_is(serving: Serving, tmp_path: Path) -> None:
    told = serving.fetch(Login(serving.site, "sentinel-credential"))
    assert isinstance(told, Applied), told
    assert set(serving.heard) == {KNOWN}
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(word in text for text in written for word in (b"sentinel-credential", KNOWN.encode()))


@pytest.mark.parametrize("site", ["https://github.com", "http://127.0.0.1", None])
def test_nobody_else_is_and_nobody_is_asked(serving: Serving, site: str | None) -> None:
    told = serving.fetch(None if site is None else Login(site, "sentinel-credential"))
    assert isinstance(told, Rejected)
    assert (told.code, "terminal prompts disabled" in told.error) == ("CannotFetch", True)
    assert set(serving.heard) == {None}


def test_a_token_in_the_clone_gives_way(serving: Serving) -> None:
    """Two headers would be refused."""
    git(serving.repository.clone, "config", f"http.{serving.site}/.extraHeader", "Authorization: Basic other")
    assert isinstance(serving.fetch(Login(serving.site, "sentinel-credential")), Applied)
    assert set(serving.heard) == {KNOWN}
