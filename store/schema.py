"""The schema's version: made, checked, and refused when newer than this program."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, insert, select
from sqlalchemy.exc import DatabaseError

from store.environment import Environment
from store.errors import Newer, Refused
from store.tables import meta


def prepare(engine: Engine, environment: Environment, *, keep: Callable[[str], None] | None = None) -> None:
    """Bring an empty or older database to this program's schema; `keep` is called with the older one's first.

    Raises Refused for a newer one or a file that is none.
    """
    config = _config()
    scripts = ScriptDirectory.from_config(config)
    try:
        with engine.connect() as connection:
            with connection.begin():
                found = MigrationContext.configure(connection).get_current_revision()
            known = {script.revision for script in scripts.walk_revisions()}
            if found is not None and found not in known:
                raise Newer(found, str(scripts.get_current_head()))
            if found is not None and found != scripts.get_current_head() and keep is not None:
                keep(found)
            if found != scripts.get_current_head():
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
            with connection.begin():
                if connection.execute(select(meta.c.value).where(meta.c.name == "store")).first() is None:
                    connection.execute(insert(meta).values(name="store", value=environment.uuid()))
    except (DatabaseError, sqlite3.DatabaseError) as error:
        raise Refused(f"the database cannot be read: {getattr(error, 'orig', error)}") from error


def known_schemas() -> tuple[frozenset[str], str]:
    """Every schema that this program can read or bring up to date, and the newest."""
    scripts = ScriptDirectory.from_config(_config())
    return frozenset(script.revision for script in scripts.walk_revisions()), str(scripts.get_current_head())


def _config() -> Config:
    here = Path(__file__).resolve().parent
    beside = here / "migrations"
    config = Config()
    config.set_main_option("script_location", str(beside if beside.exists() else here.parent / "migrations"))
    return config
