"""What goes up, in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.journal import Journal
from agent.outbox import Outbox
from api.proto import agent_pb2 as wire
from resources.facts import Instance

pytestmark = pytest.mark.anyio


def an_instance(state: str) -> Instance:
    return Instance("u", "i", "primary", "node-a", 1, state, ports=("1/tcp",), job="b.primary.web")  # type: ignore[arg-type]


def said(outbox: Outbox) -> list[str | None]:
    return [up.WhichOneof("message") for up in outbox.take()]


async def test_output_goes_before_the_end_that_it_explains_and_reports_before_results(tmp_path: Path):
    outbox = Outbox(Journal(tmp_path / "journal"))
    outbox.result(wire.Result(effect_id="e"))
    await outbox.report(an_instance("exited"))
    outbox.tail(wire.LogTail(seq=1))
    assert (said(outbox), said(outbox)) == (["log_tail", "report", "result"], [])


async def test_a_new_connection_repeats_reports_and_forgets_what_only_the_old_one_waited_for(tmp_path: Path):
    outbox = Outbox(Journal(tmp_path / "journal"))
    for state in ("running", "ready"):
        await outbox.report(an_instance(state))
    said(outbox)
    outbox.result(wire.Result(effect_id="e"))
    outbox.tail(wire.LogTail(seq=1))
    outbox.rewind(1)
    assert [up.report.seq for up in outbox.take()] == [2]


async def test_a_report_names_the_effect_that_started_its_instance(tmp_path: Path):
    journal = Journal(tmp_path / "journal")
    journal.take("u:start/1/1", "start", "f", "i")
    outbox = Outbox(journal)
    await outbox.report(an_instance("running"))
    [up] = outbox.take()
    assert (up.report.effect_id, up.report.instance.state) == ("u:start/1/1", wire.RUNNING)
