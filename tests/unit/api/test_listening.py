"""Addresses to listen on: TLS wherever it leaves the machine, and what is no address."""

from __future__ import annotations

import pytest

from api.listening import AddressRefused, listener


@pytest.mark.parametrize(
    ("text", "host", "port", "tls"),
    [
        ("127.0.0.1:7077", "127.0.0.1", 7077, False),
        ("localhost:0", "localhost", 0, False),
        ("[::1]:7077", "::1", 7077, False),
        ("http://127.0.0.1:7077", "127.0.0.1", 7077, False),
        ("https://127.0.0.1:7443/", "127.0.0.1", 7443, True),
        ("tls://127.0.0.5:7443", "127.0.0.5", 7443, True),
        ("0.0.0.0:7443", "0.0.0.0", 7443, True),
        ("[::]:7443", "::", 7443, True),
        ("manager.example:7443", "manager.example", 7443, True),
    ],
)
def test_listeners_are_plain_on_loopback_alone(text, host, port, tls):
    assert tuple(listener(text)) == (host, port, tls)


@pytest.mark.req("B88")
@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "7077",
        "host",
        "host:",
        ":7077",
        "host:99999",
        "host:-1",
        "host:x",
        "::1:7",
        "http://x",
        "a/b:1",
        "[::1:7",
    ],
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(AddressRefused, match="is not HOST:PORT with a port of 1 to 65535"):
        listener(text)


def test_plain_http_does_not_leave_the_machine():
    with pytest.raises(AddressRefused, match="plain HTTP is spoken on loopback only"):
        listener("http://198.51.100.7:80")
