"""Monitors: judgments of online traffic, by time."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "monitors",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(128), nullable=False, unique=True),
        sa.Column("held", sa.Integer, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("updated", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "monitor_shapes",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("json", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "monitor_entries",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("monitor_id", sa.Integer, sa.ForeignKey("monitors.id"), nullable=False),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("shape_id", sa.BigInteger, sa.ForeignKey("monitor_shapes.id"), nullable=False),
        sa.Column("input_tokens", sa.Integer),
        sa.Column("output_tokens", sa.Integer),
        sa.Column("cached_tokens", sa.Integer),
        sa.Column("cost_usd", sa.Float),
        sa.Column("judge_ms", sa.Float),
        sa.Column("generation_ms", sa.Float),
        sa.UniqueConstraint("monitor_id", "key"),
    )
    op.create_index("monitor_entries_by_time", "monitor_entries", ["monitor_id", "time"])
    op.create_table(
        "monitor_texts",
        sa.Column("entry_id", sa.Integer, sa.ForeignKey("monitor_entries.id"), primary_key=True, autoincrement=False),
        sa.Column("json", sa.LargeBinary, nullable=False),
    )
