"""How the end of a process is called, wherever it is told."""

from __future__ import annotations

import pytest

from resources.exits import signal_name


@pytest.mark.parametrize(
    ("number", "name"), [(9, "SIGKILL"), (15, "SIGTERM"), ("9", "SIGKILL"), (99, "signal 99"), ("odd", "signal odd")]
)
def test_a_signal_is_told_by_its_name(number: object, name: str) -> None:
    assert signal_name(number) == name
