"""What every test may ask for: the backend of async tests, and golden files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.whole import WHOLE, turn

settings.register_profile("rmctl", deadline=None)
settings.load_profile("rmctl")
GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="accept what tests print as the new golden files")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of long cases that resemble each other one a run; what is asked for by its name is run."""
    if WHOLE or any("::" in word for word in config.args):
        return
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("one_of")
        if mark is not None:
            groups.setdefault(mark.args[0], []).append(item)
    left = [one for group in groups.values() for one in group if one is not group[turn() % len(group)]]
    if left:
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=left)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("placement/no-fit.txt", text)`: the text is what that file below tests/golden holds."""
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden file {name}: ./dev golden writes it"
        assert text == path.read_text(encoding="utf-8")

    return compare
