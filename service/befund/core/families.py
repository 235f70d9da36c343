"""Which models are relatives: a judge tends to favour the answers of its own family."""

import re

SHARED_MODEL_FAMILY = "SHARED_MODEL_FAMILY"

_FAMILIES = {
    "openai": r"gpt|chatgpt|o[1-9]|davinci|codex",
    "anthropic": r"claude",
    "google": r"gemini|gemma|palm|bison",
    "meta": r"llama|codellama",
    "mistral": r"mistral|mixtral|ministral|codestral|magistral|pixtral|devstral|nemo",
    "alibaba": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "microsoft": r"phi|wizardlm|orca",
    "cohere": r"command|aya|c4ai",
    "xai": r"grok",
    "amazon": r"nova|titan",
    "moonshot": r"kimi|moonshot",
    "zhipu": r"glm|chatglm",
    "01-ai": r"yi",
    "ibm": r"granite",
    "ai21": r"jamba|jurassic",
    "tii": r"falcon",
    "hugging face": r"smollm|zephyr",
    "allen": r"olmo|tulu",
    "nvidia": r"nemotron",
    "baidu": r"ernie",
    "minimax": r"minimax|abab",
}
_KNOWN = {family: re.compile(rf"(?<![a-z])(?:{names})(?![a-z])") for family, names in _FAMILIES.items()}
_VENDORS = re.compile(r"^(?:[a-z0-9_.-]+/)+")


def model_families(model: str) -> frozenset[str]:
    """The families a model's name speaks of: several for a distillation, none where the name is not known.

    >>> sorted(model_families("meta-llama/Llama-3.1-8B-Instruct")), sorted(model_families("my-model"))
    (['meta'], [])
    >>> sorted(model_families("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B"))
    ['alibaba', 'deepseek']
    """
    bare = _VENDORS.sub("", model.strip().lower())
    return frozenset(family for family, names in _KNOWN.items() if names.search(bare))


def share_a_family(judge: str, generator: str | None) -> bool:
    """Whether judge and generator are known to be relatives, or the same model."""
    if not generator:
        return False
    same = judge.strip().lower() == generator.strip().lower()
    return same or bool(model_families(judge) & model_families(generator))
