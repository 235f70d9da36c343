"""Settings: `BEFUND_*` variables first, then the TOML file that `BEFUND_CONFIG` names.

One frozen Struct holds what the service runs with. A value that cannot be used is an error naming the setting and what
it should be; it repeats the value only where that cannot be a secret. A name nobody knows is reported, so that a typing
error does not silently leave a default in place.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from befund import judge_settings
from befund.contract import Gate
from befund.core.configured import Judges
from befund.core.errors import BefundError
from befund.core.gates.spec import check_gates

PREFIX = "BEFUND_"
MIB = 1024 * 1024

Scope = Literal["evaluate", "read", "admin"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogQuestions = Literal["summary", "all"]
Content = Literal["full", "ids"]


class SettingsError(Exception):
    """A setting has a value the service cannot run with."""


class Address(Struct, frozen=True):
    """Where the service listens."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class ApiKey(Struct, frozen=True):
    """A caller's key: its name is what logs and metrics show, its secret is never shown."""

    name: str
    secret: str
    scopes: frozenset[Scope]

    def __repr__(self) -> str:
        return f"{self.name}:***={'+'.join(sorted(self.scopes))}"


class Secret(Struct, frozen=True):
    """A key of another service, which is shown nowhere."""

    value: str

    def __repr__(self) -> str:
        return "***"


class Settings(Struct, frozen=True, kw_only=True):
    """What the service runs with.

    Attributes:
        listen: Address to listen on; port 0 takes a free one.
        api_keys: Who may call. Without any, every caller on the listening address may do everything.
        insecure: Allows an address other than loopback without a key.
        max_body_bytes: Largest body of the routes that take whole evaluations.
        body_timeout_seconds: How long a body may take to arrive.
        shutdown_seconds: How long what was accepted may take to finish after a signal.
        data_dir: Folder of everything the service keeps, made when it is needed.
        database_url: Where runs and data sets are kept, instead of a SQLite file in `data_dir`.
        store_content: Whether texts are kept (`full`), or ids, gold and figures alone (`ids`).
        retention_days: Days until a run is deleted after its last write, an answer in a monitor after it was judged;
            None keeps them for ever.
        monitor_entries: How many answers a monitor keeps; the oldest make room.
        metrics_runs: Runs whose retrieval metrics are shown to Prometheus.
        chroma_url: A Chroma server that holds the index, instead of a folder in `data_dir`.
        embedder: Model of an embedding endpoint, instead of the static vectors that need none.
        embedding_url: Base URL of that endpoint, OpenAI-compatible.
        embedding_key: Its key.
        log_level: Lowest level logged.
        log_content: Whether question, answer and chunk text, and error texts that may quote them, are logged.
        log_questions: One line per question for small requests only (`summary`), or always (`all`).
        judges: Who judges answers.
        gates: What decides comparisons that bring no gates.
    """

    listen: Address = field(default_factory=lambda: Address("127.0.0.1", 8080))
    api_keys: tuple[ApiKey, ...] = ()
    insecure: bool = False
    max_body_bytes: int = 256 * MIB
    body_timeout_seconds: int = 300
    shutdown_seconds: int = 25
    data_dir: Path = Path("befund-data")
    database_url: str | None = None
    store_content: Content = "full"
    retention_days: int | None = None
    monitor_entries: int = 1_000_000
    metrics_runs: tuple[str, ...] = ("main",)
    chroma_url: str | None = None
    embedder: str | None = None
    embedding_url: str = "https://api.openai.com/v1"
    embedding_key: Secret | None = None
    log_level: LogLevel = "info"
    log_content: bool = False
    log_questions: LogQuestions = "summary"
    judges: Judges = Judges()
    gates: tuple[Gate, ...] = ()

    def refuse_open_address(self) -> None:
        """Refuse to serve everybody who can reach this machine, unless that is said to be wanted."""
        if self.api_keys or self.insecure or self.listen.is_loopback:
            return
        raise SettingsError(
            f"BEFUND_LISTEN: {self.listen} can be reached from other machines and no key is configured; "
            "set BEFUND_API_KEYS, listen on 127.0.0.1, or set BEFUND_INSECURE=true"
        )


class Loaded(Struct, frozen=True):
    """The settings, and the names that were given and mean nothing."""

    settings: Settings
    unknown: tuple[str, ...]


