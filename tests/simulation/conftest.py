"""A simulated run logs nothing: thousands of passes a second would drown what a failing test has to say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from tests.simulation.quiet import log_nothing


@pytest.fixture(autouse=True)
def _no_logs() -> Iterator[None]:
    before = structlog.get_config()
    log_nothing()
    yield
    structlog.configure(**before)
