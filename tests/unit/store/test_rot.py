"""Rows that are not as they were written, and copies that are not whole: found, named, and not taken for good."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cli.diagnoses import database
from resources.reference import Ref
from store import backups, changes, diagnosis, offline_check, resources, restoring
from store.errors import Refused
from store.store import Store
from tests.builders import POOL, a_bundle, a_pool
from tests.clocked import Clocked

CHANNEL = Ref("bundle", "ch-1", "default")


def fill(store: Store) -> None:
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    store.write(lambda tx: resources.create(tx, CHANNEL, a_bundle()))


@pytest.fixture
def rotten(tmp_path: Path) -> Path:
    """A folder whose pool has one other letter; the structure of the file is whole."""
    store = Store.open(tmp_path, Clocked())
    fill(store)
    store.close()
    with closing(sqlite3.connect(tmp_path / "state.db")) as file, file:
        file.execute("UPDATE resources SET spec = replace(spec, 'servers', 'serverr') WHERE kind = 'pool'")
    return tmp_path


def test_a_row_that_rotted_is_named_without_a_server(rotten: Path) -> None:
    told = "1 row is not as it was written: pool/local; rmctl restore brings a backup back"
    assert offline_check.check(rotten) == ("FAIL", told)


def test_a_row_that_rotted_is_named_while_the_server_runs(rotten: Path) -> None:
    store = Store.open(rotten, Clocked())
    with store.read() as tx:
        facts = diagnosis.content(tx)
    store.close()
    (found,) = [one for one in database(facts) if one.what == "resources"]
    assert (found.state, "pool/local" in found.told) == ("FAIL", True)


def test_a_whole_database_is_said_to_be_whole(tmp_path: Path) -> None:
    store = Store.open(tmp_path, Clocked())
    fill(store)
    with store.read() as tx:
        assert diagnosis.content(tx)["rotten"] == []
    store.close()
    assert offline_check.check(tmp_path)[0] == "ok"


def test_a_server_that_cannot_begin_for_a_row_says_what_to_do(rotten: Path) -> None:
    command = [sys.executable, "-m", "rmctl", "server", "--data", str(rotten)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    said = "rmctl: error: pool/local: stored row does not match its checksum: rmctl doctor --data"
    assert ran.returncode == 5
    assert ran.stderr.splitlines()[-1].startswith(said)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "rmctl", "server", "--data", str(tmp_path / "file")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 5
    assert ran.stderr.splitlines()[-1] == f"rmctl: error: {tmp_path}/file: file exists"


def test_a_database_that_takes_nothing_is_named(tmp_path: Path) -> None:
    Store.open(tmp_path, Clocked()).close()
    limited = ["prlimit", f"--fsize={40 * 1024}", sys.executable, "-m", "rmctl", "server", "--data", str(tmp_path)]
    ran = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert ran.returncode == 5
    assert ran.stderr.splitlines()[-1] == f"rmctl: error: {tmp_path}/state.db: disk I/O error"


def test_a_database_without_its_log_is_not_taken_for_a_backup(tmp_path: Path) -> None:
    """What a killed server wrote last stands in the log alone: restored without it, it would be lost unseen."""
    live, copy = tmp_path / "live", tmp_path / "copy"
    store = Store.open(live, Clocked())
    fill(store)
    copy.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(live / f"state.db{suffix}", copy / f"state.db{suffix}")
    store.close()
    with pytest.raises(Refused, match=r"what was written last is in state\.db-wal beside it"):
        backups.verify(copy / "state.db")
    with pytest.raises(Refused, match="what was written last"):
        restoring.restore(copy / "state.db", tmp_path / "new", by="me", now=1.0)
    assert not (tmp_path / "new").exists()


def test_a_backup_that_is_restored_twice_gives_out_no_revision_twice(tmp_path: Path) -> None:
    """Else a watch of the first one would go on in the second, over writes that never happened there."""
    store = Store.open(tmp_path / "live", Clocked())
    fill(store)
    backups.make(store.engine, tmp_path / "copy.db")
    store.close()

    def heads(now: float) -> tuple[int, int]:
        restoring.restore(tmp_path / "copy.db", tmp_path / "live", by="me", now=now, replace=True)
        restored = Store.open(tmp_path / "live", Clocked(now))
        try:
            with restored.read() as tx:
                before = changes.head(tx)
            restored.write(lambda tx: resources.create(tx, Ref("pool", "more"), a_pool()))
            with restored.read() as tx:
                return before, changes.head(tx)
        finally:
            restored.close()

    first, second = heads(1_800_000_000.0), heads(1_800_000_060.0)
    assert first[0] < first[1] < second[0]
