"""Reads which judges there are: one model from `BEFUND_JUDGE_*`, any number from the tables of the TOML file.

judge = "careful"                      # the default; else the model of BEFUND_JUDGE_MODEL, else rules

[judges.strict]
model = "gpt-4.1"
[judges.local]
model = "qwen2.5-7b-instruct"
url = "http://127.0.0.1:8000/v1"
[judges.panel]
jury = ["strict", "local", "rules"]
[judges.careful]
cascade = ["rules", "strict"]

[prices."gpt-4.1"]                     # US dollars for a million tokens
input = 2.0
output = 8.0
cached = 0.5
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from befund.core.configured import OPENAI_URL, RULES, Cascade, Judges, Jury, ModelJudge
from befund.core.usage import Price

VARIABLES = ("judge", "judge_model", "judge_url", "judge_key", "judge_concurrency", "judge_deadline_seconds")
TABLES = ("judges", "prices")
FROM_ENVIRONMENT = "openai"
"""The name of the judge that `BEFUND_JUDGE_MODEL` configures."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
_OURS = frozenset(
    ["model", "messages", "input", "instructions", "text", "response_format", "stream", "n", "tools", "store"]
)

Label = str
Given = Mapping[str, tuple[Label, str]]


class _PriceTable(Struct, frozen=True, forbid_unknown_fields=True):
    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]
    cached: Annotated[float, Meta(ge=0)] | None = None

    def price(self) -> Price:
        return Price(self.input, self.output, self.cached)


class _JudgeTable(Struct, frozen=True, forbid_unknown_fields=True):
    model: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    url: str | None = None
    key: Annotated[str, Meta(min_length=1)] | None = None
    key_env: str | None = None
    headers: dict[str, str] = {}
    parameters: dict[str, Any] = {}
    price: _PriceTable | None = None
    concurrency: Annotated[int, Meta(ge=1, le=1000)] = 16
    deadline_seconds: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    jury: list[str] | None = None
    cascade: list[str] | None = None


def read_judges(given: Given, tables: Mapping[str, Any], environ: Mapping[str, str]) -> Judges:
    """Read the judges.

    Args:
        given: The settings of `VARIABLES` that were given, with where they stand.
        tables: The tables of the TOML file.
        environ: Where keys are named.

    Raises:
        ValueError: One of them cannot be used; the text begins with its name and shows no key.
    """
    prices = {model: table.price() for model, table in _tables(tables, "prices", _PriceTable).items()}
    found = _tables(tables, "judges", _JudgeTable)
    if "judge_model" in given:
        table = found.get(FROM_ENVIRONMENT, _JudgeTable())
        found[FROM_ENVIRONMENT] = _with_variables(table, given, ambient_key=environ.get("OPENAI_API_KEY"))
    else:
        for name in VARIABLES[2:]:
            if name in given:
                raise ValueError(f"{given[name][0]}: says something of a judge without a model; set BEFUND_JUDGE_MODEL")
    every = [_judge(name, table, prices=prices, environ=environ) for name, table in found.items()]
    _check_members(every)
    default = given["judge"][1].strip() if "judge" in given else ""
    if default and default not in {RULES, *(judge.name for judge in every)}:
        known = ", ".join([RULES, *(judge.name for judge in every)])
        raise ValueError(f"{given['judge'][0]}: {default!r} cannot be used; it should be one of {known}")
    return Judges(default or (FROM_ENVIRONMENT if "judge_model" in given else RULES), tuple(every))


def described(judges: Judges) -> dict[str, str]:
    """Every judge as text, by setting, without keys and headers."""
    return {"BEFUND_JUDGE": judges.default, **{f"judges.{judge.name}": repr(judge) for judge in judges.every}}


