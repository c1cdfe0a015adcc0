"""A backup made while the server works comes back as the store of a folder, and nothing acts before a person says."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.address import parse_address
from cli.client import Client
from cli.errors import ServerRefused
from tests.fleet import SLEEPER, Fleet, Process, a_fleet


class Site:
    """A fleet with one node, and its server's process."""

    def __init__(self, fleet: Fleet, server: Process) -> None:
        self.fleet = fleet
        self.server = server
        self.rmctl = fleet.rmctl

    def run(self, name: str) -> None:
        ran = self.rmctl("apply", "-f", "-", "--wait", stdin=SLEEPER.replace("NAME", name))
        assert ran.code == 0, ran.err

    def stop(self) -> None:
        assert self.rmctl("server", "stop").code == 0
        self.server.popen.wait()

    def start(self) -> None:
        self.server = self.fleet.server()

    def pids(self) -> set[str]:
        return set(self.rmctl("get", "jobs", "-o", "jsonpath={.items[*].status.pid}").out.split())


@pytest.fixture
def site() -> Iterator[Site]:
    with a_fleet() as made:
        server = made.server()
        made.agent("mybox", "--capacity", "4")
        assert made.rmctl("wait", "node/mybox").code == 0
        yield Site(made, server)


def test_a_restored_server_holds_until_a_person_lets_it_act(site: Site, tmp_path: Path) -> None:
    site.run("kept")
    before = site.pids()
    file = tmp_path / "backup.db"
    told = json.loads(site.rmctl("backup", str(file), "-o", "json").out)
    assert (told["file"], told["bytes"], told["resources"]) == (str(file), file.stat().st_size, 4)
    assert json.loads(site.rmctl("doctor", "-o", "json").out)["facts"]["lastBackup"]["sha256"] == told["sha256"]
    site.run("later")
    watched = int(json.loads(site.rmctl("server", "status", "-o", "json").out)["revision"])
    (stray,) = site.pids() - before
    assert site.rmctl("restore", str(file)).code == 5
    site.stop()

    refused = site.rmctl("restore", str(file))
    assert (refused.code, refused.err.splitlines()[1]) == (5, "hint: --replace puts it aside")
    restored = site.rmctl("restore", str(file), "--replace")
    assert restored.code == 0, restored.err
    (aside,) = site.fleet.folder.glob("replaced-*")
    assert [path.name for path in aside.iterdir()] == ["state.db"]
    assert f"what was there before is in {aside}" in restored.out

    site.start()
    assert site.rmctl("wait", "node/mybox").code == site.rmctl("wait", "bundle/kept").code == 0
    assert site.pids() == before
    assert site.rmctl("get", "bundle/later").code == 3
    assert json.loads(site.rmctl("doctor", "-o", "json").out)["facts"]["held"]["reason"] == "restored from backup.db"
    audits = (site.rmctl("audit", "capacity").out for _ in range(200))
    audit = next(told for told in audits if "job/later/primary/main runs as" in told)
    assert f"pid {stray}: unowned, was " in audit
    status = json.loads(site.rmctl("server", "status", "-o", "json").out)
    assert status["revision"] > watched

    resumed = site.rmctl("resume", "server")
    assert f"pid {stray}: unowned" in resumed.out
    ends = (site.rmctl("audit", "capacity") and Path(f"/proc/{stray}").exists() for _ in range(200))
    assert not all(ends)
    site.run("after")
    assert before < site.pids()


def test_a_watch_of_the_lost_store_is_told_to_list_again(site: Site, tmp_path: Path) -> None:
    """Revisions leap past every one that the lost store may have given out."""
    file = tmp_path / "backup.db"
    assert site.rmctl("backup", str(file)).code == 0
    site.run("lost")
    seen = json.loads(site.rmctl("get", "bundle/lost", "-o", "json").out)["metadata"]["resourceVersion"]
    site.stop()
    assert site.rmctl("restore", str(file), "--replace").code == 0
    site.start()
    client = Client(parse_address(f"unix:{site.fleet.folder}/rmctl.sock"))
    path = "/apis/rmctl/v1/namespaces/default/bundles"
    with pytest.raises(ServerRefused) as refused:
        next(client.stream(path, {"watch": "1", "resourceVersion": seen}))
    assert (refused.value.code, refused.value.message) == (410, "too old, list again")


