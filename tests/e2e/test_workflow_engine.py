"""Workflows in real processes: every step once on record, killed anywhere, gone on with, judged by a person."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.http.problems import Problem
from api.http.runs import forked as fork
from resources.reference import Ref
from resources.resource import Resource
from resources.workflow_run import Request, RunRecord
from store import holds, queue, resources, workflow_runs, workflow_steps
from tests.definition_house import House, a_house, at_work, gone
from tests.unit.store.test_full_disk import limit

HEAD = """
import os, signal, sys, threading, time
from pathlib import Path
from rmctl import workflow

def note(folder, text):
    with open(Path(folder, "seen"), "a") as file:
        file.write(text + "\\n")
    return text.upper()
"""
STEPS = """
@workflow("build")
def build(ctx, given):
    folder = given["folder"]
    a = ctx.step("a", lambda: note(folder, "a"))
    b = ctx.step("b", lambda: {body})
    c = ctx.step("c", lambda: note(folder, "c"))
    return {{"made": [a, b, c]}}
"""
SLOW = """
@workflow("build")
def build(ctx, given):
    folder = Path(given["folder"])
    ctx.step("a", lambda: note(folder, "a"))
    def wait():
        (folder / "pid").write_text(str(os.getpid()))
        while not (folder / "go").exists():
            time.sleep(0.01)
        return note(folder, "b")
    ctx.step("b", wait)
    answer = ctx.checkpoint("approval")
    return answer
"""


@pytest.fixture(params=["store", "dbos"])
def house(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[House]:
    with a_house(tmp_path, engine=request.param) as opened:
        opened.put("site")
        yield opened


def put(house: House, text: str) -> None:
    (house.workflows / "build.workflow.py").write_text(HEAD + text)


def asked(house: House, **more: Any) -> str:
    """A run of `build` for a site of its own; its id."""
    ref = house.create("site", "s")
    owner: Resource[Any, Any] = house.get(ref)
    house.store.write(lambda tx: queue.remove(tx, ref))
    request = Request("k", "build", {"folder": str(house.folder), **more})
    return house.store.write(lambda tx: workflow_runs.ensure(tx, owner, request)).run_id


def run(house: House, run_id: str) -> RunRecord:
    with house.store.read() as tx:
        found = workflow_runs.by_id(tx, run_id)
    assert found is not None
    return found


def steps(house: House, run_id: str) -> list[tuple[str, str]]:
    with house.store.read() as tx:
        return [(one.name, one.state) for one in workflow_steps.of(tx, run_id)]


def seen(house: House) -> list[str]:
    return seen_in(house.folder)


def seen_in(folder: Path) -> list[str]:
    path = folder / "seen"
    return path.read_text().split() if path.exists() else []


def woken(house: House) -> int:
    with house.store.read() as tx:
        return sum(row.wakes for row in queue.list_all(tx))


@pytest.mark.req("T42", "T44")
def test_a_workflow_runs_to_its_result_and_wakes_the_parent(house: House) -> None:
    put(house, STEPS.format(body='note(folder, "b")'))
    run_id = asked(house)
    house.host.engine.run(run_id)
    found = run(house, run_id)
    assert (found.state, found.result, found.epoch) == ("succeeded", {"made": ["A", "B", "C"]}, 1)
    assert steps(house, run_id) == [("a", "done"), ("b", "done"), ("c", "done")]
    assert woken(house) == 1
    house.host.engine.run(run_id)
    assert seen(house) == ["a", "b", "c"]


@pytest.mark.req("T45")
def test_an_async_workflow_does_the_same(house: House) -> None:
    put(
        house,
        """
@workflow("build")
async def build(ctx, given):
    async def work():
        return note(given["folder"], "a")
    return await ctx.step("a", work)
""",
    )
    run_id = asked(house)
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).result) == ("succeeded", "A")


KILLED = """
def work(folder, name):
    for when in ("before", "after"):
        marker = Path(folder, f"{when}-{name}")
        if when == "after":
            note(folder, name)
        if not marker.exists():
            marker.touch()
            os.kill(victim(), signal.SIGKILL)
            time.sleep(600)
    return name

@workflow("build")
def build(ctx, given):
    return "".join(ctx.step(n, lambda n=n: work(given["folder"], n)) for n in "abc")

