"""What one has to know of DBOS to build on it: each of its surprises met by a real worker, and taken care of."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import delete, update

from cli import settings
from controllers.definitions import dbos_carrier
from controllers.definitions.dbos_carrier import LOST, DbosCarrier
from controllers.definitions.loading import Unusable
from resources.reference import Ref
from resources.validation import Invalid
from resources.workflow_run import Request
from store import backups, holds, restoring, workflow_runs, workflow_steps
from store.run_tables import workflow_runs as table
from tests.architecture.tree import ROOT
from tests.definition_house import House, a_house, at_work, gone
from tests.e2e.test_workflow_engine import asked, put, run, seen

STEPS = """
@workflow("build")
def build(ctx, given):
    a = ctx.step("a", lambda: note(given["folder"], "a"))
    parent = ctx.step("parent", os.getppid)
    return [a, parent]
"""
ASKS = """
@workflow("build")
def build(ctx, given):
    a = ctx.step("a", lambda: note(given["folder"], "a"))
    return [a, ctx.checkpoint("asked")]
"""
WAITS = """
@workflow("build")
def build(ctx, given):
    folder = Path(given["folder"])
    ctx.step("a", lambda: note(folder, "a"))
    def wait():
        (folder / "pid").write_text(str(os.getpid()))
        while not (folder / "go").exists():
            time.sleep(0.01)
        return note(folder, "b")
    return ctx.step("b", wait)
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path, engine="dbos") as opened:
        opened.put("site")
        yield opened


def carrier(house: House) -> DbosCarrier:
    found = house.host.engine._carrier
    assert isinstance(found, DbosCarrier)
    return found


def worker(house: House) -> dbos_carrier.Worker:
    found = carrier(house)._worker
    assert found is not None
    return found


def end_worker(house: House) -> None:
    worker(house).process.end()


def held(house: House, asked_for: str) -> list[tuple[Any, ...]]:
    """Rows of the file of DBOS."""
    with closing(sqlite3.connect(house.folder / "data" / "workflows.db")) as file, file:
        return file.execute(asked_for).fetchall()


def statuses(house: House) -> dict[str, str]:
    return dict(held(house, "SELECT workflow_uuid, status FROM workflow_status"))


def set_back(house: House, run_id: str, **values: Any) -> None:
    """As a store that has not heard how the run ended."""
    put_back = {"state": "pending", "result": None, "completed_at": None, **values}
    house.store.write(lambda tx: tx.write(update(table).where(table.c.run_id == run_id).values(**put_back)))


@pytest.mark.req("T41")
def test_another_input_under_the_same_id_is_not_attached_to(house: House) -> None:
    put(house, STEPS)
    run_id = asked(house)
    house.host.engine.run(run_id)
    set_back(house, run_id, input=json.dumps({"folder": "/elsewhere"}))
    house.host.engine.run(run_id)
    found = run(house, run_id)
    assert (found.state, found.error) == ("interrupted", "DBOS holds another input under this id")
    next_one = asked_again(house, key="k")
    house.host.engine.run(next_one)
    assert (run(house, next_one).state, run(house, next_one).waits_for) == ("waiting", LOST)
    assert seen(house) == ["a"]


@pytest.mark.req("T43", "T45")
def test_a_run_that_dbos_holds_for_failed_is_followed_by_an_attempt_behind_its_steps(house: House) -> None:
    put(house, ASKS)
    run_id = asked(house)
    house.host.engine.run(run_id)
    end_worker(house)
    held(house, "UPDATE workflow_status SET status = 'ERROR'")
    house.store.write(lambda tx: workflow_steps.settle(tx, run(house, run_id), happened=True, result="yes"))
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, str(run(house, run_id).error)[:19]) == ("interrupted", "DBOS holds an error")
    next_one = asked_again(house, key="k")
    house.host.engine.run(next_one)
    assert (run(house, next_one).result, seen(house)) == (["A", "yes"], ["a"])


@pytest.mark.req("T44")
def test_an_end_that_the_store_never_heard_of_is_told_again(house: House) -> None:
    put(house, STEPS)
    run_id = asked(house)
    house.host.engine.run(run_id)
    result = run(house, run_id).result
    while statuses(house)[run_id] != "SUCCESS":
        pass
    set_back(house, run_id)
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).result, seen(house)) == ("succeeded", result, ["a"])


