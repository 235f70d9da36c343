from pathlib import Path

import pytest

from befund.core.configured import Cascade, Jury, ModelJudge
from befund.core.usage import Price
from befund.settings import Settings, SettingsError, load_settings, redacted


def settings_of(text: str = "", folder: Path | None = None, **variables: str) -> Settings:
    if folder is not None:
        file = folder / "befund.toml"
        file.write_text(text)
        variables["BEFUND_CONFIG"] = str(file)
    loaded = load_settings(variables)
    assert loaded.unknown == ()
    return loaded.settings


def model(settings: Settings, name: str = "openai") -> ModelJudge:
    (found,) = [judge for judge in settings.judges.every if judge.name == name]
    assert isinstance(found, ModelJudge)
    return found


def problem_with(text: str, folder: Path, **variables: str) -> str:
    with pytest.raises(SettingsError) as caught:
        settings_of(text, folder, **variables)
    return str(caught.value)


def test_an_ambient_key_alone_changes_nothing() -> None:
    judges = settings_of(OPENAI_API_KEY="sk-ambient", OPENAI_BASE_URL="http://elsewhere/v1").judges
    assert (judges.default, judges.every) == ("rules", ())


def test_a_model_in_the_environment_becomes_the_default_judge_openai() -> None:
    settings = settings_of(BEFUND_JUDGE_MODEL="gpt-4.1-mini", OPENAI_API_KEY="sk-ambient")
    assert settings.judges.default == "openai"
    judge = model(settings)
    assert (judge.model, judge.url, judge.key) == ("gpt-4.1-mini", "https://api.openai.com/v1", "sk-ambient")
    assert (judge.concurrency, judge.deadline_seconds, judge.price) == (16, 60.0, None)


def test_everything_about_it_can_be_said() -> None:
    judge = model(
        settings_of(
            BEFUND_JUDGE_MODEL="qwen",
            BEFUND_JUDGE_URL="http://127.0.0.1:8000/v1/",
            BEFUND_JUDGE_KEY="own",
            BEFUND_JUDGE_CONCURRENCY="4",
            BEFUND_JUDGE_DEADLINE_SECONDS="7.5",
            OPENAI_API_KEY="sk-ambient",
        )
    )
    assert (judge.url, judge.key) == ("http://127.0.0.1:8000/v1", "own")
    assert (judge.concurrency, judge.deadline_seconds) == (4, 7.5)


def test_an_endpoint_of_ones_own_needs_no_key() -> None:
    judge = model(settings_of(BEFUND_JUDGE_MODEL="qwen", BEFUND_JUDGE_URL="http://127.0.0.1:8000/v1"))
    assert judge.key is None


def test_openai_needs_a_key() -> None:
    with pytest.raises(SettingsError, match="OpenAI needs a key; set BEFUND_JUDGE_KEY, OPENAI_API_KEY"):
        settings_of(BEFUND_JUDGE_MODEL="gpt-4.1-mini")


FILE = """
judge = "careful"

[judges.strict]
model = "gpt-4.1"
key_env = "STRICT_KEY"
headers = { "X-Team" = "search" }
parameters = { reasoning_effort = "low" }
concurrency = 3
deadline_seconds = 20

[judges.local]
model = "qwen2.5"
url = "http://127.0.0.1:8000/v1"
price = { input = 0, output = 0 }

[judges.panel]
jury = ["strict", "local", "rules"]

[judges.careful]
cascade = ["rules", "panel"]

[prices."gpt-4.1"]
input = 2.0
output = 8.0
cached = 0.5
"""


def test_several_judges_are_read_from_the_file(tmp_path: Path) -> None:
    settings = settings_of(FILE, tmp_path, STRICT_KEY="s", OPENAI_API_KEY="sk-ambient")
    assert settings.judges.default == "careful"
    strict, local = model(settings, "strict"), model(settings, "local")
    assert (strict.key, strict.headers, strict.parameters) == ("s", {"X-Team": "search"}, {"reasoning_effort": "low"})
    assert (strict.concurrency, strict.deadline_seconds, strict.price) == (3, 20.0, Price(2.0, 8.0, 0.5))
    assert local.price == Price(0.0, 0.0)
    assert settings.judges.every[2:] == (
        Jury("panel", ("strict", "local", "rules")),
        Cascade("careful", ("rules", "panel")),
    )


def test_an_openai_key_does_not_go_to_another_address_by_itself(tmp_path: Path) -> None:
    settings = settings_of(FILE, tmp_path, STRICT_KEY="s", OPENAI_API_KEY="sk-ambient")
    assert model(settings, "local").key is None


def test_the_environment_wins_over_the_table_of_the_same_judge(tmp_path: Path) -> None:
    text = '[judges.openai]\nmodel = "a"\nkey = "k"\nconcurrency = 3\n[judges.other]\nmodel = "b"\nkey = "k"\n'
    settings = settings_of(text, tmp_path, BEFUND_JUDGE_MODEL="c", BEFUND_JUDGE="other")
    assert (model(settings).model, model(settings).key, model(settings).concurrency) == ("c", "k", 3)
    assert settings.judges.default == "other"


