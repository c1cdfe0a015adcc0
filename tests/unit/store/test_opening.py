"""Opening a data folder: one holder, known schemas, local disks."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from store import resources
from store.engine import file_system, library_warning, open_engine
from store.errors import Corrupt, Refused
from store.node_tables import schema
from store.schema import prepare
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked


@pytest.mark.req("CV1", "B111")
def test_a_second_server_is_refused_by_name_of_the_first(store: Store, clock: Clocked) -> None:
    import os

    with pytest.raises(Refused, match=rf"another server \(pid {os.getpid()}\) owns "):
        Store.open(store.folder, clock)


@pytest.mark.req("CV1")
def test_a_second_server_is_refused_though_somebody_removed_the_lock(store: Store, clock: Clocked) -> None:
    (store.folder / "lock").unlink()
    with pytest.raises(Refused, match=r"another server \(pid unknown\) owns "):
        Store.open(store.folder, clock)


@pytest.mark.req("CR9")
def test_closing_twice_is_fine_and_frees_the_folder(tmp_path: Path, clock: Clocked) -> None:
    first = Store.open(tmp_path, clock)
    first.close()
    first.close()
    Store.open(tmp_path, clock).close()


def test_only_the_owner_may_read_the_database(tmp_path: Path, clock: Clocked) -> None:
    with_store = Store.open(tmp_path, clock)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("state.db*")}
    with_store.close()
    assert modes == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}


def test_a_database_that_others_could_read_is_closed_to_them(tmp_path: Path, clock: Clocked) -> None:
    Store.open(tmp_path, clock).close()
    (tmp_path / "state.db").chmod(0o644)
    Store.open(tmp_path, clock).close()
    assert (tmp_path / "state.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.req("B114")
def test_a_newer_schema_is_refused_and_not_changed(tmp_path: Path, clock: Clocked) -> None:
    Store.open(tmp_path, clock).close()
    raw = sqlite3.connect(tmp_path / "state.db")
    raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.commit()
    raw.close()
    with pytest.raises(Refused, match="schema 9999"):
        Store.open(tmp_path, clock)
    raw = sqlite3.connect(tmp_path / "state.db")
    assert raw.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    raw.close()


@pytest.mark.req("B114")
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, clock: Clocked) -> None:
    (tmp_path / "state.db").write_text("this is a text file, and not a short one at all, but no database\n" * 100)
    with pytest.raises(Refused, match="cannot be read"):
        Store.open(tmp_path, clock)


@pytest.mark.req("B114")
def test_a_file_that_was_cut_short_is_refused(tmp_path: Path, clock: Clocked) -> None:
    Store.open(tmp_path, clock).close()
    path = tmp_path / "state.db"
    path.write_bytes(path.read_bytes()[:-4096])
    with pytest.raises(Refused, match=r"the database (is damaged|cannot be read)"):
        Store.open(tmp_path, clock)


@pytest.mark.req("B114")
@pytest.mark.parametrize("lose", [lambda path: path.write_bytes(b""), Path.unlink], ids=["emptied", "removed"])
def test_an_empty_file_where_a_store_was_is_not_taken_for_a_new_one(tmp_path: Path, clock: Clocked, lose) -> None:
    Store.open(tmp_path, clock).close()
    lose(tmp_path / "state.db")
    with pytest.raises(Refused, match="is empty, though this folder holds store 0000"):
        Store.open(tmp_path, clock)
    (tmp_path / "lock").unlink()
    Store.open(tmp_path, clock).close()


@pytest.mark.req("B114")
def test_an_empty_file_of_a_first_start_that_was_cut_short_is_a_new_store(tmp_path: Path, clock: Clocked) -> None:
    (tmp_path / "state.db").touch()
    Store.open(tmp_path, clock).close()


@pytest.mark.req("B114")
def test_a_flipped_bit_in_a_spec_is_told_by_the_checksum_of_its_row(tmp_path: Path, clock: Clocked) -> None:
    store = Store.open(tmp_path, clock)
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    store.close()
    path = tmp_path / "state.db"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"local-servers", b"local-serverr"))
    store = Store.open(tmp_path, clock)
    with store.read() as tx, pytest.raises(Corrupt, match="pool/local: stored row does not match its checksum"):
        resources.find(tx, POOL)
    store.close()


def test_the_migrations_make_exactly_the_tables(clock: Clocked) -> None:
    engine = open_engine(None)
    prepare(engine, clock)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema) == []


@pytest.mark.req("B112")
def test_the_file_system_is_the_one_of_the_longest_mount_point(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "21 20 0:40 / /srv rw - nfs4 server:/srv rw\n"
        "22 21 8:2 / /srv/disk rw - xfs /dev/sdb1 rw\n"
    )
    kinds = [file_system(Path(folder), str(mounts)) for folder in ("/srv/data", "/srv/disk/data", "/srvother", "/")]
    assert kinds == ["nfs4", "xfs", "ext4", "ext4"]


@pytest.mark.req("B116")
def test_libraries_with_the_wal_reset_bug_are_warned_of() -> None:
    versions = [(3, 40, 1), (3, 51, 2), (3, 51, 3), (3, 53, 0), (3, 50, 6), (3, 50, 7), (3, 44, 5), (3, 44, 6)]
    warned = [library_warning(version) is not None for version in versions]
    assert warned == [True, True, False, False, True, False, True, False]


def test_two_processes_of_read_modify_write_lose_nothing(tmp_path: Path) -> None:
    """The driver's default mode loses most of these, silently."""
    import multiprocessing

    path = tmp_path / "counter.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE n (value)")
    raw.execute("INSERT INTO n VALUES (0)")
    raw.commit()
    raw.close()
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_count_up, args=(path, 200)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT value FROM n").fetchone() == (400,)
    raw.close()


def _count_up(path: Path, times: int) -> None:
    from sqlalchemy import text

    engine = open_engine(path, synchronous="OFF")
    with engine.connect() as connection:
        for _ in range(times):
            with connection.begin():
                value = connection.execute(text("SELECT value FROM n")).scalar_one()
                connection.execute(text("UPDATE n SET value = :v"), {"v": value + 1})
