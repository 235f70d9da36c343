from pathlib import Path

import pytest

from befund.settings import Address, ApiKey, SettingsError, load_settings, parse_address, redacted


def problem_with(**variables: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(variables)
    return str(caught.value)


def test_nothing_set_listens_on_loopback_with_defaults() -> None:
    settings = load_settings({}).settings
    assert settings.listen == Address("127.0.0.1", 8080)
    assert settings.max_body_bytes == 268_435_456
    assert settings.log_questions == "summary"


def test_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "befund.toml"
    file.write_text('listen = "127.0.0.1:1"\nmax_body_bytes = 5\ninsecure = true\napi_keys = ["ci:s3cret=evaluate"]\n')
    settings = load_settings({"BEFUND_CONFIG": str(file), "BEFUND_LISTEN": "127.0.0.1:2"}).settings
    assert settings.listen.port == 2
    assert settings.max_body_bytes == 5
    assert settings.insecure is True
    assert settings.api_keys == (ApiKey("ci", "s3cret", frozenset({"evaluate"})),)


def test_keys_are_read_inline() -> None:
    keys = load_settings({"BEFUND_API_KEYS": "ci:a=b:c==evaluate+read,ops:xyz=admin"}).settings.api_keys
    assert keys == (
        ApiKey("ci", "a=b:c=", frozenset({"evaluate", "read"})),
        ApiKey("ops", "xyz", frozenset({"admin"})),
    )


def test_keys_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# callers\n\nci:one=evaluate\nops:two=admin+read\n")
    keys = load_settings({"BEFUND_API_KEYS": str(file)}).settings.api_keys
    assert [key.name for key in keys] == ["ci", "ops"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("ci:hunter2=write", "entry 1 (ci)"),
        ("ok:fine=read,ci:hunter2", "entry 2 (ci)"),
        ("ci:=evaluate", "entry 1 (ci)"),
        ("ci:hunter2=read,ci:hunter3=read", "one name is given twice"),
        ("ci:hunter2=read,me:hunter2=read", "one key is given twice"),
        ("hunter2", "the path of a file"),
    ],
)
def test_a_bad_key_entry_is_named_and_never_shown(value: str, said: str) -> None:
    message = problem_with(BEFUND_API_KEYS=value)
    assert message.startswith("BEFUND_API_KEYS: ")
    assert said in message
    assert "hunter" not in message


@pytest.mark.parametrize(
    ("name", "value", "should_be"),
    [
        ("BEFUND_LISTEN", "8080", "an address and port such as 127.0.0.1:8080"),
        ("BEFUND_LISTEN", "127.0.0.1:65536", "an address and port"),
        ("BEFUND_INSECURE", "maybe", "true or false"),
        ("BEFUND_MAX_BODY_BYTES", "0", "a whole number of bytes, at least 1"),
        ("BEFUND_MAX_BODY_BYTES", "1e6", "a whole number of bytes"),
        ("BEFUND_DATA_DIR", "", "the path of a folder"),
        ("BEFUND_LOG_LEVEL", "loud", "one of debug, info, warning, error"),
        ("BEFUND_LOG_CONTENT", "", "true or false"),
        ("BEFUND_LOG_QUESTIONS", "some", "one of summary, all"),
    ],
)
def test_an_unusable_value_names_the_setting_the_value_and_what_it_should_be(
    name: str, value: str, should_be: str
) -> None:
    message = problem_with(**{name: value})
    assert message.startswith(f"{name}: {value!r} cannot be used; it should be ")
    assert should_be in message


@pytest.mark.parametrize("name", ["BEFUND_CHROMA_URL", "BEFUND_EMBEDDING_URL"])
@pytest.mark.parametrize(
    "value", ["hunter2:8000", "http://[", "http://me:hunter2@host", "http://host:99999", "ftp://host"]
)
def test_a_bad_address_is_not_repeated_since_it_may_hold_a_password(name: str, value: str) -> None:
    message = problem_with(**{name: value})
    should_be = "an address such as http://host:8000, without a password"
    assert message == f"{name}: the value cannot be used; it should be {should_be}"


def test_a_file_that_is_missing_or_broken_stops_the_start(tmp_path: Path) -> None:
    assert "No such file" in problem_with(BEFUND_CONFIG=str(tmp_path / "none.toml"))
    broken = tmp_path / "broken.toml"
    broken.write_text("listen = \n")
    assert "is not TOML" in problem_with(BEFUND_CONFIG=str(broken))


def test_unknown_names_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "befund.toml"
    file.write_text('lissten = "x"\nmetrics_runs = ["main"]\n')
    loaded = load_settings({"BEFUND_CONFIG": str(file), "BEFUND_LOGLEVEL": "info", "OTHER": "x"})
    assert loaded.unknown == ("BEFUND_LOGLEVEL", "lissten (in BEFUND_CONFIG)")


def test_names_of_the_contract_not_used_yet_are_known() -> None:
    names = ["JUDGE_MODEL", "JUDGE_KEY", "URL", "API_KEY"]
    assert load_settings({f"BEFUND_{name}": "x" for name in names}).unknown == ()


def test_what_kubernetes_injects_is_ignored() -> None:
    injected = {
        "BEFUND_PORT": "tcp://10.0.0.1:8080",
        "BEFUND_SERVICE_HOST": "10.0.0.1",
        "BEFUND_SERVICE_PORT": "8080",
        "BEFUND_SERVICE_PORT_HTTP": "8080",
        "BEFUND_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "BEFUND_PORT_8080_TCP_PROTO": "tcp",
        "BEFUND_PORT_8080_TCP_ADDR": "10.0.0.1",
        "BEFUND_WEB_PORT": "tcp://10.0.0.1:80",
    }
    assert load_settings(injected).unknown == ()


