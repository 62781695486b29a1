"""Alembic runs the migrations in the connection and the transaction that it is given."""

from alembic import context

from manners.store.schema import VERSIONS_TABLE

if hasattr(context, "config"):  # not when a tool imports all modules
    context.configure(
        connection=context.config.attributes["connection"],
        version_table=VERSIONS_TABLE,
        transaction_per_migration=False,
    )
    context.run_migrations()
