"""Where an agent may dial, and what it takes for a token."""

from __future__ import annotations

import pytest

from agent.connection import Target, target
from agent.credential import Token, keep, parse_token
from agent.errors import SettingsRefused

DIGEST = "0f" * 32


@pytest.mark.parametrize(
    ("address", "dialled"),
    [
        ("unix:/run/agents.sock", Target("unix:/run/agents.sock")),
        ("unix:///run/agents.sock", Target("unix:/run/agents.sock")),
        ("127.0.0.1:7071", Target("127.0.0.1:7071")),
        ("[::1]:7071", Target("[::1]:7071")),
        ("localhost:7071", Target("localhost:7071")),
        ("10.0.0.1:7071", Target("10.0.0.1:7071", "10.0.0.1", 7071)),
        ("[fd00::1]:7071", Target("[fd00::1]:7071", "fd00::1", 7071)),
        ("127.0.0.1.example.org:1", Target("127.0.0.1.example.org:1", "127.0.0.1.example.org", 1)),
        ("tls://127.0.0.1:7071", Target("127.0.0.1:7071", "127.0.0.1", 7071)),
    ],
)
def test_off_this_machine_and_where_it_is_asked_for_a_server_is_dialled_over_tls(address: str, dialled: Target):
    """A host in the target says so."""
    assert target(address) == dialled


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("unix:/" + "x" * 119, "socket path is 120 bytes, limit 107"),
        ("host:99999", "neither unix:/path nor HOST:PORT"),
        (":", "neither unix:/path nor HOST:PORT"),
        ("http://x", "neither unix:/path nor HOST:PORT"),
    ],
)
def test_other_addresses_are_refused(address: str, words: str):
    with pytest.raises(SettingsRefused, match=words):
        target(address)


def test_a_token_may_carry_the_digest_of_a_ca():
    assert (parse_token("a" * 43), parse_token(f"{'a' * 43}.{DIGEST}\n")) == (
        Token("a" * 43, ""),
        Token("a" * 43, DIGEST),
    )


@pytest.mark.parametrize("text", ["", "short", "with space" * 3, f"{'a' * 43}.abc", f"{'a' * 43}.{DIGEST}.x"])
def test_what_is_no_token_is_refused_and_not_repeated(text: str):
    with pytest.raises(SettingsRefused) as refusal:
        parse_token(text)
    assert str(refusal.value) == "the join token is not one that `rmctl node token` prints"


def test_the_credential_is_made_once_and_only_its_owner_reads_it(tmp_path):
    path = tmp_path / "credential"
    made = keep(path)
    assert (keep(path), len(made) >= 43, path.stat().st_mode & 0o777) == (made, True, 0o600)
