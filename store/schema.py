"""The schema's version: made, brought up to date after a copy was kept, and refused when newer than this program."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import DatabaseError

from store import backup
from store.environment import Environment
from store.errors import Refused
from store.tables import meta

log = structlog.get_logger("rmctl.store")


class Schema:
    """Migrations of one program, by default those that it carries."""

    def __init__(self, migrations: Path | None = None) -> None:
        self._config = Config()
        self._config.set_main_option("script_location", str(migrations or _carried()))
        self._scripts = ScriptDirectory.from_config(self._config)
        self._head = self._scripts.get_current_head() or ""

    def check(self, path: Path, store: str = "") -> None:
        """Raises Refused for a newer schema, a damaged file, or one that is no database; no byte of it is changed.

        An empty or missing file is a new store, unless its folder is known to hold one.
        """
        if not path.exists() or path.stat().st_size == 0:
            if store:
                raise Refused(
                    f"{path} is empty, though this folder holds store {store}: put a copy in its place, "
                    f"or remove {path.with_name('lock')} to begin anew"
                )
            return
        try:
            with closing(_reading(path)) as file:
                (health,) = file.execute("PRAGMA quick_check(1)").fetchone()
                if health != "ok":
                    raise Refused(f"the database is damaged: {health}")
                made = file.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
                row = file.execute("SELECT version_num FROM alembic_version").fetchone() if made else None
        except sqlite3.DatabaseError as error:
            raise Refused(f"the database cannot be read: {error}") from error
        known = {script.revision for script in self._scripts.walk_revisions()}
        if row is not None and row[0] not in known:
            copy = backup.newest(path.parent, known)
            back = f", or go back with the copy {copy}" if copy is not None else ""
            words = f"the database has schema {row[0]}, this program knows up to {self._head}"
            raise Refused(f"{words}: use the newer rmctl{back}")

    def prepare(self, engine: Engine, environment: Environment, folder: Path | None = None) -> str:
        """Bring an empty or older database to this program's schema; of an older one in a folder a copy is kept there.

        Returns the id of the store. Raises Refused when that copy cannot be made, with the database as it was.
        """
        try:
            with engine.connect() as connection:
                with connection.begin():
                    found = MigrationContext.configure(connection).get_current_revision()
                if found != self._head:
                    self._migrate(connection, found, folder, environment.now())
                with connection.begin():
                    store = connection.execute(select(meta.c.value).where(meta.c.name == "store")).scalar_one_or_none()
                    if store is None:
                        store = environment.uuid()
                        connection.execute(insert(meta).values(name="store", value=store))
                    return str(store)
        except (DatabaseError, sqlite3.DatabaseError) as error:
            raise Refused(f"the database cannot be read: {getattr(error, 'orig', error)}") from error

    def _migrate(self, connection: Connection, found: str | None, folder: Path | None, now: float) -> None:
        """One transaction: a process that dies in it leaves the old schema."""
        if found is not None and folder is not None:
            try:
                driver = connection.connection.dbapi_connection
                copy = backup.before_migration(driver, folder, found, self._head, now)
            except (OSError, sqlite3.Error, backup.Unsound) as error:
                words = f"schema {found} is not migrated to {self._head}, since no copy of it can be kept"
                raise Refused(f"{words}: {error}") from error
            log.warning(
                "migrating the database",
                schema=found,
                to=self._head,
                backup=str(copy.path),
                resources=copy.resources,
            )
        self._config.attributes["connection"] = connection
        command.upgrade(self._config, "head")


def prepare(engine: Engine, environment: Environment) -> None:
    """This program's schema in a database that keeps no copies: in memory, or of a test."""
    Schema().prepare(engine, environment)


def _reading(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, and makes no files either where the log is empty. The folder is locked."""
    log_file = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log_file.exists() and log_file.stat().st_size else "immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)


def _carried() -> Path:
    here = Path(__file__).resolve().parent
    beside = here / "migrations"
    return beside if beside.exists() else here.parent / "migrations"