def _tables(tables: Mapping[str, Any], name: str, kind: type[Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.convert(tables.get(name, {}), dict[str, kind])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise ValueError(f"BEFUND_CONFIG, [{name}]: {error}") from error
    return found


def _with_variables(table: _JudgeTable, given: Given, *, ambient_key: str | None) -> _JudgeTable:
    values: dict[str, Any] = {"jury": None, "cascade": None}
    if table.key is None and table.key_env is None and ambient_key:
        values["key"] = ambient_key
    for name in ("model", "url", "key"):
        if f"judge_{name}" in given:
            label, text = given[f"judge_{name}"]
            if not text.strip():
                raise ValueError(f"{label}: is empty; leave it out or give it a value")
            values[name] = text.strip()
    if "judge_concurrency" in given:
        values["concurrency"] = _number(*given["judge_concurrency"], most=1000, whole=True)
    if "judge_deadline_seconds" in given:
        values["deadline_seconds"] = _number(*given["judge_deadline_seconds"], most=3600, whole=False)
    return msgspec.structs.replace(table, **values)


def _number(label: str, text: str, *, most: int, whole: bool) -> float:
    pattern = r"\d{1,4}" if whole else r"\d{1,4}(?:\.\d{1,6})?"
    if not re.fullmatch(pattern, text.strip()) or not 0 < float(text) <= most:
        kind = "a whole number from 1" if whole else "a number of seconds above 0, up"
        raise ValueError(f"{label}: {text!r} cannot be used; it should be {kind} to {most}")
    return int(text) if whole else float(text)


def _judge(
    name: str, table: _JudgeTable, *, prices: Mapping[str, Price], environ: Mapping[str, str]
) -> ModelJudge | Jury | Cascade:
    where = f"judges.{name}"
    if not _NAME.fullmatch(name) or name in (RULES, "default"):
        raise ValueError(f"{where}: cannot be a judge's name; letters, digits, '.', '_' and '-' can, but not {RULES}")
    if sum(part is not None for part in (table.model, table.jury, table.cascade)) != 1:
        raise ValueError(f"{where}: has exactly one of model, jury and cascade")
    if table.jury is not None:
        return Jury(name, tuple(table.jury))
    if table.cascade is not None:
        return Cascade(name, tuple(table.cascade))
    assert table.model is not None  # noqa: S101 - one of the three was checked above
    ours = sorted(_OURS & table.parameters.keys())
    if ours:
        raise ValueError(f"{where}.parameters: {', '.join(ours)} cannot be set; the judge sets it")
    for header, value in table.headers.items():
        if not re.fullmatch(r"[A-Za-z0-9-]{1,128}", header) or not re.fullmatch(r"[\x20-\x7e]*", value):
            raise ValueError(f"{where}.headers: {header!r} cannot be sent; names and values are plain ASCII")
    url = _url(where, table.url or OPENAI_URL)
    return ModelJudge(
        name=name,
        model=table.model,
        url=url,
        key=_key(where, table, url=url, environ=environ),
        headers=table.headers,
        parameters=table.parameters,
        price=table.price.price() if table.price else prices.get(table.model),
        concurrency=table.concurrency,
        deadline_seconds=table.deadline_seconds,
    )


def _url(where: str, text: str) -> str:
    url = text.strip().rstrip("/")
    if not re.fullmatch(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", url) or url.endswith(("/chat/completions", "/responses")):
        raise ValueError(
            f"{where}: its URL should be the http(s) address of the API, as {OPENAI_URL}, without a user, a query or "
            "the path of one of its methods"
        )
    return url


def _key(where: str, table: _JudgeTable, *, url: str, environ: Mapping[str, str]) -> str | None:
    """The key. Nobody's OpenAI key goes to another address, unless `BEFUND_JUDGE_URL` sends it there."""
    if table.key is not None:
        key: str | None = table.key
    elif table.key_env is not None:
        key = environ.get(table.key_env)
        if not key:
            raise ValueError(f"{where}.key_env: there is no variable {table.key_env!r}")
    elif url == OPENAI_URL:
        key = environ.get("OPENAI_API_KEY") or None
    else:
        key = None
    if key is None and url == OPENAI_URL:
        raise ValueError(f"{where}: OpenAI needs a key; set BEFUND_JUDGE_KEY, OPENAI_API_KEY, or its key_env")
    if key is not None and not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ValueError(f"{where}: its key holds spaces or characters that cannot be sent")
    return key


def _check_members(every: list[ModelJudge | Jury | Cascade]) -> None:
    """A jury asks single judges, a cascade may also ask juries; nobody asks itself."""
    single = {RULES, *(judge.name for judge in every if isinstance(judge, ModelJudge))}
    juries = {judge.name for judge in every if isinstance(judge, Jury)}
    for judge in every:
        if isinstance(judge, ModelJudge):
            continue
        known = single | juries if isinstance(judge, Cascade) else single
        if (
            len(judge.members) < 2
            or len(set(judge.members)) < len(judge.members)
            or not known.issuperset(judge.members)
        ):
            raise ValueError(
                f"judges.{judge.name}: names at least two different judges out of {', '.join(sorted(known))}"
            )