"""


@pytest.mark.req("T45")
@pytest.mark.parametrize(
    ("house", "victim"), [("store", "getpid"), ("dbos", "getpid"), ("dbos", "getppid")], indirect=["house"]
)
def test_a_process_killed_at_every_step_is_followed_by_one_that_goes_on_behind_the_last_step(
    house: House, victim: str
) -> None:
    """Before the deed, and after it but before the record; of the second engine the runner, and the worker."""
    put(house, KILLED + f"victim = os.{victim}\n")
    run_id = asked(house)
    for _ in range(6):
        house.host.engine.run(run_id)
        assert run(house, run_id).state == "running"
    house.host.engine.run(run_id)
    found = run(house, run_id)
    assert (found.state, found.result, found.epoch, found.attempt) == ("succeeded", "abc", 7, 1)
    assert seen(house) == list("aabbcc")
    assert steps(house, run_id) == [("a", "done"), ("b", "done"), ("c", "done")]


@pytest.mark.req("T45")
def test_a_manual_step_that_may_have_happened_waits_for_a_person(house: House) -> None:
    put(
        house,
        """
def push(folder):
    note(folder, "pushed")
    os._exit(3)

@workflow("build")
def build(ctx, given):
    first = ctx.step("first", lambda: note(given["folder"], "first"))
    return [first, ctx.step("push", lambda: push(given["folder"]), manual=True)]
""",
    )
    run_id = asked(house)
    house.host.engine.run(run_id)
    house.host.engine.run(run_id)
    found = run(house, run_id)
    assert (found.state, found.waits_for, seen(house)) == ("waiting", "push", ["first", "pushed"])
    house.host.engine.run(run_id)
    assert seen(house) == ["first", "pushed"]
    house.store.write(lambda tx: workflow_steps.settle(tx, run(house, run_id), happened=True, result="by hand"))
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).result) == ("succeeded", ["FIRST", "by hand"])


@pytest.mark.req("T46")
def test_what_is_uncertain_is_listed_before_the_parent_goes(house: House) -> None:
    certain = 'ctx.step("b", lambda: os._exit(3))'
    put(house, STEPS.format(body="os._exit(3)").replace(certain, certain.replace("(3))", "(3), manual=True)")))
    run_id = asked(house)
    house.host.engine.run(run_id)
    owner = run(house, run_id).owner

    house.store.write(lambda tx: resources.request_deletion(tx, resources.get(tx, owner)))
    house.run()
    told = house.events(owner)
    assert any("nobody knows whether these happened: b" in one for one in told)
    with house.store.read() as tx:
        assert resources.find(tx, owner) is None


@pytest.mark.req("T43")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("sys.exit(2)", "sys.exit(2)"),
        ("object()", "JSON serializable"),
        ('"x" * 9_000_000', "a result of 9000002 bytes: at most 4194304"),
    ],
)
def test_a_step_that_raises_fails_the_run(house: House, body: str, why: str) -> None:
    put(house, STEPS.format(body=body))
    run_id = asked(house)
    house.host.engine.run(run_id)
    found = run(house, run_id)
    assert found.state == "failed"
    assert why in str(found.error)
    assert seen(house) == ["a"]


@pytest.mark.req("T43", "T45")
def test_a_run_that_kills_every_process_is_given_up_as_interrupted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controllers.definitions.engine.MOST_EPOCHS", 2)
    put(house, STEPS.format(body="os._exit(3)"))
    run_id = asked(house)
    for _ in range(3):
        house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).error) == ("interrupted", "2 processes have died at it")


@pytest.mark.req("T43", "T45")
def test_after_an_interruption_nothing_is_done_again_that_is_on_record(house: House) -> None:
    """A file that is missing for a while, or broken: steps, a manual one and a person's answer stay as they are."""
    body = 'note(folder, "b"), manual=True)\n    ctx.checkpoint("asked"'
    put(house, STEPS.format(body=body))
    run_id = asked(house)
    house.host.engine.run(run_id)
    house.store.write(lambda tx: workflow_steps.settle(tx, run(house, run_id), happened=True, result="yes"))
    file = house.workflows / "build.workflow.py"
    for spoil in (file.unlink, file.unlink, lambda: file.write_text("def broken(")):
        spoil()
        house.host.engine.run(run_id)
        assert (run(house, run_id).state, steps(house, run_id)[-1]) == ("interrupted", ("asked", "done"))
        put(house, STEPS.format(body=body))
        run_id = asked_again(house)
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, run(house, run_id).attempt) == ("succeeded", 4)
    assert seen(house) == ["a", "b", "c"]
    with pytest.raises(Problem, match="attempt 4 has gone on with its steps"):
        house.store.write(lambda tx: fork(tx, run(house, str(run(house, run_id).forked_from)), run_id))


