"""Ports are tried by binding them."""

from __future__ import annotations

import socket

import pytest

from agent.ports import taken

KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


@pytest.mark.req("F213")
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_port_in_use_is_taken_at_its_address_and_protocol_only(protocol: str):
    with socket.socket(socket.AF_INET, KINDS[protocol]) as holder:
        holder.bind(("127.0.0.31", 0))
        if protocol == "tcp":
            holder.listen()
        number = holder.getsockname()[1]
        other = {"tcp": "udp", "udp": "tcp"}[protocol]
        assert taken((f"{number}/{protocol}",), "127.0.0.31") == (
            f"{number}/{protocol} at 127.0.0.31: Address already in use"
        )
        assert taken((f"{number}/{other}",), "127.0.0.31") is None
        assert taken((f"{number}/{protocol}",), "127.0.0.32") is None
    assert taken((f"{number}/{protocol}",), "127.0.0.31") is None


def test_an_address_that_is_not_this_machines_is_said_so():
    assert taken(("8101/tcp",), "192.0.2.1") == "8101/tcp at 192.0.2.1: Cannot assign requested address"


def test_a_job_without_ports_needs_none():
    assert taken((), "127.0.0.31") is None
