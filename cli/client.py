"""The way to the server: HTTP over a unix socket or TCP, standard library alone; every failure is a CliError."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable, Generator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlencode

from cli import messages
from cli.address import Address
from cli.errors import Unreachable, UsageProblem
from cli.refusals import CONNECT_SECONDS, refusal, why_of
from cli.terminal import safe, warn
from resources.version import VERSION

Document = dict[str, Any]
ANSWER_SECONDS = 60.0
PATIENCE_SECONDS = 3600.0
"""For an answer that is worked out from the whole store."""
PART_BYTES = 1024 * 1024
TLS_RECORD = "\x15\x03"
VERSION_HEADER = "Rmctl-Version"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Access(NamedTuple):
    """What a server behind TCP asks for. `authority` and `certificate` are files, the latter with its key in it."""

    token: str | None = None
    authority: str | None = None
    certificate: str | None = None


class UnixConnection(HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path: str) -> None:
        super().__init__("rmctl")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECT_SECONDS)
        try:
            self.sock.connect(self.path)
        except OSError:
            self.close()
            raise


class Client:
    """One kept connection for questions with one answer; streams open their own."""

    def __init__(self, address: Address, access: Access = Access()) -> None:
        self.address = address
        self.access = access
        self._kept: HTTPConnection | None = None
        self.outcome = ""  # what the last answer says became of a write

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Document:
        return self.send("GET", path, query=query)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        patience: float = ANSWER_SECONDS,
    ) -> Document:
        """The JSON answer, which may take `patience` seconds. Raises ServerRefused or Unreachable."""
        response = self._exchange(method, _target(path, query), body, content_type, patience)
        data = self._body(response)
        found = self._json(data)
        if response.status >= 400:
            raise refusal(response.status, found)
        return found

    def text(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """A plain text answer."""
        return self.told(path, query)[0]

    def told(self, path: str, query: Mapping[str, str] | None = None) -> tuple[str, Mapping[str, str]]:
        """As `text`, and the headers of the answer, in lower case."""
        response = self._exchange("GET", _target(path, query), None, "application/json")
        data = self._body(response)
        if response.status >= 400:
            raise refusal(response.status, self._json(data))
        headers = {name.lower(): text for name, text in response.headers.items()}
        return data.decode("utf-8", "backslashreplace"), headers

    def download(self, path: str, file: BinaryIO) -> Mapping[str, str]:
        """POST; the body of the answer goes into the file. Returns its headers, in lower case."""
        response = self._exchange("POST", path, {}, "application/json", PATIENCE_SECONDS)
        if response.status >= 400:
            raise refusal(response.status, self._json(self._body(response)))
        while part := self._part(response):
            file.write(part)
        return {name.lower(): text for name, text in response.headers.items()}

    def stream(
        self, path: str, query: Mapping[str, str], *, left: Callable[[], float | None] = lambda: None
    ) -> Generator[bytes, None, None]:
        """The lines of an answer that goes on. `left` is asked before each for how many seconds it may take. Raises
        TimeoutError when they are over, Unreachable when the connection breaks; ends when the server ends it."""
        connection = self._connect()
        try:
            response = self._first(connection, "GET", _target(path, query), None, "application/json")
            if response.status >= 400:
                raise refusal(response.status, self._json(self._body(response)))
            with response:
                yield from self._stream_lines(connection, response, left)
        finally:
            connection.close()

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _stream_lines(
        self, connection: HTTPConnection, response: HTTPResponse, left: Callable[[], float | None]
    ) -> Generator[bytes, None, None]:
        while True:
            if connection.sock is not None:
                connection.sock.settimeout(left())
            try:
                line = response.readline()
            except TimeoutError:
                raise
            except (OSError, HTTPException) as error:
                raise self._lost(error) from None
            if not line:
                return
            yield line

    def _exchange(
        self, method: str, target: str, body: object, content_type: str, patience: float = ANSWER_SECONDS
    ) -> HTTPResponse:
        """On the kept connection; one that the server has closed meanwhile is opened again for a GET."""
        if patience > ANSWER_SECONDS:
            self.close()
        if self._kept is not None:
            try:
                return self._ask(self._kept, method, target, body, content_type)
            except _Stale as error:
                self.close()
                if method != "GET":
                    raise self._lost(error) from None
        self._kept = self._connect()
        if self._kept.sock is not None:
            self._kept.sock.settimeout(patience)
        return self._first(self._kept, method, target, body, content_type)

    def _first(
        self, connection: HTTPConnection, method: str, target: str, body: object, content_type: str
    ) -> HTTPResponse:
        """On a connection that was just made."""
        try:
            return self._ask(connection, method, target, body, content_type)
        except _Stale as error:
            self.close()
            if self.address.scheme == "http" and self._expects_tls():
                raise Unreachable(messages.NO_TLS.format(address=self.address)) from None
            raise self._lost(error) from None

    def _expects_tls(self) -> bool:
        """Whether what hung up on plain HTTP shakes hands; nothing is said to it, so nothing is verified."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2", "http/1.1"])
        try:
            with (
                socket.create_connection((self.address.host.strip("[]"), self.address.port), CONNECT_SECONDS) as plain,
                context.wrap_socket(plain),
            ):
                return True
        except OSError:
            return False

    def _lost(self, error: Exception) -> Unreachable:
        return Unreachable(messages.LOST.format(address=self.address, why=why_of(error)))

    def _connect(self) -> HTTPConnection:
        scheme, host, port = self.address
        connection: HTTPConnection
        if scheme == "unix":
            connection = UnixConnection(host)
        elif scheme == "https":
            context = self._trust()
            connection = HTTPSConnection(host.strip("[]"), port, timeout=CONNECT_SECONDS, context=context)
        else:
            connection = HTTPConnection(host.strip("[]"), port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            text = messages.NOT_TRUSTED.format(address=self.address, why=error.verify_message)
            raise Unreachable(text, hint=messages.AUTHORITY_HINT) from None
        except ssl.SSLError as error:
            text = messages.NOT_TLS.format(address=self.address) if "WRONG_VERSION" in str(error) else why_of(error)
            raise Unreachable(text) from None
        except OSError as error:
            why = messages.UNREACHABLE.format(address=self.address, why=why_of(error))
            raise Unreachable(why, hint=messages.START_HINT if self.address.is_local else "") from None
        if connection.sock is not None:
            connection.sock.settimeout(ANSWER_SECONDS)
        return connection

    def _trust(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.access.authority)
            if self.access.certificate:
                context.load_cert_chain(self.access.certificate)
        except (OSError, ssl.SSLError) as error:
            path = self.access.certificate or self.access.authority
            raise UsageProblem(messages.BAD_PEM.format(path=path, why=why_of(error))) from None
        return context

    def _ask(
        self, connection: HTTPConnection, method: str, target: str, body: object, content_type: str
    ) -> HTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": f"rmctl/{VERSION}"}
        data = None if body is None else json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
        if data is not None:
            headers["Content-Type"] = content_type
        if self.access.token:
            headers["Authorization"] = f"Bearer {self.access.token}"
        try:
            connection.request(method, target, data, headers)
            response = connection.getresponse()
        except (RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            raise _Stale(why_of(error)) from None
        except TimeoutError:
            raise Unreachable(
                messages.UNREACHABLE.format(address=self.address, why=f"no answer within {ANSWER_SECONDS:g} s")
            ) from None
        except HTTPException as error:
            raise self._stranger(error) from None
        except OSError as error:
            raise self._lost(error) from None
        self._check(response)
        return response

    def _stranger(self, error: HTTPException) -> Unreachable:
        if TLS_RECORD in str(error):
            return Unreachable(messages.NO_TLS.format(address=self.address))
        why = safe(str(error).strip())[:60] or type(error).__name__
        return Unreachable(messages.NOT_RMCTL.format(address=self.address, why=f"it does not speak HTTP ({why})"))

    def _check(self, response: HTTPResponse) -> None:
        """Warnings of the server go to stderr; a server of another major version is not spoken to."""
        for text in response.headers.get_all("Warning") or ():
            warn(text.partition('"')[2].rstrip('"').replace('\\"', '"') or text)
        self.outcome = response.headers.get("Rmctl-Outcome", "")
        server = response.headers.get(VERSION_HEADER)
        if server is not None and _line(server) != _line(VERSION):
            raise Unreachable(messages.SKEW.format(address=self.address, server=server, client=VERSION))

    def _body(self, response: HTTPResponse) -> bytes:
        try:
            return response.read()
        except (OSError, HTTPException) as error:
            raise self._lost(error) from None

    def _part(self, response: HTTPResponse) -> bytes:
        try:
            return response.read(PART_BYTES)
        except (OSError, HTTPException) as error:
            raise self._lost(error) from None

    def _json(self, data: bytes) -> Document:
        try:
            found = json.loads(data or b"{}")
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Unreachable(messages.NOT_RMCTL.format(address=self.address, why="the answer is no JSON object"))
        return found


class _Stale(Unreachable):
    """The server closed the connection before it answered; on a kept one that says nothing about the server."""


def _target(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _line(version: str) -> str:
    """The part of a version that must agree: the major, and below 1 the minor too."""
    major, _, rest = version.partition(".")
    return f"0.{rest.partition('.')[0]}" if major == "0" else major