def asked_again(house: House, *, key: str = "k", **more: Any) -> str:
    owner = house.get(Ref("site", "s", "default"))
    request = Request(key, "build", {"folder": str(house.folder), **more})
    return house.store.write(lambda tx: workflow_runs.ensure(tx, owner, request)).run_id


@pytest.mark.req("T49", "T50")
def test_threads_that_outlive_their_run_speak_in_nobody_elses(house: House) -> None:
    """Nor does their process serve another run."""
    put(
        house,
        """
@workflow("build")
def build(ctx, given):
    def late():
        while not Path(given["folder"], "go").exists():
            time.sleep(0.01)
        ctx.step("late", lambda: note(given["folder"], "late"))
    if given.get("last"):
        Path(given["folder"], "go").touch()
        return [os.getpid(), ctx.step("mine", lambda: note(given["folder"], "mine"))]
    for _ in range(3):
        threading.Thread(target=late).start()
    return os.getpid()
""",
    )
    first = asked(house)
    house.host.engine.run(first)
    second = asked_again(house, key="other", last=True)
    house.host.engine.run(second)
    found = run(house, second)
    assert found.state == "succeeded"
    assert found.result == [found.result[0], "MINE"]
    assert found.result[0] != run(house, first).result
    assert gone(run(house, first).result)
    assert (steps(house, second), seen(house)) == ([("mine", "done")], ["mine"])


@pytest.mark.req("T42", "T45")
def test_runs_that_were_asked_for_while_nobody_was_there_are_found_at_the_start(house: House) -> None:
    put(house, STEPS.format(body='note(folder, "b")'))
    run_id = asked(house)
    house.host.engine._due.clear()
    house.host.engine.start()
    while run(house, run_id).state != "succeeded":
        pass
    house.host.engine.stop(timeout=120)
    assert seen(house) == ["a", "b", "c"]


@pytest.mark.req("T46")
def test_a_run_that_is_cancelled_under_way_ends_with_its_process(house: House) -> None:
    put(house, SLOW)
    run_id = asked(house)
    thread, pid = at_work(house, run_id)
    house.store.write(lambda tx: workflow_runs.cancel(tx, run(house, run_id), "enough"))
    thread.join()
    assert (run(house, run_id).state, run(house, run_id).error) == ("failed", "cancelled: enough")
    assert gone(pid)
    house.host.engine.run(run_id)
    assert seen(house) == ["a"]


STUBBORN = """
@workflow("build")
def build(ctx, given):
    folder = Path(given["folder"])
    ctx.step("a", lambda: note(folder, "a"))
    def hang():
        (folder / "pid").write_text(str(os.getpid()))
        {body}
    ctx.step("b", hang)
"""


@pytest.mark.req("T46", "T49")
@pytest.mark.parametrize("body", ["sum(range(10**12))", "os.kill(os.getpid(), signal.SIGSTOP)"], ids=["C", "stopped"])
def test_a_run_that_is_cancelled_ends_though_its_process_does_not_listen(house: House, body: str) -> None:
    put(house, STUBBORN.format(body=body))
    run_id = asked(house)
    thread, pid = at_work(house, run_id)
    house.store.write(lambda tx: workflow_runs.cancel(tx, run(house, run_id), "enough"))
    thread.join()
    assert gone(pid)


@pytest.mark.req("T45")
def test_a_server_that_stops_in_mid_step_fails_nothing(house: House) -> None:
    put(house, SLOW)
    run_id = asked(house)
    thread, _pid = at_work(house, run_id)
    house.host.engine.stop()
    thread.join()
    assert (run(house, run_id).state, run(house, run_id).engine) == ("running", house.host.engine._carrier.name)
    house.store.close()
    (house.folder / "go").touch()
    with a_house(house.folder, engine=house.host.engine._carrier.name) as next_one:
        next_one.host.engine.run(run_id)
        found = run(next_one, run_id)
        assert (found.state, found.waits_for, found.epoch) == ("waiting", "approval", 2)
        assert seen(next_one) == ["a", "b"]


