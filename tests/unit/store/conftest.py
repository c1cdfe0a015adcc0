"""A store on a file of its own, and the clock that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.store import Store
from tests.clocked import Clocked


@pytest.fixture
def clock() -> Clocked:
    return Clocked()


@pytest.fixture
def store(tmp_path: Path, clock: Clocked) -> Iterator[Store]:
    opened = Store.open(tmp_path / "data", clock)
    yield opened
    opened.close()