def test_a_backup_under_load_is_whole_and_holds_what_was_acknowledged_before_it(site: Site, tmp_path: Path) -> None:
    """Labels are counted up by another process while copies are made."""
    counted = [0]
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            number = counted[0] + 1
            assert site.rmctl("label", "pool/default", f"count=n{number}", "--overwrite").code == 0
            counted[0] = number

    worker = threading.Thread(target=count)
    worker.start()
    try:
        for copy in range(5):
            least, file = counted[0], tmp_path / f"{copy}.db"
            assert site.rmctl("backup", str(file)).code == 0
            assert site.rmctl("restore", str(file), "--verify-only").code == 0
            with sqlite3.connect(file) as connection:
                (labels,) = connection.execute("SELECT labels FROM resources WHERE kind = 'pool'").fetchone()
            assert int((json.loads(labels).get("count") or "n0")[1:]) >= least
    finally:
        done.set()
        worker.join()
    assert list((site.fleet.folder / "backups").iterdir()) == []


def sql(statement: str) -> Callable[[Path], None]:
    """A change that SQLite itself finds nothing wrong with."""

    def change(file: Path) -> None:
        with sqlite3.connect(file) as connection:
            assert connection.execute(statement).rowcount

    return change


def text(cut: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda file: file.write_bytes(cut(file.read_bytes())) and None


ROTTEN = {
    "is no database of rmctl": text(lambda data: b""),
    "file is not a database": text(lambda data: b"only text, no database at all" * 100),
    "damaged|malformed": text(lambda data: data[: len(data) // 2]),
    "pool/default: stored row does not match its checksum": sql(
        "UPDATE resources SET spec = replace(spec, 'fixed', 'fixee') WHERE kind = 'pool'"
    ),
    "has schema 9999, this program knows up to 0005": sql("UPDATE alembic_version SET version_num = '9999'"),
}


@pytest.mark.req("B114")
def test_a_backup_that_rotted_is_named_and_changes_nothing(site: Site, tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    assert site.rmctl("backup", str(whole)).code == 0
    site.stop()
    before = {path.name: path.stat().st_mtime_ns for path in site.fleet.folder.glob("state.db*")}
    for number, (told, damage) in enumerate(ROTTEN.items()):
        file = tmp_path / f"{number}.db"
        shutil.copy(whole, file)
        damage(file)
        ran = site.rmctl("restore", str(file), "--replace")
        assert (ran.code, ran.out, ran.err.startswith(f"rmctl: error: {file}: ")) == (5, "", True), ran.err
        assert any(part in ran.err for part in told.split("|")), ran.err
        assert {path.name: path.stat().st_mtime_ns for path in site.fleet.folder.glob("state.db*")} == before


def test_a_file_is_replaced_only_when_asked_to_and_only_by_a_whole_one(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    file.write_text("precious")
    refused = site.rmctl("backup", str(file))
    assert (refused.code, file.read_text()) == (2, "precious")
    assert site.rmctl("backup", str(tmp_path)).code == 2
    assert site.rmctl("backup", str(tmp_path / "no" / "folder.db")).code == 5
    assert site.rmctl("backup", str(file), "--replace").code == 0
    assert site.rmctl("restore", str(file), "--verify-only").code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    site.stop()
    assert site.rmctl("backup", str(file), "--replace").code == 4
    assert subprocess.run(["ls", "-A", str(tmp_path)], capture_output=True, text=True, check=True).stdout.split() == [
        "backup.db"
    ]


def test_what_a_killed_server_left_of_a_copy_goes_with_the_next_one(site: Site, tmp_path: Path) -> None:
    beside = site.fleet.folder / "backups"
    beside.mkdir()
    for name in ("made-half", "made-half-journal", "schema-0000-1.db"):
        (beside / name).touch()
    assert site.rmctl("backup", str(tmp_path / "backup.db")).code == 0
    assert [path.name for path in beside.iterdir()] == ["schema-0000-1.db"]
