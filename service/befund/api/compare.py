"""POST /compare."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from litestar import Controller, Request, Response, post
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import JSONBody
from msgspec import Struct

from befund.api.accept import form_asked_for
from befund.api.auth import needs
from befund.api.body import ALSO_WRITES, Encoded
from befund.api.exchange import Exchange
from befund.api.problems import problem_specs
from befund.api.workers import Workers, unless_caller_goes
from befund.contract import CompareRequest, CompareResponse
from befund.reports import comparison_junit, comparison_markdown, page
from befund.reports.comparison import comparison_page
from befund.telemetry import Telemetry
from befund.usecases.compare import Comparing

JSON = "application/json"
FORMS: Mapping[str, Callable[[CompareResponse], bytes]] = {
    JSON: msgspec.json.encode,
    comparison_markdown.MEDIA_TYPE: comparison_markdown.comparison_markdown,
    comparison_junit.MEDIA_TYPE: comparison_junit.comparison_junit,
    page.MEDIA_TYPE: comparison_page,
}
"""What a comparison can be given as; JSON where the caller does not say."""


class Comparison(Struct, frozen=True):
    """A comparison on its way: off the event loop, reported, and written in the form asked for."""

    comparing: Comparing
    workers: Workers
    telemetry: Telemetry

    async def of(self, body: bytes, request: Request[Any, Any, Any]) -> Response[bytes]:
        """Compare, and write the answer."""
        in_thread = partial(self.workers.run, receive=request.receive)
        began = self.telemetry.clock()
        attend = partial(unless_caller_goes, receive=request.receive)
        answer = await self.comparing.compare(body, in_thread=in_thread, attend=attend)
        form = form_asked_for(request.headers, list(FORMS))
        written = await in_thread(partial(FORMS[form], answer))
        about = {**Exchange.of(request.scope).log_fields(), "endpoint": "/compare"}
        self.telemetry.compared(answer, request=about, latency_ms=(self.telemetry.clock() - began) * 1000)
        headers = {"Content-Security-Policy": page.CONTENT_SECURITY_POLICY} if form == page.MEDIA_TYPE else {}
        return Response(written, media_type=form, headers={**headers, "Vary": "Accept"})


class CompareController(Controller):
    """Comparisons of two measurements."""

    @post(
        "/compare",
        status_code=200,
        opt=needs("evaluate") | {ALSO_WRITES: tuple(form for form in FORMS if form != JSON)},
        operation_id="compare",
        summary="Is the candidate as good as the baseline?",
        responses={
            200: ResponseSpec(
                CompareResponse,
                generate_examples=False,
                description="The verdict of the gates, and every metric question by question",
            ),
            **problem_specs(400, 404, 408, 409, 413, 415, 422, 503),
        },
    )
    async def compare(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[Encoded[CompareRequest]],
        comparison: NamedDependency[Comparison],
    ) -> Response[bytes]:
        """Compare two stored runs, or rankings sent along, question by question, and decide by gates.

        The same comparison comes as a comment on a pull request (`Accept: text/markdown`), as JUnit XML with a test
        case a gate (`application/xml`), or as a page with plots, one file that needs nothing else (`text/html`).
        """
        return await comparison.of(data.json, request)