def test_a_port_set_by_hand_is_not_taken_for_kubernetes() -> None:
    assert load_settings({"BEFUND_PORT": "8080"}).unknown == ("BEFUND_PORT",)


@pytest.mark.parametrize("listen", ["0.0.0.0:8080", "[::]:8080", "192.168.1.4:80", "befund.example:80"])
def test_an_address_others_can_reach_is_refused_without_a_key(listen: str) -> None:
    with pytest.raises(SettingsError, match="BEFUND_INSECURE=true"):
        load_settings({"BEFUND_LISTEN": listen}).settings.refuse_open_address()
    load_settings({"BEFUND_LISTEN": listen, "BEFUND_INSECURE": "true"}).settings.refuse_open_address()
    load_settings({"BEFUND_LISTEN": listen, "BEFUND_API_KEYS": "ci:k=read"}).settings.refuse_open_address()


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "127.8.0.1:1", "[::1]:8080", "localhost:8080"])
def test_loopback_needs_no_key(listen: str) -> None:
    load_settings({"BEFUND_LISTEN": listen}).settings.refuse_open_address()
    assert str(parse_address(listen)) == listen


def test_the_ambient_key_is_used_only_with_an_embedder_of_its_own() -> None:
    alone = load_settings({"OPENAI_API_KEY": "hunter2"}).settings
    assert alone.embedding_key is None
    with_embedder = load_settings({"OPENAI_API_KEY": "hunter2", "BEFUND_EMBEDDER": "small"}).settings
    assert with_embedder.embedding_key is not None
    assert with_embedder.embedding_key.value == "hunter2"
    own = load_settings({"OPENAI_API_KEY": "x", "BEFUND_EMBEDDER": "small", "BEFUND_EMBEDDING_KEY": "own"}).settings
    assert own.embedding_key is not None
    assert own.embedding_key.value == "own"


def test_redacted_settings_hold_no_key() -> None:
    settings = load_settings(
        {"BEFUND_API_KEYS": "ci:hunter2=evaluate+read", "BEFUND_EMBEDDING_KEY": "hunter2"}
    ).settings
    assert redacted(settings)["BEFUND_API_KEYS"] == "ci:***=evaluate+read"
    assert redacted(settings)["BEFUND_EMBEDDING_KEY"] == "***"
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("value", [" = " + "[" * 100_000, " = " + "{a=" * 5000, ".a" * 1000 + " = 1"])
def test_a_file_nested_deeply_is_an_error_of_the_file(tmp_path: Path, value: str) -> None:
    file = tmp_path / "befund.toml"
    file.write_text(f"listen{value}")
    assert problem_with(BEFUND_CONFIG=str(file)).endswith("is nested too deeply; settings are plain values")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "soon", "100000"])
def test_seconds_are_whole_and_positive(value: str) -> None:
    assert "a whole number of seconds" in problem_with(BEFUND_SHUTDOWN_SECONDS=value)


@pytest.mark.parametrize(
    ("variable", "text", "attribute", "value"),
    [
        ("DATA_DIR", "/var/lib/befund", "data_dir", Path("/var/lib/befund")),
        ("DATABASE_URL", "sqlite:////data/b.sqlite", "database_url", "sqlite+aiosqlite:////data/b.sqlite"),
        ("DATABASE_URL", "postgresql://u:p@h/b", "database_url", "postgresql+asyncpg://u:p@h/b"),
        ("DATABASE_URL", "postgresql+asyncpg://u:p@h/b", "database_url", "postgresql+asyncpg://u:p@h/b"),
        ("DATABASE_URL", "", "database_url", None),
        ("STORE_CONTENT", "IDS", "store_content", "ids"),
        ("RETENTION_DAYS", "30", "retention_days", 30),
        ("RETENTION_DAYS", "", "retention_days", None),
        ("MONITOR_ENTRIES", "5000", "monitor_entries", 5000),
        ("METRICS_RUNS", "main, nightly", "metrics_runs", ("main", "nightly")),
        ("METRICS_RUNS", "", "metrics_runs", ()),
    ],
)
def test_what_is_kept_and_where_can_be_set(variable: str, text: str, attribute: str, value: object) -> None:
    assert getattr(load_settings({f"BEFUND_{variable}": text}).settings, attribute) == value


def test_by_default_everything_is_kept_for_ever_in_the_current_folder() -> None:
    settings = load_settings({}).settings
    assert (settings.data_dir, settings.database_url) == (Path("befund-data"), None)
    assert (settings.store_content, settings.retention_days, settings.metrics_runs) == ("full", None, ("main",))


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("DATA_DIR", ""),
        ("DATABASE_URL", "mysql://u:hunter2@h/b"),
        ("STORE_CONTENT", "some"),
        ("RETENTION_DAYS", "0"),
        ("RETENTION_DAYS", "1.5"),
        ("METRICS_RUNS", "a b"),
        ("METRICS_RUNS", ",".join(map(str, range(21)))),
    ],
)
def test_what_cannot_be_kept_is_said_without_a_password(variable: str, text: str) -> None:
    message = problem_with(**{f"BEFUND_{variable}": text})
    assert message.startswith(f"BEFUND_{variable}: ")
    assert "hunter2" not in message


def test_the_password_of_the_database_is_not_shown() -> None:
    shown = redacted(load_settings({"BEFUND_DATABASE_URL": "postgresql://u:hunter2@h/b"}).settings)
    assert shown["BEFUND_DATABASE_URL"] == "postgresql+asyncpg://u:***@h/b"
