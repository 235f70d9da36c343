import pytest

from befund.core.families import model_families, share_a_family


@pytest.mark.parametrize(
    ("model", "families"),
    [
        ("gpt-4.1-mini", {"openai"}),
        ("openai/gpt-oss-120b", {"openai"}),
        ("o4-mini", {"openai"}),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc", {"openai"}),
        ("chatgpt-4o-latest", {"openai"}),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", {"anthropic"}),
        ("google/gemma-3-27b-it", {"google"}),
        ("meta-llama/Llama-3.1-8B-Instruct", {"meta"}),
        ("llama3.1:8b", {"meta"}),
        ("Qwen2.5-7B-Instruct", {"alibaba"}),
        ("mistralai/Mixtral-8x7B", {"mistral"}),
        ("DeepSeek-R1-Distill-Llama-8B", {"deepseek", "meta"}),
        ("nvidia/Llama-3.1-Nemotron-70B", {"meta", "nvidia"}),
        ("microsoft/phi-4", {"microsoft"}),
        ("command-r-plus", {"cohere"}),
        ("SmolLM2-135M-Instruct", {"hugging face"}),
        ("acme-answerer-7b", set()),
        ("dolphin", set()),
        ("", set()),
    ],
)
def test_families_are_read_from_names(model: str, families: set[str]) -> None:
    assert model_families(model) == families


@pytest.mark.parametrize(
    ("judge", "generator", "shared"),
    [
        ("gpt-4.1", "o4-mini", True),
        ("gpt-4.1", "claude-sonnet-4", False),
        ("DeepSeek-R1-Distill-Qwen-7B", "qwen3-8b", True),
        ("acme-1", "acme-1", True),
        ("acme-1", "acme-2", False),
        ("gpt-4.1", None, False),
    ],
)
def test_relatives_are_recognised(judge: str, generator: str | None, shared: bool) -> None:
    assert share_a_family(judge, generator) is shared
