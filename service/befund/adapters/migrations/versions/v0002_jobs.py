"""Jobs: batches of answers that are judged in the background."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("caller", sa.String(128), nullable=False),
        sa.Column("key", sa.String(256)),
        sa.Column("request", sa.String(71), nullable=False),
        sa.Column("about", sa.LargeBinary, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("spent", sa.Float, nullable=False),
        sa.Column("outcome", sa.LargeBinary),
        sa.Column("owner", sa.String(32)),
        sa.Column("leased_until", sa.BigInteger, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("updated", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("caller", "key"),
    )
    op.create_table(
        "job_items",
        sa.Column("job_id", sa.String(32), sa.ForeignKey("jobs.id"), primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("item", sa.LargeBinary, nullable=False),
        sa.Column("result", sa.LargeBinary),
    )
