"""What Alembic runs: inside the connection and the transaction of whoever opened the store."""

from alembic import context

from befund.adapters.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