def load_settings(environ: Mapping[str, str]) -> Loaded:
    """Read the settings from the environment and the file it names.

    Raises:
        SettingsError: A value cannot be used, or the file cannot be read.
    """
    variables = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    from_file = _read_file(variables["BEFUND_CONFIG"]) if variables.get("BEFUND_CONFIG") else {}
    names = (*_READERS, *judge_settings.VARIABLES)
    given: dict[str, tuple[str, str]] = {name: (name, _as_text(from_file[name])) for name in names if name in from_file}
    for name in names:
        variable = PREFIX + name.upper()
        if variable in variables:
            given[name] = (variable, variables[variable])
    values: dict[str, Any] = {name: _read(name, *given[name]) for name in _READERS if name in given}
    if values.get("embedder"):  # without an embedder of its own the service sends nothing anywhere, key or not
        ambient = environ.get("OPENAI_API_KEY")
        values.setdefault("embedding_key", Secret(ambient) if ambient else None)
    try:
        judges = judge_settings.read_judges(given, from_file, environ)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    settings = Settings(**values, judges=judges, gates=_read_gates(from_file.get("gates", [])))
    unknown_variables = [name for name, value in variables.items() if not _is_known(name, value)]
    unknown_keys = [f"{name} (in BEFUND_CONFIG)" for name in from_file if name not in _READERS and name not in _LATER]
    return Loaded(settings, tuple(sorted(unknown_variables) + sorted(unknown_keys)))


def parse_address(text: str) -> Address:
    """Read `host:port`; an IPv6 address stands in brackets.

    >>> str(parse_address("[::1]:8080"))
    '[::1]:8080'
    """
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:\[\]]+)):(\d{1,5})", text)
    if match is None or int(match[3]) > 65535:
        raise ValueError("an address and port such as 127.0.0.1:8080 or [::1]:8080")
    return Address(match[1] or match[2], int(match[3]))


def parse_api_keys(text: str) -> tuple[ApiKey, ...]:
    """Read `name:key=scope+scope` entries, given inline with commas between, or as the path of a file of lines.

    No message repeats any part of an entry but its name: what looks like a bad scope may be the tail of a key.
    """
    entries = _key_entries(text)
    keys = tuple(_parse_api_key(number, entry) for number, entry in enumerate(entries, start=1))
    if len({key.name for key in keys}) < len(keys):
        raise ValueError("keys with different names; one name is given twice")
    if len({key.secret for key in keys}) < len(keys):
        raise ValueError("a different key for every name; one key is given twice")
    return keys


def redacted(settings: Settings) -> dict[str, str]:
    """Give the settings as text, by variable, without any secret."""
    values: dict[str, object] = {
        **{name: getattr(settings, name) for name in _READERS},
        "api_keys": ",".join(repr(key) for key in settings.api_keys),
        "database_url": _without_password(settings.database_url or ""),
        "metrics_runs": ",".join(settings.metrics_runs),
        "retention_days": settings.retention_days or "",
        "chroma_url": settings.chroma_url or "",
        "embedder": settings.embedder or "",
        "embedding_key": settings.embedding_key or "",
    }
    shown = {PREFIX + name.upper(): _as_text(value) for name, value in values.items()}
    return shown | judge_settings.described(settings.judges)


def _key_entries(text: str) -> list[str]:
    if not text or re.match(r"[A-Za-z0-9._-]+:", text):
        return [entry for entry in text.split(",") if entry]
    try:
        lines = Path(text).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ValueError(
            "entries name:key=scope+scope with commas between, or the path of a file with one entry a line "
            f"({type(error).__name__})"
        ) from error
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _parse_api_key(number: int, entry: str) -> ApiKey:
    name, colon, rest = entry.strip().partition(":")
    secret, equals, scopes = rest.rpartition("=")
    known: tuple[Scope, ...] = get_args(Scope)
    named = frozenset(scope for scope in known if scope in scopes.split("+"))
    if not colon or not re.fullmatch(r"[A-Za-z0-9._-]{1,128}", name):
        raise ValueError(f"entries name:key=scope+scope; entry {number} does not begin with a name and a colon")
    if not equals or not re.fullmatch(r"[\x21-\x7e]+", secret):
        raise ValueError(f"entries name:key=scope+scope; entry {number} ({name}) lacks its key or its scopes")
    if len(named) != len(scopes.split("+")):
        raise ValueError(
            f"entries name:key=scope+scope with the scopes {', '.join(known)}; see entry {number} ({name})"
        )
    return ApiKey(name, secret, named)


def _parse_flag(text: str) -> bool:
    flags = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    try:
        return flags[text.lower()]
    except KeyError:
        raise ValueError("true or false") from None


def _parse_bytes(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) < 1:
        raise ValueError("a whole number of bytes, at least 1")
    return int(text)


def _parse_seconds(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) < 1:
        raise ValueError("a whole number of seconds, 1 to 99999")
    return int(text)


def _parse_days(text: str) -> int | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) < 1:
        raise ValueError("a whole number of days, at least 1, or nothing to keep runs for ever")
    return int(text)


def _parse_entries(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,8}", text) or int(text) < 1:
        raise ValueError("a whole number of answers, from 1 to 99999999")
    return int(text)


