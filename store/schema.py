"""The schema's version: made, checked, and refused when newer than this program."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import DatabaseError

from store.environment import Environment
from store.errors import Newer, Refused
from store.tables import meta


class Schema:
    """Migrations of one program, by default those that it carries. `known` are its revisions, `head` the newest."""

    def __init__(self, migrations: Path | None = None, migrated: Callable[[], None] | None = None) -> None:
        self._config = Config()
        self._config.attributes["migrated"] = migrated
        self._config.set_main_option("script_location", str(migrations or _carried()))
        scripts = ScriptDirectory.from_config(self._config)
        self.known = frozenset(script.revision for script in scripts.walk_revisions())
        self.head = str(scripts.get_current_head())

    def check(self, path: Path, store: str = "") -> None:
        """Raises Newer, or Refused for a damaged file or one that is no database; no byte of it is changed.

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
        if row is not None and row[0] not in self.known:
            raise Newer(row[0], self.head)

    def prepare(self, engine: Engine, environment: Environment, *, keep: Callable[[str], object] | None = None) -> str:
        """Bring an empty or older database to this program's schema; `keep` is called with the older one's first.

        Returns the id of the store. A process that dies in a migration leaves the old schema. Raises Refused.
        """
        try:
            with engine.connect() as connection:
                with connection.begin():
                    found = MigrationContext.configure(connection).get_current_revision()
                if found is not None and found != self.head and keep is not None:
                    keep(found)
                if found != self.head:
                    self._config.attributes["connection"] = connection
                    command.upgrade(self._config, "head")
                with connection.begin():
                    return _store_of(connection, environment)
        except (DatabaseError, sqlite3.DatabaseError) as error:
            raise Refused(f"the database cannot be read: {getattr(error, 'orig', error)}") from error


def prepare(engine: Engine, environment: Environment) -> None:
    """This program's schema in a database of which no copies are kept: in memory, or of a test."""
    Schema().prepare(engine, environment)


def _store_of(connection: Connection, environment: Environment) -> str:
    found = connection.execute(select(meta.c.value).where(meta.c.name == "store")).scalar_one_or_none()
    if found is None:
        found = environment.uuid()
        connection.execute(insert(meta).values(name="store", value=found))
    return str(found)


def _reading(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, and makes no files either where the log is empty. The folder is locked."""
    log_file = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log_file.exists() and log_file.stat().st_size else "immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)


def _carried() -> Path:
    here = Path(__file__).resolve().parent
    beside = here / "migrations"
    return beside if beside.exists() else here.parent / "migrations"