def test_everything_in_the_file_is_json(house: House) -> None:
    put(house, STEPS)
    run_id = asked(house)
    house.host.engine.run(run_id)
    while statuses(house)[run_id] != "SUCCESS":
        pass
    for column, place in (("output", "operation_outputs"), ("output", "workflow_output"), ("inputs", "workflow_input")):
        rows = held(house, f"SELECT {column} FROM {place}")  # noqa: S608  names of this test
        assert rows
        assert all(json.loads(text) is not None for (text,) in rows)
    assert held(house, "SELECT DISTINCT serialization FROM workflow_status") == [("portable_json",)]


def test_the_file_writes_ahead_and_is_its_owners_alone(house: House) -> None:
    put(house, STEPS)
    house.host.engine.run(asked(house))
    assert held(house, "PRAGMA journal_mode") == [("wal",)]
    found = sorted((house.folder / "data").glob("workflows.db*"))
    assert len(found) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}


@pytest.mark.req("T45")
def test_a_worker_that_is_told_to_end_in_mid_run_records_no_failure(house: House) -> None:
    put(house, WAITS)
    run_id = asked(house)
    thread, _ = at_work(house, run_id)
    end_worker(house)
    thread.join()
    assert statuses(house) == {run_id: "CANCELLED"}
    assert worker(house).process.ended().startswith("the runner exited with 0")
    (house.folder / "go").touch()
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).epoch, seen(house)) == ("succeeded", 2, ["a", "b"])


@pytest.mark.req("T45")
def test_a_dead_workers_runner_is_gone_before_the_next_one_works(house: House) -> None:
    put(house, WAITS)
    run_id = asked(house)
    thread, runner = at_work(house, run_id)
    os.kill(worker(house).process.pid, signal.SIGKILL)
    thread.join()
    assert statuses(house) == {run_id: "PENDING"}
    (house.folder / "go").touch()
    house.host.engine.run(run_id)
    assert gone(runner)
    assert (run(house, run_id).state, run(house, run_id).epoch) == ("succeeded", 2)


@pytest.mark.req("T45")
def test_a_worker_that_hangs_is_ended_and_followed_by_another(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    put(house, WAITS)
    run_id = asked(house)
    thread, runner = at_work(house, run_id)
    hung = worker(house).process.pid
    os.kill(hung, signal.SIGSTOP)
    monkeypatch.setattr(dbos_carrier, "PING_SECONDS", 0.05)
    thread.join()
    monkeypatch.undo()
    (house.folder / "go").touch()
    house.host.engine.run(run_id)
    assert gone(hung)
    assert gone(runner)
    assert (run(house, run_id).state, run(house, run_id).epoch) == ("succeeded", 2)


@pytest.mark.req("T45")
def test_a_run_goes_on_after_its_file_has_changed(house: House) -> None:
    """Its version is ours: DBOS would leave a run alone that another source has begun."""
    put(house, ASKS)
    run_id = asked(house)
    house.host.engine.run(run_id)
    put(house, ASKS.replace('ctx.checkpoint("asked")', 'ctx.checkpoint("asked"), "changed"'))
    end_worker(house)
    house.store.write(lambda tx: workflow_steps.settle(tx, run(house, run_id), happened=True, result="yes"))
    house.host.engine.run(run_id)
    assert (run(house, run_id).result, seen(house)) == (["A", "yes", "changed"], ["a"])
    assert held(house, "SELECT DISTINCT application_version FROM workflow_status") == [("1",)]


def test_a_waiting_run_holds_neither_a_thread_nor_a_process(house: House) -> None:
    put(house, ASKS)
    run_id = asked(house)
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).waits_for) == ("waiting", "asked")
    assert statuses(house) == {run_id: "CANCELLED"}


def test_all_runs_share_one_worker_that_speaks_to_nobody(house: House) -> None:
    put(house, STEPS)
    first, second = asked(house), None
    house.host.engine.run(first)
    parent = run(house, first).result[1]
    assert parent == worker(house).process.pid
    assert psutil.Process(parent).net_connections(kind="inet") == []
    second = asked_again(house)
    house.host.engine.run(second)
    assert run(house, second).result[1] == parent


