"""The Alembic environment: runs on the connection that the store hands over."""

from __future__ import annotations

from alembic import context

from store.node_tables import schema

connection = context.config.attributes["connection"]
migrated = context.config.attributes.get("migrated")
context.configure(
    connection=connection,
    target_metadata=schema,
    transactional_ddl=True,
    on_version_apply=lambda **_: migrated() if migrated else None,
)
with context.begin_transaction():
    context.run_migrations()
