"""The forms an endpoint takes are found out once, whatever it does with the others."""

import pytest
from msgspec.structs import replace

from befund.adapters.openai_judge.judge import OpenAIJudge
from befund.core.errors import JudgeUnavailableError, JudgeUnusableError
from befund.core.judging import scored

from .conftest import ITEM, Make
from .endpoint import FakeEndpoint, Step, changed, error, in_order, says, sends

pytestmark = pytest.mark.anyio

NO_RESPONSES = error(404, "Not Found")
ALL = ["responses", "chat_schema", "json_with_exact_schema", "json_with_schema", "json", "plain"]


async def forms_asked(judge: OpenAIJudge, endpoint: FakeEndpoint) -> list[str]:
    """Judge two answers; give the forms asked for the second."""
    assert (await judge.judge(ITEM)).verdicts.correct == scored(True)
    endpoint.asked.clear()
    assert (await judge.judge(replace(ITEM, question="And now?"))).verdicts.correct == scored(True)
    return endpoint.forms


async def test_the_strictest_form_is_asked_first(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    assert await forms_asked(judge, endpoint) == ["responses"]


@pytest.mark.parametrize(
    "refusal",
    [
        NO_RESPONSES,
        error(405, "Method Not Allowed"),
        error(400, "Unsupported: text.format"),
        error(422, "Extra data"),
        error(501, "not implemented"),
        error(500, "panic: grammar"),
        sends(b"<html>Welcome</html>", media="text/html"),
        sends(b"{}"),
        sends(b""),
        sends(b'{"object": "chat.completion", "choices": []}'),
    ],
    ids=["404", "405", "400", "422", "501", "500", "page", "{}", "empty", "other protocol"],
)
@pytest.mark.parametrize("taken", ALL[1:])
async def test_an_endpoint_is_asked_in_the_strictest_form_it_takes(
    judge: OpenAIJudge, endpoint: FakeEndpoint, refusal: Step, taken: str
) -> None:
    endpoint.refuse = dict.fromkeys(ALL[: ALL.index(taken)], refusal)
    assert await forms_asked(judge, endpoint) == [taken]


async def test_the_form_of_llama_cpp_is_found(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.refuse = {"responses": NO_RESPONSES, "chat_schema": error(500, "json_schema"), "json": error(400, "no")}
    assert await forms_asked(judge, endpoint) == ["json_with_exact_schema"]


async def test_a_schema_that_is_taken_and_ignored_leads_to_a_plainer_form(
    judge: OpenAIJudge, endpoint: FakeEndpoint
) -> None:
    ignores = says("The answer is correct, since it says 72 hours.")
    endpoint.refuse = {"responses": ignores, "chat_schema": ignores, "json_with_exact_schema": ignores}
    assert await forms_asked(judge, endpoint) == ["json_with_schema"]


async def test_an_endpoint_that_writes_by_a_schema_gets_that_of_the_answer_at_hand(
    judge: OpenAIJudge, endpoint: FakeEndpoint
) -> None:
    endpoint.refuse = {"responses": NO_RESPONSES, "chat_schema": error(500, "json_schema")}
    await forms_asked(judge, endpoint)
    parts = endpoint.asked[0].body["response_format"]["schema"]["properties"]
    assert [part["properties"]["id"] for part in parts["facts"]["prefixItems"]] == [{"const": "F1"}]
    assert (parts["sentences"]["minItems"], parts["sentences"]["maxItems"]) == (1, 1)
    assert parts["references"] == {"const": []}


async def test_a_reply_of_the_right_form_with_wrong_content_keeps_the_form(
    judge: OpenAIJudge, endpoint: FakeEndpoint
) -> None:
    endpoint.usually = changed(lambda reply: reply["facts"].clear())
    with pytest.raises(JudgeUnusableError):
        await judge.judge(ITEM)
    assert endpoint.forms == ["responses"] * 3
    endpoint.usually = says()
    endpoint.then(error(500), error(500))
    await judge.judge(ITEM)
    assert endpoint.forms == ["responses"] * 6


async def test_a_form_that_worked_is_kept_when_the_endpoint_stumbles(
    judge: OpenAIJudge, endpoint: FakeEndpoint
) -> None:
    await judge.judge(ITEM)
    endpoint.asked.clear()
    endpoint.then(error(500), error(500), error(500), error(500))
    await judge.judge(replace(ITEM, question="And now?"))
    assert endpoint.forms == ["responses"] * 5


async def test_an_endpoint_that_is_down_at_first_is_not_remembered_as_plain(
    judge: OpenAIJudge, endpoint: FakeEndpoint
) -> None:
    endpoint.usually = error(500)
    with pytest.raises(JudgeUnavailableError):
        await judge.judge(ITEM)
    endpoint.usually = says()
    assert await forms_asked(judge, endpoint) == ["responses"]


async def test_a_model_that_does_not_exist_is_asked_for_once(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.usually = error(404, "The model `m-1` does not exist", code="model_not_found")
    with pytest.raises(JudgeUnusableError, match="404 \\(model_not_found\\)") as caught:
        await judge.judge(ITEM)
    assert caught.value.code == "judge-request-refused"
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_an_endpoint_that_takes_no_form_says_so(judge: OpenAIJudge, endpoint: FakeEndpoint, status: int) -> None:
    endpoint.usually = error(status, "I quote what you sent: 72 hours")
    with pytest.raises(JudgeUnusableError) as caught:
        await judge.judge(ITEM)
    assert caught.value.code == "judge-request-refused"
    assert "quote" not in caught.value.detail
    assert endpoint.forms == ALL


REFUSED_PARAMETERS = {
    "temperature": error(
        400,
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
        param="temperature",
        code="unsupported_value",
    ),
    "store": error(400, "Unknown parameter: 'store'."),
    "max_output_tokens": error(422, "max_output_tokens: Extra inputs are not permitted"),
    "reasoning_effort": error(400, "Unrecognized request argument supplied: reasoning_effort"),
}


@pytest.mark.parametrize("parameter", REFUSED_PARAMETERS)
async def test_a_parameter_that_is_refused_is_left_out_from_then_on(
    make: Make, endpoint: FakeEndpoint, parameter: str
) -> None:
    judge = make(parameters={"reasoning_effort": "low"})
    endpoint.then(REFUSED_PARAMETERS[parameter])
    assert await forms_asked(judge, endpoint) == ["responses"]
    assert parameter not in endpoint.asked[0].body
    assert len(REFUSED_PARAMETERS.keys() & endpoint.asked[0].body.keys()) == 3


async def test_room_is_named_as_older_endpoints_name_it_where_they_ask_for_that(
    judge: OpenAIJudge, endpoint: FakeEndpoint
) -> None:
    message = "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead."
    endpoint.refuse = {"responses": NO_RESPONSES}
    endpoint.then(error(400, message, param="max_completion_tokens"))
    assert await forms_asked(judge, endpoint) == ["chat_schema"]
    assert "max_completion_tokens" not in endpoint.asked[0].body
    assert endpoint.asked[0].body["max_tokens"] == 1900


@pytest.mark.parametrize("form", ["json_with_exact_schema", "json_with_schema"])
async def test_room_is_named_as_the_servers_with_forms_of_their_own_know_it(
    judge: OpenAIJudge, endpoint: FakeEndpoint, form: str
) -> None:
    endpoint.refuse = dict.fromkeys(ALL[: ALL.index(form)], NO_RESPONSES)
    assert await forms_asked(judge, endpoint) == [form]
    assert "max_completion_tokens" not in endpoint.asked[0].body
    assert endpoint.asked[0].body["max_tokens"] > 1000


async def test_room_is_left_out_where_it_is_refused_under_both_names(
    judge: OpenAIJudge, endpoint: FakeEndpoint
) -> None:
    endpoint.refuse = {"responses": NO_RESPONSES}
    endpoint.then(error(400, "unknown field max_completion_tokens"), error(400, "unknown field max_tokens"))
    assert await forms_asked(judge, endpoint) == ["chat_schema"]
    assert not {"max_tokens", "max_completion_tokens"} & endpoint.asked[0].body.keys()


async def test_several_refused_parameters_are_all_left_out(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    endpoint.refuse = {"responses": in_order(*list(REFUSED_PARAMETERS.values())[:3], says())}
    assert await forms_asked(judge, endpoint) == ["responses"]
    assert not REFUSED_PARAMETERS.keys() & endpoint.asked[0].body.keys()


async def test_samples_after_the_first_vary(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    for sample in range(3):
        await judge.judge(ITEM, sample=sample)
    assert [asked.body["temperature"] for asked in endpoint.asked] == [0.0, 0.7, 0.7]


async def test_configured_parameters_and_headers_are_sent(make: Make, endpoint: FakeEndpoint) -> None:
    judge = make(parameters={"temperature": 0.2, "reasoning": {"effort": "low"}}, headers={"X-Team": "search"})
    await judge.judge(ITEM, sample=1)
    (asked,) = endpoint.asked
    assert (asked.body["temperature"], asked.body["reasoning"]) == (0.2, {"effort": "low"})
    assert (asked.headers["x-team"], asked.headers["authorization"]) == ("search", "Bearer k")


async def test_nothing_asks_the_endpoint_to_keep_what_it_was_sent(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    await judge.judge(ITEM)
    assert endpoint.asked[0].body["store"] is False


async def test_the_ids_of_chunks_stay_here(judge: OpenAIJudge, endpoint: FakeEndpoint) -> None:
    judged = await judge.judge(ITEM)
    assert "D003-chunk-1" not in str(endpoint.asked[0].body)
    assert judged.observation.claims[0].chunk_id == "D003-chunk-1"
