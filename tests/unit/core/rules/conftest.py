import msgspec
import pytest

from befund.adapters.lexicon import InstalledLexicon
from befund.adapters.rules_judge import WEIGHTS
from befund.core.rules.judge import Knowledge
from befund.core.rules.weights import Weights


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """Language data and weights as the service has them."""
    return Knowledge(InstalledLexicon(), msgspec.json.decode(WEIGHTS.read_bytes(), type=Weights))