@pytest.mark.req("T45")
def test_a_server_that_stops_while_a_workflow_is_loaded_ends_no_attempt(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        house.put("site")
        begun = tmp_path / "begun"
        put(house, f"Path({str(begun)!r}).touch(); time.sleep(3600)\n")
        run_id = asked(house)
        thread = threading.Thread(target=house.host.engine.run, args=(run_id,))
        thread.start()
        while not begun.exists():
            pass
        house.host.engine.stop()
        house.host.passes.stop()
        thread.join()
        assert (run(house, run_id).state, run(house, run_id).attempt) == ("running", 1)


@pytest.mark.req("T45")
def test_a_step_whose_end_finds_no_room_is_told_once_there_is_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with a_house(tmp_path) as house:
        house.put("site")
        put(house, SLOW.replace('return note(folder, "b")', 'return note(folder, "b") * 50_000'))
        run_id = asked(house)
        thread, _pid = at_work(house, run_id)
        limit(house.store, 0)
        (house.folder / "go").touch()
        while "the store takes nothing" not in capsys.readouterr().out:
            pass
        limit(house.store, None)
        thread.join()
        assert (run(house, run_id).state, run(house, run_id).epoch) == ("waiting", 1)
        assert seen(house) == ["a", "b"]


@pytest.mark.req("T45")
def test_a_run_that_no_process_can_be_started_for_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_house(tmp_path) as house:
        house.put("site")
        put(house, STEPS.format(body='note(folder, "b")'))
        run_id = asked(house)
        house.host.engine._due.clear()
        monkeypatch.setattr("sys.executable", str(tmp_path / "gone"))
        with pytest.raises(FileNotFoundError):
            house.host.engine.run(run_id)
        monkeypatch.undo()
        assert list(house.host.engine._due) == [run_id]
        house.host.engine.run(run_id)
        assert run(house, run_id).state == "succeeded"


@pytest.mark.req("T43", "T45")
def test_a_fork_begins_behind_what_is_done_and_tries_again_what_failed(house: House) -> None:
    body = 'note(folder, "b") if Path(folder, "mended").exists() else 1 / 0'
    put(house, STEPS.format(body=body))
    run_id = asked(house)
    house.host.engine.run(run_id)
    assert run(house, run_id).state == "failed"
    (house.folder / "mended").touch()
    made = house.store.write(lambda tx: fork(tx, run(house, run_id), run_id))
    house.host.engine.run(made.run_id)
    found = run(house, made.run_id)
    assert (found.state, found.result, found.attempt) == ("succeeded", {"made": ["A", "B", "C"]}, 2)
    assert (found.forked_from, found.engine) == (run_id, run(house, run_id).engine)
    assert seen(house) == ["a", "b", "c"]


@pytest.mark.req("T42", "T45")
def test_each_engine_goes_on_with_what_it_has_begun(tmp_path: Path) -> None:
    """Whatever the setting says by now: the steps are where they were put."""
    body = """
@workflow("build")
def build(ctx, given):
    a = ctx.step("a", lambda: note(given["folder"], "a"))
    return a + ctx.checkpoint("asked")
"""
    for number, (first, then) in enumerate([("store", "dbos"), ("dbos", "store")]):
        folder = tmp_path / str(number)
        with a_house(folder, engine=first) as house:
            house.put("site")
            put(house, body)
            run_id = asked(house)
            house.host.engine.run(run_id)
            assert run(house, run_id).waits_for == "asked"
        with a_house(folder, engine=then) as house:
            house.store.write(lambda tx: workflow_steps.settle(tx, run(house, run_id), happened=True, result="!"))  # noqa: B023
            house.host.engine.run(run_id)
            assert run(house, run_id).state == "pending"
            house.host.engines[first].run(run_id)
            assert (run(house, run_id).result, run(house, run_id).engine) == ("A!", first)
            assert seen(house) == ["a"]


@pytest.mark.req("T45")
def test_no_run_is_begun_under_a_hold(house: House) -> None:
    """As after a restore: a person looks first."""
    put(house, STEPS.format(body='note(folder, "b")'))
    house.store.write(lambda tx: holds.put(tx, "restored", "me"))
    run_id = asked(house)
    house.host.engine.run(run_id)
    assert (run(house, run_id).state, seen(house)) == ("pending", [])
    house.host.engine._due.clear()
    house.host.engine.start()
    house.store.write(holds.lift)
    while run(house, run_id).state != "succeeded":
        pass
    assert seen(house) == ["a", "b", "c"]
