"""A migration of a database that holds something: a copy first, all or nothing, and no way back by accident."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from resources.reference import Ref
from store import backups, bookings, ledger, placement_log, resources, upgrade_copies
from store.errors import Refused
from store.schema import Schema
from store.store import Store
from tests.builders import a_bundle
from tests.clocked import Clocked

ROOT = Path(__file__).resolve().parents[3]
SECOND = """
import os
import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("meta", sa.Column("note", sa.Text()))
    op.execute("UPDATE resources SET annotations = '{}'")
    if os.environ.get("DIE"):
        os.kill(os.getpid(), 9)
    op.create_index("ix_meta_note", "meta", ["note"])
"""
FILL = """
import os, sys
from pathlib import Path
from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import resources
from store.schema import Schema
from store.store import Store
from tests.builders import a_bundle
store = Store.open(Path(sys.argv[1]), Threads())
for name in ("a", "b", "c"):
    store.write(lambda tx: resources.create(tx, Ref("bundle", name, "default"), a_bundle()))
os.kill(os.getpid(), 9)
"""
OPEN = """
import sys
from pathlib import Path
from controllers.runtime.environment import Threads
from store.schema import Schema
from store.store import Store
Store.open(Path(sys.argv[1]), Threads(), migrations=Path(sys.argv[2])).close()
"""


def run(code: str, *words: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """The migrations of a program that knows one schema more."""
    folder = tmp_path / "migrations"
    shutil.copytree(ROOT / "migrations", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "0006_for_the_test.py").write_text(SECOND)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Left by a server of this program that was killed: some of it stands in the log only."""
    folder = tmp_path / "data"
    assert run(FILL, folder).returncode == -9
    return folder


def schema(data: Path) -> str:
    with closing(sqlite3.connect(data / "state.db")) as file:
        (found,) = file.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(found)


def copies(data: Path) -> list[Path]:
    return sorted((data / "backups").iterdir())


def names(store: Store) -> list[str]:
    with store.read() as tx:
        return [bundle.name for bundle in resources.list_all(tx, "bundle")]


@pytest.mark.req("S18", "B114")
def test_an_upgrade_killed_in_its_migration_completes_and_the_older_program_then_refuses(
    data: Path, newer: Path, clock: Clocked
) -> None:
    killed = run(OPEN, data, newer, DIE="1")
    assert (killed.returncode, schema(data)) == (-9, "0005")
    (copy,) = copies(data)
    assert str(copy) in killed.stdout
    verified = backups.verify(copy)
    assert (verified.schema, verified.rows["resources"]) == ("0005", 3)

    Store.open(data, clock, migrations=newer).close()
    assert schema(data) == "0006"

    before = {path.name: path.read_bytes() for path in data.iterdir() if path.name.startswith("state.db")}
    with pytest.raises(Refused) as refused:
        Store.open(data, clock)
    assert "schema 0006" in str(refused.value)
    assert "up to 0005" in str(refused.value)
    assert str(max(copies(data))) in str(refused.value)
    assert {path.name: path.read_bytes() for path in data.iterdir() if path.name.startswith("state.db")} == before


@pytest.mark.req("S18")
def test_an_older_program_refuses_a_file_whose_log_is_not_yet_merged_and_changes_no_byte(
    data: Path, newer: Path, clock: Clocked
) -> None:
    run(OPEN, data, newer)
    leave = FILL.replace("Threads())", "Threads(), migrations=Path(sys.argv[2]))").replace('"a", "b", "c"', '"d"')
    assert run(leave, data, newer).returncode == -9
    files = [data / "state.db", data / "state.db-wal"]
    before = [path.read_bytes() for path in files]
    with pytest.raises(Refused, match="schema 0006"):
        Store.open(data, clock)
    assert [path.read_bytes() for path in files] == before
    newer_again = Store.open(data, clock, migrations=newer)
    assert names(newer_again) == ["a", "b", "c", "d"]
    newer_again.close()


def test_the_copy_is_a_way_back(data: Path, newer: Path, clock: Clocked, tmp_path: Path) -> None:
    run(OPEN, data, newer)
    (copy,) = copies(data)
    shutil.copy(copy, tmp_path / "state.db")
    store = Store.open(tmp_path, clock)
    assert names(store) == ["a", "b", "c"]
    store.close()


def test_without_room_for_the_copy_nothing_is_migrated(data: Path, newer: Path, clock: Clocked) -> None:
    (data / "backups").write_text("a file stands in the way")
    with pytest.raises(Refused, match="schema 0005 is not migrated to 0006, since no copy of it can be kept"):
        Store.open(data, clock, migrations=newer)
    assert schema(data) == "0005"


def test_a_new_database_needs_no_copy(tmp_path: Path, clock: Clocked) -> None:
    Store.open(tmp_path, clock).close()
    assert not (tmp_path / "backups").exists()


def test_copies_made_under_load_are_sound(store: Store, tmp_path: Path) -> None:
    def fill() -> None:
        for number in range(40):
            store.write(partial(resources.create, ref=Ref("bundle", f"b-{number}", "default"), document=a_bundle()))

    writer = store._environment.spawn("filler", fill)
    made = [backups.make(store.engine, tmp_path / f"copy-{number}.db") for number in range(8)]
    writer.join()
    counts = [copy.rows["resources"] for copy in made]
    assert counts == sorted(counts)


def test_a_copy_that_rotted_is_found_out(store: Store, tmp_path: Path) -> None:
    store.write(lambda tx: resources.create(tx, Ref("bundle", "a", "default"), a_bundle()))
    flipped, cut = (tmp_path / f"{name}.db" for name in ("flipped", "cut"))
    for path in (flipped, cut):
        backups.make(store.engine, path)
    with closing(sqlite3.connect(flipped)) as file:
        file.execute("UPDATE resources SET spec = replace(spec, 'sleep', 'sloep')")
        file.commit()
    cut.write_bytes(cut.read_bytes()[:-4096])
    with pytest.raises(Refused, match="bundle/a: stored row does not match its checksum"):
        backups.verify(flipped)
    with pytest.raises(Refused, match=r"malformed|damaged"):
        backups.verify(cut)


def test_two_copies_of_one_schema_are_kept(store: Store, tmp_path: Path) -> None:
    for now in (100.0, 200.0, 300.0):
        upgrade_copies.keep(store.engine, tmp_path, "0005", Schema(), now)
    assert [path.name for path in copies(tmp_path)] == [f"schema-0005-{at}.db" for at in (200, 300)]


def test_room_that_the_last_release_claimed_is_claimed_and_on_record_after_the_upgrade(tmp_path: Path) -> None:
    """`schema-0003.sql` is the dump of a file with two cards, a job and two reservations for later."""
    data = tmp_path / "data"
    data.mkdir()
    with closing(sqlite3.connect(data / "state.db")) as file:
        file.executescript((ROOT / "tests" / "data" / "schema-0003.sql").read_text())
    with closing(Store.open(data, Clocked())) as store, store.read() as tx:
        claims = ledger.list_allocations(tx)
        assert [(claim.id, claim.holder, claim.inside) for claim in claims] == [
            ("j1", None, None),
            ("mine-0", "default/b.primary.web", None),
            ("night-0", "default/train", None),
        ]
        logged = placement_log.claims_at(tx, placement_log.head(tx))
        assert sorted(logged, key=lambda claim: claim.id) == list(claims)
        assert placement_log.devices_at(tx, placement_log.head(tx)) == bookings.all_devices(tx)
        assert [device.id for device in bookings.devices_of(tx, "n")] == ["g0", "g1"]
    assert next(iter(copies(data))).name.startswith("schema-0003")
