"""The placer is a library of its own: nothing of a server comes with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.tree import ROOT

LOADED = (
    "import sys, placement.explain, placement.gang; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
)


@pytest.mark.req("P5", "P19")
def test_it_loads_neither_the_api_nor_the_store_nor_what_asks_who_is_calling() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) & {"api", "store", "controllers", "cli", "agent", "sqlalchemy", "grpc"} == set()
