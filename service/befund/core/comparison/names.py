"""What gates can look at beside retrieval metrics. Settings read it, so it stays quick to import."""

GIVEN_CLAIMS = "faithful_given_claims"
"""Faithful, of the answers that make a claim."""
JUDGED = ("correct", "faithful", "behaved", GIVEN_CLAIMS)
BUDGET = ("chunks_per_question", "tokens_per_question", "latency_ms", "cost_usd")
COUNTS = ("acl_leaks", "known_false_positives", "unscored")
"""What a gate can count by question of the candidate."""
