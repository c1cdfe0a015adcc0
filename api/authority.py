"""The server's own certificate authority: made in a folder of its own, it signs the server and people who ask."""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
import os
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import grpc
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER_NAME = "server.rmctl"
"""Stands in every server certificate, so that agents know it under any address."""
AUTHORITY_DAYS = 3650
SERVER_DAYS = 365
RENEW_DAYS = 30
BACKDATED = dt.timedelta(hours=1)
"""For machines whose clock is a little behind."""


class Signed(NamedTuple):
    """A key and its certificate, as PEM; `der` is the certificate alone."""

    key: bytes
    certificate: bytes
    der: bytes


class Authority:
    """Opened once a server; `renew` may be called as often as one likes."""

    def __init__(self, folder: Path, names: Sequence[str], *, renew_days: float = RENEW_DAYS) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._renew_days = renew_days
        self._names = tuple(dict.fromkeys((SERVER_NAME, *names)))
        own = folder / "authority.pem"
        if not own.exists():
            _replace(own, b"".join(_authority()))
        text = own.read_bytes()
        self._key = serialization.load_pem_private_key(text, None)
        self._certificate = x509.load_pem_x509_certificate(text)
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM)
        self.digest = hashlib.sha256(self._certificate.public_bytes(serialization.Encoding.DER)).hexdigest()
        _replace(folder / "ca.pem", self.pem)
        self._contexts: list[ssl.SSLContext] = []
        self.renew()

    def renew(self) -> bool:
        """A new server certificate when there is none for these names, or it ends soon. True when one was made."""
        path = self._folder / "server.pem"
        made = not self._serves(path)
        if made:
            signed = self._signed(SERVER_NAME, _names(self._names), ExtendedKeyUsageOID.SERVER_AUTH, SERVER_DAYS)
            _replace(path, signed.key + signed.certificate + self.pem)
        for context in self._contexts if made else ():
            context.load_cert_chain(path)
        return made

    def context(self) -> ssl.SSLContext:
        """For HTTP: client certificates of this authority are read, and none is needed."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self._folder / "server.pem")
        context.load_verify_locations(self._folder / "ca.pem")
        context.verify_mode = ssl.CERT_OPTIONAL
        self._contexts.append(context)
        return context

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """For agents, who show a credential and no certificate. A renewed certificate is used without a restart."""
        return grpc.dynamic_ssl_server_credentials(self._configuration(), self._configuration)

    def certify(self, name: str, role: str, seconds: float) -> Signed:
        """A client certificate. What its holder may do is looked up for each call, not read from it."""
        uri = x509.UniformResourceIdentifier(f"spiffe://rmctl/user/{name}/{role}")
        return self._signed(name, [uri], ExtendedKeyUsageOID.CLIENT_AUTH, seconds / 86400)

    def _configuration(self) -> grpc.ServerCertificateConfiguration:
        text = (self._folder / "server.pem").read_bytes()
        key, _, chain = text.partition(b"-----BEGIN CERTIFICATE-----")
        return grpc.ssl_server_certificate_configuration([(key, b"-----BEGIN CERTIFICATE-----" + chain)])

    def _serves(self, path: Path) -> bool:
        """Whether the certificate there is of this authority, for these names, and lasts."""
        try:
            found = x509.load_pem_x509_certificate(path.read_bytes())
            named = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            found.verify_directly_issued_by(self._certificate)
        except (OSError, ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            return False
        lasts = found.not_valid_after_utc - _now() > dt.timedelta(days=self._renew_days)
        return lasts and set(_names(self._names)) <= set(named)

    def _signed(
        self, common: str, names: Sequence[x509.GeneralName], use: x509.ObjectIdentifier, days: float
    ) -> Signed:
        key = ec.generate_private_key(ec.SECP256R1())
        assert isinstance(self._key, ec.EllipticCurvePrivateKey)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        built = (
            _begun(common, days, key)
            .issuer_name(self._certificate.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(issuer, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return Signed(
            _pem(key),
            built.public_bytes(serialization.Encoding.PEM),
            built.public_bytes(serialization.Encoding.DER),
        )


def _authority() -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = f"rmctl authority {os.urandom(4).hex()}"
    built = (
        _begun(name, AUTHORITY_DAYS, key)
        .issuer_name(_named(name))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pem(key), built.public_bytes(serialization.Encoding.PEM)


def _begun(common: str, days: float, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = _now()
    return (
        x509.CertificateBuilder()
        .subject_name(_named(common))
        .serial_number(x509.random_serial_number())
        .public_key(key.public_key())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _named(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _names(names: Sequence[str]) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return found


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _replace(path: Path, content: bytes) -> None:
    """Whole or not at all, and read by nobody else."""
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