def _parse_folder(text: str) -> Path:
    if not text or "\0" in text:
        raise ValueError("the path of a folder")
    return Path(text).expanduser()


def _parse_database_url(text: str) -> str | None:
    """Read the address of a database; the driver is chosen here, so that none needs to be named."""
    if not text:
        return None
    for scheme, driver in _DRIVERS.items():
        if text.startswith(f"{scheme}://") or text.startswith(f"{driver}://"):
            return f"{driver}://{text.partition('://')[2]}"
    raise ValueError("sqlite:////absolute/path/of/a/file or postgresql://user:password@host/name")


def _parse_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if len(names) > _MOST_NAMES or not all(re.fullmatch(r"[A-Za-z0-9._-]{1,128}", name) for name in names):
        raise ValueError(f"at most {_MOST_NAMES} names of letters, digits, dots, lines and underscores, commas between")
    return names


def _without_password(url: str) -> str:
    return re.sub(r"(?<=://)([^/@:]*):[^/@]*@", r"\1:***@", url)


def _parse_url(text: str) -> str:
    """Read an address; a password in it would be shown where the address is."""
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or "@" in text:
        raise ValueError("an address such as http://host:8000, without a password")
    return text.rstrip("/")


def _parse_choice(choices: Any) -> Callable[[str], str]:
    allowed: tuple[str, ...] = get_args(choices)

    def parse(text: str) -> str:
        if text.lower() not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return text.lower()

    return parse


_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
_MOST_NAMES = 20
_READERS: dict[str, Callable[[str], Any]] = {
    "listen": parse_address,
    "api_keys": parse_api_keys,
    "insecure": _parse_flag,
    "max_body_bytes": _parse_bytes,
    "body_timeout_seconds": _parse_seconds,
    "shutdown_seconds": _parse_seconds,
    "data_dir": _parse_folder,
    "database_url": _parse_database_url,
    "store_content": _parse_choice(Content),
    "retention_days": _parse_days,
    "monitor_entries": _parse_entries,
    "metrics_runs": _parse_names,
    "chroma_url": lambda text: _parse_url(text) if text else None,
    "embedder": lambda text: text or None,
    "embedding_url": _parse_url,
    "embedding_key": lambda text: Secret(text) if text else None,
    "log_level": _parse_choice(LogLevel),
    "log_content": _parse_flag,
    "log_questions": _parse_choice(LogQuestions),
}

_SECRET = frozenset({"api_keys", "chroma_url", "database_url", "embedding_key", "embedding_url"})

# Names with a meaning elsewhere (the client, the file itself) or reserved for what is not built yet: no typing errors.
_LATER = frozenset(
    [
        "config",
        *judge_settings.VARIABLES,
        *judge_settings.TABLES,
        "url",
        "api_key",
        "gates",
        "limits",
    ]
)
_KUBERNETES = re.compile(
    r"BEFUND_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
_KUBERNETES_LINK = re.compile(r"(?:tcp|udp|sctp)://.*")


def _is_known(variable: str, value: str) -> bool:
    name = variable.removeprefix(PREFIX).lower()
    if name in _READERS or name in _LATER or _KUBERNETES.fullmatch(variable):
        return True
    return variable.endswith("_PORT") and _KUBERNETES_LINK.fullmatch(value) is not None


def _read(name: str, label: str, text: str) -> object:
    try:
        return _READERS[name](text.strip())
    except ValueError as error:
        value = "the value" if name in _SECRET else repr(text)
        raise SettingsError(f"{label}: {value} cannot be used; it should be {error}") from error


def _read_gates(tables: object) -> tuple[Gate, ...]:
    """The `[[gates]]` of the file."""
    try:
        gates = msgspec.convert(tables, tuple[Gate, ...])
        check_gates(gates)
    except (msgspec.ValidationError, BefundError) as error:
        said = error.detail if isinstance(error, BefundError) else error
        raise SettingsError(f"gates (in BEFUND_CONFIG): {said}") from error
    return gates


def _read_file(path: str) -> dict[str, Any]:
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        return {
            name: value if name in (*judge_settings.TABLES, "gates") else _as_text(value)
            for name, value in values.items()
        }
    except OSError as error:
        raise SettingsError(
            f"BEFUND_CONFIG: {path!r} cannot be read ({error.strerror}); it should be a TOML file"
        ) from error
    except ValueError as error:
        raise SettingsError(f"BEFUND_CONFIG: {path!r} is not TOML: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"BEFUND_CONFIG: {path!r} is nested too deeply; settings are plain values") from error


def _as_text(value: object) -> str:
    """Write a TOML value the way the variable of the same name would be written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(_as_text(item) for item in value)
    return str(value)
