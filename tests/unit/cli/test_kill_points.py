"""Where a server kills itself for tests, and how its settings say so."""

from __future__ import annotations

import pytest

from cli.kill_points import POINTS, KillPoint
from cli.settings import read
from resources.validation import Invalid
from store.notes import Answered, EffectDue

DUE = EffectDue("agents", 0.0)


def ends(text: str, *notes: object) -> int:
    """How often a point that is set so ends the process that commits these."""
    calls: list[None] = []
    KillPoint(text, lambda: calls.append(None)).told(notes)
    return len(calls)


def test_only_the_named_point_ends_the_process_and_only_once() -> None:
    assert ends("after-intent", Answered("StartJob", "applied", ""), DUE, DUE) == 1
    assert ends("after-receipt", DUE) == 0
    assert ends("", DUE) == 0


def test_a_later_visit_can_be_meant() -> None:
    assert ends("after-intent:3", DUE, DUE) == 0
    assert ends("after-intent:3", DUE, DUE, DUE) == 1


@pytest.mark.parametrize("point", POINTS)
def test_every_point_can_be_set_by_a_variable(point: str) -> None:
    assert read({"data": "/x"}, environment={"RM_SERVER_KILLAT": f"{point}:2"}).kill_at == f"{point}:2"


@pytest.mark.parametrize("text", ["nowhere", "after-apply:0", "after-apply:x", "in-schema"])
def test_a_point_that_there_is_not_keeps_the_server_from_starting(text: str) -> None:
    with pytest.raises(Invalid, match="killAt"):
        read({"data": "/x"}, environment={"RM_SERVER_KILLAT": text})


def test_cadences_come_from_variables_and_beside_those_of_the_file(tmp_path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[cadence]\nkeepDays = 7\nheartbeatSeconds = 3\n")
    environment = {"RM_SERVER_CADENCE_HEARTBEATSECONDS": "0.5", "RM_SERVER_CADENCE_UPKEEPSECONDS": "2"}
    found = read({"data": "/x"}, config=file, environment=environment).cadence
    assert (found.keep_days, found.heartbeat_seconds, found.upkeep_seconds) == (7, 0.5, 2)
