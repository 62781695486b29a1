"""How Alembic runs the migrations: in the connection, and the transaction, that it is given."""

from alembic import context

from manners.evidence.schema import VERSIONS_TABLE, tables

if hasattr(context, "config"):  # not where a tool imports all modules to look at them
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=tables,
        version_table=VERSIONS_TABLE,
        transaction_per_migration=False,
    )
    context.run_migrations()