def asked_again(house: House, key: str = "again") -> str:
    owner = house.get(Ref("site", "s", "default"))
    request = Request(key, "build", {"folder": str(house.folder)})
    return house.store.write(lambda tx: workflow_runs.ensure(tx, owner, request)).run_id


def test_the_server_never_loads_dbos() -> None:
    code = "import sys, cli.compose, cli.server; sys.exit('dbos' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == 0


@pytest.mark.req("T45")
def test_a_run_whose_steps_are_lost_with_the_file_waits_for_a_person(house: House) -> None:
    """As after a restore into an empty folder, since a backup holds the store alone."""
    put(house, ASKS)
    run_id = asked(house)
    house.host.engine.run(run_id)
    end_worker(house)
    for path in (house.folder / "data").glob("workflows.db*"):
        path.unlink()
    house.store.write(lambda tx: workflow_steps.settle(tx, run(house, run_id), happened=True, result="yes"))
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).waits_for, seen(house)) == ("waiting", LOST, ["a"])
    house.store.write(lambda tx: workflow_steps.settle(tx, run(house, run_id), happened=True))
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).result) == ("succeeded", ["A", "yes"])
    assert seen(house) == ["a", "a"]


@pytest.mark.req("T44", "T45")
def test_after_a_restore_in_place_nothing_is_done_again_that_is_in_the_file(house: House, tmp_path: Path) -> None:
    """The file is left where it is, and knows more than the store does then."""
    put(
        house,
        ASKS.replace(
            'ctx.checkpoint("asked")', 'ctx.checkpoint("asked"), ctx.step("c", lambda: note(given["folder"], "c"))'
        ),
    )
    run_id = asked(house)
    house.host.engine.run(run_id)
    backups.make(house.store.engine, tmp_path / "backup.db")
    house.store.write(lambda tx: workflow_steps.settle(tx, run(house, run_id), happened=True, result="yes"))
    house.host.engine.run(run_id)
    assert seen(house) == ["a", "c"]
    end_worker(house)
    house.store.close()
    data = house.folder / "data"
    restoring.restore(tmp_path / "backup.db", data, by="me", now=house.environment.now(), replace=True)
    with a_house(house.folder, engine="dbos") as restored:
        assert run(restored, run_id).state == "waiting"
        restored.store.write(holds.lift)
        restored.store.write(lambda tx: workflow_steps.settle(tx, run(restored, run_id), happened=True, result="yes"))
        restored.host.engine.run(run_id)
        assert (run(restored, run_id).result, seen(restored)) == (["A", "yes", "C"], ["a", "c"])


def test_what_the_store_has_forgotten_is_dropped_by_the_next_worker(house: House) -> None:
    put(house, STEPS)
    old = asked(house)
    house.host.engine.run(old)
    new = asked_again(house)
    house.store.write(lambda tx: tx.write(delete(table).where(table.c.run_id == old)))
    end_worker(house)
    house.host.engine.run(new)
    while old in statuses(house):
        pass
    assert new in statuses(house)


def test_a_run_says_why_its_worker_does_not_come_up(house: House) -> None:
    put(house, STEPS)
    run_id = asked(house)
    file = house.folder / "data" / "workflows.db"
    file.write_bytes(b"no database" * 1000)
    thread = threading.Thread(target=house.host.engine.run, args=(run_id,))
    thread.start()
    while not run(house, run_id).error:
        pass
    assert "file is not a database" in str(run(house, run_id).error)
    assert run(house, run_id).state == "pending"
    file.unlink()
    thread.join()
    assert (run(house, run_id).state, run(house, run_id).error) == ("succeeded", None)


def test_a_server_is_refused_the_engine_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {"data": "/x", "workflows": {"engine": "dbos", "workers": 3}}
    assert settings.read(flags, environment={}).workflows.workers == 3
    monkeypatch.setattr(settings, "find_spec", lambda _name: None)
    with pytest.raises(Invalid, match=r"settings\.workflows\.engine.*pip install 'rmctl\[workflows\]'"):
        settings.read(flags, environment={})


def test_without_dbos_a_run_is_told_what_is_missing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dbos_carrier, "find_spec", lambda _name: None)
    data = house.folder / "data"
    with pytest.raises(Unusable, match=r"rmctl\[workflows\]"):
        dbos_carrier.Worker(house.store, data / "workflows.db", house.host._pool.limits, data / "runners")
