"""POST /judge/calibration."""

import asyncio
from typing import Any

import msgspec
from litestar import Controller, Request, Response, post
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import JSONBody

from befund.api.accept import form_asked_for
from befund.api.auth import needs
from befund.api.body import ALSO_WRITES
from befund.api.judge import JudgeEvaluation
from befund.api.problems import problem_specs
from befund.contract import CalibrationRequest, CalibrationResponse
from befund.reports import page
from befund.reports.calibration import calibration_page

JSON = "application/json"


class CalibrationController(Controller):
    """How judges agree with people."""

    @post(
        "/judge/calibration",
        status_code=200,
        opt=needs("admin") | {ALSO_WRITES: (page.MEDIA_TYPE,)},
        operation_id="calibrate",
        summary="How far does a judge agree with people?",
        responses={
            200: ResponseSpec(
                CalibrationResponse,
                generate_examples=False,
                description="Agreement by dimension, and the answers that got no judgment",
            ),
            **problem_specs(400, 404, 408, 413, 415, 422, 503),
        },
    )
    async def calibrate(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[CalibrationRequest],
        judgment: NamedDependency[JudgeEvaluation],
    ) -> Response[bytes]:
        """Judge answers on which people have a verdict, and compare.

        The newest calibration of a judge is told with every verdict of it from then on, until anything changes that can
        change a verdict. With `Accept: text/html` the answer is a page with plots, one file that needs nothing else.
        """
        found = await judgment.of_calibration(data, request)
        if form_asked_for(request.headers, [JSON, page.MEDIA_TYPE]) == JSON:
            return Response(msgspec.json.encode(found), media_type=JSON)
        # Drawing takes most of a second, which other callers should not wait for.
        written = await asyncio.to_thread(calibration_page, found)
        headers = {"Content-Security-Policy": page.CONTENT_SECURITY_POLICY}
        return Response(written, media_type=page.MEDIA_TYPE, headers=headers)