def test_without_a_word_about_the_default_the_rules_judge(tmp_path: Path) -> None:
    assert settings_of('[judges.other]\nmodel = "b"\nkey = "k"\n', tmp_path).judges.default == "rules"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('judge = "nobody"', "judge: 'nobody' cannot be used; it should be one of rules"),
        ("[judges.a]", "judges.a: has exactly one of model, jury and cascade"),
        ('[judges.a]\nmodel = "m"\njury = ["x", "y"]', "judges.a: has exactly one of"),
        ('[judges.rules]\nmodel = "m"', "judges.rules: cannot be a judge's name"),
        ('[judges."a b"]\nmodel = "m"', "judges.a b: cannot be a judge's name"),
        ('[judges.a]\nmodel = "m"\nmodell = "n"', "BEFUND_CONFIG, [judges]: Object contains unknown field `modell`"),
        ('[judges.a]\nmodel = "m"\nconcurrency = 0', "BEFUND_CONFIG, [judges]: Expected `int` >= 1"),
        ('[judges.a]\nmodel = "m"\nkey_env = "NO_SUCH"', "judges.a.key_env: there is no variable 'NO_SUCH'"),
        ('[judges.a]\nmodel = "m"', "judges.a: OpenAI needs a key"),
        ('[judges.a]\nmodel = "m"\nkey = "with space"', "judges.a: its key holds spaces"),
        ('[judges.a]\nmodel = "m"\nurl = "127.0.0.1:8000"', "judges.a: its URL should be"),
        ('[judges.a]\nmodel = "m"\nurl = "http://u:hunter2@h/v1"', "judges.a: its URL should be"),
        ('[judges.a]\nmodel = "m"\nurl = "http://h/v1/chat/completions"', "judges.a: its URL should be"),
        ('[judges.a]\nmodel = "m"\nkey = "k"\nparameters = {stream = true}', "judges.a.parameters: stream cannot be"),
        ('[judges.a]\nmodel = "m"\nkey = "k"\nheaders = {"X" = "ä"}', "judges.a.headers: 'X' cannot be sent"),
        ('[judges.a]\njury = ["rules"]', "judges.a: names at least two different judges"),
        ('[judges.a]\njury = ["rules", "rules"]', "judges.a: names at least two different judges"),
        ('[judges.a]\ncascade = ["rules", "a"]', "judges.a: names at least two different judges"),
        ('[judges.a]\ncascade = ["rules", "b"]', "judges.a: names at least two different judges out of rules"),
        ('[prices.m]\ninput = "2"\noutput = 1', "BEFUND_CONFIG, [prices]: Expected `float`, got `str`"),
        ('judges = "strict"', "BEFUND_CONFIG, [judges]: Expected `object`, got `str`"),
    ],
)
def test_a_judge_that_cannot_be_is_named_with_what_it_should_be(text: str, said: str, tmp_path: Path) -> None:
    message = problem_with(text, tmp_path)
    assert message.startswith(said)
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BEFUND_JUDGE_CONCURRENCY", "0"),
        ("BEFUND_JUDGE_CONCURRENCY", "1001"),
        ("BEFUND_JUDGE_CONCURRENCY", "many"),
        ("BEFUND_JUDGE_DEADLINE_SECONDS", "0"),
        ("BEFUND_JUDGE_DEADLINE_SECONDS", "1e3"),
        ("BEFUND_JUDGE_URL", " "),
    ],
)
def test_an_unusable_variable_is_named(name: str, value: str, tmp_path: Path) -> None:
    variables = {"BEFUND_JUDGE_MODEL": "m", "BEFUND_JUDGE_KEY": "k", name: value}
    assert problem_with("", tmp_path, **variables).startswith(f"{name}: ")


@pytest.mark.parametrize("name", ["URL", "KEY", "CONCURRENCY", "DEADLINE_SECONDS"])
def test_a_judge_without_a_model_is_said(name: str, tmp_path: Path) -> None:
    assert "set BEFUND_JUDGE_MODEL" in problem_with("", tmp_path, **{f"BEFUND_JUDGE_{name}": "5"})


def test_no_key_and_no_header_is_shown(tmp_path: Path) -> None:
    text = FILE.replace('"search"', '"hunter2"')
    settings = settings_of(text, tmp_path, STRICT_KEY="hunter3", BEFUND_JUDGE_MODEL="m", BEFUND_JUDGE_KEY="hunter4")
    shown = redacted(settings)
    assert shown["BEFUND_JUDGE"] == "careful"
    assert shown["judges.strict"] == "gpt-4.1 at https://api.openai.com/v1, with a key, 3 at once, 20 s"
    assert shown["judges.careful"] == "cascade of rules, panel"
    assert "hunter" not in f"{shown}{settings!r}"
