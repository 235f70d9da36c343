"""The tables of the store. What is JSON is bytes: it is written and read by msgspec, never searched by the database."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

versions = Table(
    "dataset_versions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", String(71), nullable=False, unique=True),
    Column("questions_hash", String(71), nullable=False),
    Column("mapping_hash", String(71), nullable=False),
    Column("generated", Boolean, nullable=False),
    Column("evidence_mapping", LargeBinary, nullable=False),
    Column("questions", Integer, nullable=False),
    Column("splits", LargeBinary, nullable=False),
    Column("behaviors", LargeBinary, nullable=False),
    Column("content", String(4), nullable=False),
    Column("created", BigInteger, nullable=False),
)
"""Data set versions by content, whatever they are called. Times are microseconds since 1970, in UTC."""

questions = Table(
    "dataset_questions",
    metadata,
    Column("version_id", Integer, ForeignKey("dataset_versions.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("question_id", Text, nullable=False),
    Column("hash", String(71), nullable=False),
    Column("json", LargeBinary, nullable=False),
    Index("dataset_questions_by_id", "version_id", "question_id"),
)

names = Table(
    "dataset_names",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("version_id", Integer, ForeignKey("dataset_versions.id"), primary_key=True),
    Column("turn", Integer, nullable=False),
)
"""Which versions a name has; it stands for the one of the highest turn."""

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(128), nullable=False, unique=True),
    Column("dataset_name", String(128)),
    Column("version_id", Integer, ForeignKey("dataset_versions.id"), nullable=False, index=True),
    Column("identity", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False, index=True),
    sqlite_autoincrement=True,
)
"""Ids are never used twice, so that a reader of one run cannot come upon another's records."""

results = Table(
    "results",
    metadata,
    Column("run_id", Integer, ForeignKey("runs.id"), primary_key=True),
    Column("question_id", Text, primary_key=True),
    Column("part", String(160), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("question_hash", String(71), nullable=False),
    Column("json", LargeBinary, nullable=False),
    Index("results_by_position", "run_id", "position"),
)
"""What each part of the service found for each question of a run: one place for all of it."""

measurements = Table(
    "test_measurements",
    metadata,
    Column("dataset_name", String(128), primary_key=True),
    Column("times", Integer, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    Column("caller", String(128), primary_key=True),
    Column("key", String(256), primary_key=True),
    Column("request", String(71), nullable=False),
    Column("answer", LargeBinary),
    Column("created", BigInteger, nullable=False, index=True),
)
"""Answers to requests that stored something and may come again."""

jobs = Table(
    "jobs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("state", String(16), nullable=False, index=True),
    Column("caller", String(128), nullable=False),
    Column("key", String(256)),
    Column("request", String(71), nullable=False),
    Column("about", LargeBinary, nullable=False),
    Column("total", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("spent", Float, nullable=False),
    Column("outcome", LargeBinary),
    Column("owner", String(32)),
    Column("leased_until", BigInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    UniqueConstraint("caller", "key"),
)
"""Work in the background. Whoever holds the lease does it; one whose lease is over is taken up by another."""

job_items = Table(
    "job_items",
    metadata,
    Column("job_id", String(32), ForeignKey("jobs.id"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("item", LargeBinary, nullable=False),
    Column("result", LargeBinary),
)

monitors = Table(
    "monitors",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(128), nullable=False, unique=True),
    Column("held", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
)

monitor_shapes = Table(
    "monitor_shapes",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("json", LargeBinary, nullable=False),
)
"""What answers have in common, of which there are few kinds; `id` follows from the content."""

monitor_entries = Table(
    "monitor_entries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("monitor_id", Integer, ForeignKey("monitors.id"), nullable=False),
    Column("key", String(32), nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("shape_id", BigInteger, ForeignKey("monitor_shapes.id"), nullable=False),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cost_usd", Float),
    Column("judge_ms", Float),
    Column("generation_ms", Float),
    UniqueConstraint("monitor_id", "key"),
    Index("monitor_entries_by_time", "monitor_id", "time"),
)
"""What figures are made of, and nothing wide: a hundred thousand rows are read to answer one question."""

monitor_texts = Table(
    "monitor_texts",
    metadata,
    Column("entry_id", Integer, ForeignKey("monitor_entries.id"), primary_key=True, autoincrement=False),
    Column("json", LargeBinary, nullable=False),
)
"""What people read of an entry."""

calibrations = Table(
    "calibrations",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("fingerprint", String(71), nullable=False, index=True),
    Column("json", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
)
"""How judges, by fingerprint, agree with people; the newest of a judge counts."""
