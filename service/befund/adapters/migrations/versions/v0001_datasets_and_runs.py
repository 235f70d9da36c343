"""Data sets, runs with their results, remembered answers."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "dataset_versions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("hash", sa.String(71), nullable=False, unique=True),
        sa.Column("questions_hash", sa.String(71), nullable=False),
        sa.Column("mapping_hash", sa.String(71), nullable=False),
        sa.Column("generated", sa.Boolean, nullable=False),
        sa.Column("evidence_mapping", sa.LargeBinary, nullable=False),
        sa.Column("questions", sa.Integer, nullable=False),
        sa.Column("splits", sa.LargeBinary, nullable=False),
        sa.Column("behaviors", sa.LargeBinary, nullable=False),
        sa.Column("content", sa.String(4), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "dataset_questions",
        sa.Column("version_id", sa.Integer, sa.ForeignKey("dataset_versions.id"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("question_id", sa.Text, nullable=False),
        sa.Column("hash", sa.String(71), nullable=False),
        sa.Column("json", sa.LargeBinary, nullable=False),
    )
    op.create_index("dataset_questions_by_id", "dataset_questions", ["version_id", "question_id"])
    op.create_table(
        "dataset_names",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("version_id", sa.Integer, sa.ForeignKey("dataset_versions.id"), primary_key=True),
        sa.Column("turn", sa.Integer, nullable=False),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(128), nullable=False, unique=True),
        sa.Column("dataset_name", sa.String(128)),
        sa.Column("version_id", sa.Integer, sa.ForeignKey("dataset_versions.id"), nullable=False, index=True),
        sa.Column("identity", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("updated", sa.BigInteger, nullable=False, index=True),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "results",
        sa.Column("run_id", sa.Integer, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("question_id", sa.Text, primary_key=True),
        sa.Column("part", sa.String(160), primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("question_hash", sa.String(71), nullable=False),
        sa.Column("json", sa.LargeBinary, nullable=False),
    )
    op.create_index("results_by_position", "results", ["run_id", "position"])
    op.create_table(
        "test_measurements",
        sa.Column("dataset_name", sa.String(128), primary_key=True),
        sa.Column("times", sa.Integer, nullable=False),
    )
    op.create_table(
        "answers",
        sa.Column("caller", sa.String(128), primary_key=True),
        sa.Column("key", sa.String(256), primary_key=True),
        sa.Column("request", sa.String(71), nullable=False),
        sa.Column("answer", sa.LargeBinary),
        sa.Column("created", sa.BigInteger, nullable=False, index=True),
    )
