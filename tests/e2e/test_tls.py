"""TLS with the server's own CA, for people and for agents, and everything that must not pass for it."""

from __future__ import annotations

import datetime as dt
import http.client
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from grpc import aio

from agent.connection import target
from agent.errors import JoinRefused, SettingsRefused
from agent.trust import SERVER_NAME, Trust, shown_by
from api.authority import Authority
from tests.cli_runs import Ran
from tests.fleet import COMMAND, Fleet, a_fleet

PATH = "/apis/rmctl/v1/bundles"


class Doors:
    """A server with every kind of listener, and its ports."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        fleet.server("--http", "https://127.0.0.1:0", "--http", "127.0.0.1:0", "--agents", "tls://127.0.0.1:0")
        listeners = fleet.rmctl("server", "status", "-o", "jsonpath={.listeners[1]} {.listeners[2]} {.agents[1]}").out
        self.secure, self.plain, self.agents = (int(one.rpartition(":")[2]) for one in listeners.split())
        self.tls = fleet.folder / "tls"

    def context(self, certificate: Path | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.tls / "ca.pem"))
        if certificate is not None:
            context.load_cert_chain(certificate)
        return context

    def get(self, certificate: Path | None = None, **headers: str) -> int:
        """The code of an answer. Raises OSError when the handshake is refused."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.secure, timeout=30, context=self.context(certificate)
        )
        try:
            connection.request("GET", PATH, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def rmctl(self, server: str, *words: str, **more: str) -> Ran:
        environment = {**self.fleet.environment, "RMCTL_AUTHORITY": str(self.tls / "ca.pem"), **more}
        ran = subprocess.run(
            [*COMMAND, "--server", server, *words], env=environment, capture_output=True, text=True, check=False
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def doors() -> Iterator[Doors]:
    with a_fleet() as fleet:
        yield Doors(fleet)


class Signer:
    """Makes the certificates that nobody should take."""

    def __init__(self, pem: bytes) -> None:
        self.key: Any = serialization.load_pem_private_key(pem, None)
        self.certificate = x509.load_pem_x509_certificate(pem)

    def sign(
        self,
        folder: Path,
        *,
        begins: float = -1,
        ends: float = 1,
        use: x509.ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
    ) -> Path:
        """A certificate for `ben`, with its key; days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = dt.datetime.now(dt.UTC)
        built = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ben")]))
            .issuer_name(self.certificate.subject)
            .serial_number(x509.random_serial_number())
            .public_key(key.public_key())
            .not_valid_before(now + dt.timedelta(days=begins))
            .not_valid_after(now + dt.timedelta(days=ends))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        path = folder / "shown.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + built.public_bytes(serialization.Encoding.PEM)
        )
        return path


def issued(doors: Doors, folder: Path, name: str, role: str) -> Path:
    path = folder / f"{name}.pem"
    made = doors.fleet.rmctl("config", "certificate", name, "--role", role, "--to", str(path))
    assert made.code == 0, made.err
    return path


def a_wrong_certificate(what: str, doors: Doors, folder: Path) -> Path:
    own = Signer((doors.tls / "authority.pem").read_bytes())
    match what:
        case "another CA, same name":
            other = Authority(folder / "other", ())
            return Signer((folder / "other" / "authority.pem").read_bytes()).sign(folder) if other.pem else folder
        case "expired":
            return own.sign(folder, begins=-9, ends=-1)
        case "not yet valid":
            return own.sign(folder, begins=1, ends=9)
        case "for servers":
            return own.sign(folder, use=ExtendedKeyUsageOID.SERVER_AUTH)
        case "the server's own":
            return doors.tls / "server.pem"
        case _:
            leaf = issued(doors, folder, "leaf", "viewer")
            return Signer(leaf.read_bytes()).sign(folder)


@pytest.mark.req("B98")
@pytest.mark.parametrize(
    "what",
    ["another CA, same name", "expired", "not yet valid", "for servers", "the server's own", "signed by a client's"],
)
def test_certificates_that_are_none_of_ours_are_refused_in_the_handshake(doors, tmp_path, what):
    certificate = a_wrong_certificate(what, doors, tmp_path)
    with pytest.raises(OSError, match=r"alert|reset|closed|EOF|Broken"):
        doors.get(certificate)
    assert doors.get() == 401  # it lives, and lets nobody in without anything to show


def test_a_certificate_is_looked_up_for_every_call(doors, tmp_path):
    """One that this CA has signed and that nobody was given says nothing; a revoked one too."""
    own = Signer((doors.tls / "authority.pem").read_bytes())
    assert doors.get(own.sign(tmp_path)) == 401
    certificate = issued(doors, tmp_path, "ben", "viewer")
    assert doors.get(certificate) == 200
    refused = doors.rmctl(
        f"https://127.0.0.1:{doors.secure}", "delete", "pool/default", RMCTL_CERTIFICATE=str(certificate)
    )
    assert (refused.code, refused.err) == (
        3,
        'rmctl: error: (Forbidden) viewer "ben" may not delete pools: that takes the role operator\n',
    )
    assert doors.fleet.rmctl("config", "revoke", "ben").code == 0
    assert doors.get(certificate) == 401


def test_a_token_opens_the_listener_with_tls(doors):
    token = doors.fleet.rmctl("config", "token", "ana", "--role", "viewer").out.strip()
    assert doors.get(Authorization=f"Bearer {token}") == 200
    seen = doors.rmctl(f"https://127.0.0.1:{doors.secure}", "get", "pools", RMCTL_TOKEN=token)
    assert (seen.code, "pool/default" in seen.out) == (0, True)
    unknown = doors.rmctl(f"https://127.0.0.1:{doors.secure}", "get", "pools", RMCTL_TOKEN=token, RMCTL_AUTHORITY="")
    assert (unknown.code, "the server's certificate is not trusted: " in unknown.err) == (4, True)
    assert "no server answers" not in unknown.err
    assert "hint: name its CA with RMCTL_AUTHORITY" in unknown.err


@pytest.mark.req("B103")
def test_plain_clients_and_tls_clients_at_each_others_doors(doors):
    def told(server: str) -> tuple[int, str]:
        ran = doors.rmctl(server, "get", "pools")
        return ran.code, ran.err

    for port in (doors.secure, doors.agents):
        address = f"http://127.0.0.1:{port}"
        assert told(address) == (4, f"rmctl: error: {address}: the server expects TLS\n")
    address = f"https://127.0.0.1:{doors.plain}"
    assert told(address) == (4, f"rmctl: error: {address}: the server speaks plain HTTP\n")
    assert (doors.get(), doors.fleet.rmctl("get", "pools").code) == (401, 0)


def test_an_agent_joins_over_tls_and_keeps_what_it_trusts(doors):
    fleet = doors.fleet
    agent = fleet.agent("node-t", "--capacity", "2", "--server", f"tls://127.0.0.1:{doors.agents}")
    assert agent.line.startswith("rmctl agent ready   node-t")
    assert (fleet.folder / "agents" / "node-t" / "ca.pem").read_bytes() == (doors.tls / "ca.pem").read_bytes()
    assert fleet.rmctl("wait", "node/node-t", "--for=Ready", "--timeout", "60s").code == 0
    agent.popen.terminate()
    agent.popen.wait()
    line = [*COMMAND, "agent", "--node", "node-t", "--server", f"tls://127.0.0.1:{doors.agents}"]
    with subprocess.Popen(line, env=fleet.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as again:
        assert again.stdout is not None
        assert again.stdout.readline().startswith(b"rmctl agent ready   node-t")  # without a token, by what it kept
        again.terminate()


def test_an_agent_turns_away_from_a_server_that_its_token_does_not_name(doors, tmp_path):
    secret = doors.fleet.rmctl("node", "token", "node-u").out.strip().partition(".")[0]
    line = [
        *COMMAND,
        "agent",
        "--node",
        "node-u",
        "--data",
        str(tmp_path),
        "--server",
        f"tls://127.0.0.1:{doors.agents}",
    ]
    environment = {**doors.fleet.environment, "RM_JOIN_TOKEN": f"{secret}.{'0' * 64}"}
    ran = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert ran.stderr.splitlines()[-1] == (
        f"rmctl: error: 127.0.0.1:{doors.agents} is not the server that issued the join token: its CA is another one"
    )


@pytest.mark.anyio
async def test_an_impostor_hears_nothing_from_an_agent(tmp_path):
    """Another CA, the same name in the certificate: the agent's stream never begins."""
    ours, theirs = Authority(tmp_path / "ours", ()), Authority(tmp_path / "theirs", ())
    heard: list[object] = []

    class Listening(grpc.GenericRpcHandler):
        def service(self, handler_call_details: object) -> None:
            heard.append(handler_call_details)

    server = aio.server()
    server.add_generic_rpc_handlers((Listening(),))
    port = server.add_secure_port("127.0.0.1:0", theirs.grpc_credentials())
    await server.start()
    try:
        (tmp_path / "ca.pem").write_bytes(ours.pem)
        credentials = Trust(tmp_path / "ca.pem", ours.digest).credentials("127.0.0.1", port)
        options = (("grpc.ssl_target_name_override", SERVER_NAME),)
        async with aio.secure_channel(f"127.0.0.1:{port}", credentials, options=options) as channel:
            with pytest.raises(aio.AioRpcError) as refused:
                await channel.unary_unary("/rmctl.agent.v1.Agents/Session")(b"secret")
        assert (refused.value.code(), heard) == (grpc.StatusCode.UNAVAILABLE, [])
        with pytest.raises(JoinRefused):
            await anyio.to_thread.run_sync(Trust(tmp_path / "new.pem", ours.digest).credentials, "127.0.0.1", port)
        assert len(await anyio.to_thread.run_sync(shown_by, "127.0.0.1", port)) == 2
    finally:
        await server.stop(None)


def test_without_a_digest_another_machine_is_not_trusted(tmp_path):
    with pytest.raises(SettingsRefused, match="a join token that names its CA is needed once"):
        Trust(tmp_path / "ca.pem", "").credentials("198.51.100.7", 7443)


@pytest.mark.parametrize(
    ("address", "dialled"),
    [
        ("unix:/run/a.sock", ("unix:/run/a.sock", "", 0)),
        ("127.0.0.1:1", ("127.0.0.1:1", "", 0)),
        ("tls://127.0.0.1:1", ("127.0.0.1:1", "127.0.0.1", 1)),
        ("198.51.100.7:7443", ("198.51.100.7:7443", "198.51.100.7", 7443)),
        ("[2001:db8::1]:7443", ("[2001:db8::1]:7443", "2001:db8::1", 7443)),
        ("manager.example:7443", ("manager.example:7443", "manager.example", 7443)),
    ],
)
def test_agents_speak_tls_wherever_it_leaves_the_machine(address, dialled):
    assert tuple(target(address)) == dialled


def test_a_certificate_that_ends_soon_or_lacks_a_name_is_made_again(tmp_path):
    first = Authority(tmp_path, ("127.0.0.1",))
    before = (tmp_path / "server.pem").read_bytes()
    assert (first.renew(), (tmp_path / "server.pem").read_bytes()) == (False, before)
    again = Authority(tmp_path, ("127.0.0.1", "manager.example"))
    named = (tmp_path / "server.pem").read_bytes()
    assert (again.digest, named != before) == (first.digest, True)
    Authority(tmp_path, ("127.0.0.1", "manager.example"), renew_days=400)
    assert (tmp_path / "server.pem").read_bytes() != named
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
