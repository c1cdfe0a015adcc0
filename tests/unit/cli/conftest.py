"""rmctl in this process, against a server made for the test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.contexts import ENVIRONMENT
from cli.main import main
from tests.cli_runs import Ran, Rmctl
from tests.fake_api import FakeApi, serving


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of whoever runs the tests is read."""
    for name in ("RMCTL_SERVER", "RM_DATA", "RM_AGENTS", "RM_JOIN_TOKEN", *ENVIRONMENT.values()):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RMCTL_CONFIG", str(tmp_path / "no-contexts.toml"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """On a short path: a socket's name has 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="rmctl-") as folder, serving(Path(folder)) as found:
        yield found


@pytest.fixture
def rmctl(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> Rmctl:
    """`rmctl("get", "jobs")` against the fake server."""

    def run(*words: str) -> Ran:
        code = main(["--server", api.address, *words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
