"""Calibrations: how judges agree with people."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "calibrations",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("fingerprint", sa.String(71), nullable=False, index=True),
        sa.Column("json", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
