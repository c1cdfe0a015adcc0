"""What wakes a settled resource of a definition: time that has passed, and a file that changed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from controllers.definitions.discovery import Folders
from controllers.definitions.watching import FileWatch
from resources.reference import Ref
from rmctl import Spec, resource_manager
from rmctl.testing import Trial
from store import queue, resources
from store.store import Store
from tests.clocked import Clocked


class ClockSpec(Spec):
    path: str = ""


def a_clock(**sources: Any) -> Trial:
    """Its passes note when they ran."""
    trial = Trial(resource_manager("clock", spec=ClockSpec, **sources)(lambda ctx, _: ctx.settled()))
    trial.apply("c", {})
    return trial


@pytest.mark.req("T53")
def test_polling_comes_round_with_jitter() -> None:
    with a_clock(every=100) as trial:
        trial.run()
        gaps = []
        for _ in range(20):
            before = trial.clock.time
            while not trial.run():
                trial.clock.advance(1)
            gaps.append(trial.clock.time - before)
        assert all(80 <= gap <= 121 for gap in gaps)
        assert len(set(gaps)) > 1


@pytest.mark.req("T53")
def test_cron_keeps_to_the_clocks_of_its_zone_through_the_end_of_summer_time() -> None:
    """02:30 comes twice that night in Berlin, and means one pass."""
    seen: list[str] = []

    def reconcile(ctx: Any, _resource: Any) -> Any:
        seen.append(datetime.fromtimestamp(ctx.clock.now(), UTC).strftime("%d %H:%M"))
        return ctx.settled()

    definition = resource_manager("clock", spec=ClockSpec, cron="30 2 * * *", time_zone="Europe/Berlin")(reconcile)
    with Trial(definition) as trial:
        trial.clock.time = datetime(2027, 10, 30, 12, tzinfo=UTC).timestamp()
        trial.apply("c", {})
        trial.run_for(3 * 86_400)
    assert seen == ["30 12:00", "31 00:30", "01 01:30", "02 01:30"]


@pytest.mark.req("CM1")
@pytest.mark.parametrize(
    ("sources", "why"),
    [
        ({"every": 0.5}, "every: must be >= 1 seconds"),
        ({"cron": "61 * * * *"}, "no schedule that ever comes"),
        ({"cron": "* * * * * *"}, "five fields of cron"),
        ({"cron": "0 0 * * *", "time_zone": "Mars/Olympus"}, "no time zone"),
    ],
)
def test_a_source_that_can_never_come_is_refused(sources: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        resource_manager("clock", spec=ClockSpec, **sources)


@pytest.mark.req("T53")
def test_a_file_that_changed_since_before_the_pass_wakes_its_user_once(tmp_path: Path) -> None:
    clock = Clocked()
    store = Store.open(tmp_path / "data", clock, synchronous="OFF")
    used, ref = tmp_path / "used", Ref("clock", "c", "default")
    used.write_text("one")
    status = used.stat()
    watched: Any = {ref: {used: (status.st_mtime_ns, status.st_size, status.st_ino), tmp_path / "none": None}}
    watch = FileWatch(store, clock, Folders(tmp_path / "definitions"), watched)
    store.write(lambda tx: resources.create(tx, ref, {}))
    store.write(lambda tx: queue.remove(tx, ref))

    def woken() -> int:
        with store.read() as tx:
            return sum(row.wakes for row in queue.list_all(tx))

    watch.look()
    assert woken() == 0
    used.write_text("two, longer")
    watch.look()
    watch.look()
    assert woken() == 1
    (tmp_path / "none").touch()
    watch.look()
    assert woken() == 2
    used.unlink()
    watch.look()
    assert woken() == 3
    store.close()


@pytest.mark.req("T53")
def test_a_relative_path_is_meant_from_where_the_definition_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server, which looks for changes, is somewhere else."""
    monkeypatch.chdir(tmp_path)
    with a_clock(watch=lambda resource: [resource.spec.path]) as trial:
        trial.apply("c", {"path": "used"})
        trial.run()
        assert trial._passes.watched == {Ref("clock", "c", "default"): {tmp_path / "used": None}}


@pytest.mark.req("T53")
def test_a_definition_names_the_files_and_they_are_looked_at_before_its_pass(tmp_path: Path) -> None:
    file = tmp_path / "used"

    def reconcile(ctx: Any, _resource: Any) -> Any:
        file.write_text("written in the pass itself")
        return ctx.settled()

    with a_clock(watch=lambda resource: [resource.spec.path]) as trial:
        trial.apply("c", {"path": str(file)})
        trial.run()
        assert trial._passes.watched == {Ref("clock", "c", "default"): {file: None}}
    definition = resource_manager("clock", spec=ClockSpec, watch=lambda one: [one.spec.path])(reconcile)
    with Trial(definition) as trial:
        trial.apply("c", {"path": str(file)})
        trial.run()
        assert trial._passes.watched == {Ref("clock", "c", "default"): {file: None}}
