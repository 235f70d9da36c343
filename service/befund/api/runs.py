"""Stored runs."""

from functools import partial
from typing import Annotated, Any
from urllib.parse import unquote

from litestar import Controller, Request, delete, get, put
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from befund.api.auth import needs
from befund.api.problems import problem_specs
from befund.api.schema import reads_unparsed
from befund.api.workers import Workers
from befund.contract import RunAnswer, RunImported, RunList, RunQuestion
from befund.core.bundle import read_bundle
from befund.core.errors import MalformedRequestError
from befund.core.names import read_name
from befund.usecases.runs import Runs

BUNDLE = "application/x-ndjson"

Cursor = Annotated[str | None, QueryParameter(max_length=64, description="`next` of the page before.")]


class RunController(Controller):
    """Runs by name: what was measured, question by question."""

    path = "/runs"

    @get(
        "/",
        opt=needs("read"),
        operation_id="list_runs",
        summary="Which runs are stored?",
        response_description="A page of runs, the last written first",
        responses=problem_specs(400, 503),
    )
    async def list_runs(
        self,
        runs: NamedDependency[Runs],
        limit: Annotated[int, QueryParameter(ge=1, le=500)] = 50,
        cursor: Cursor = None,
    ) -> RunList:
        """List runs, the last written first."""
        return await runs.every(limit=limit, cursor=cursor)

    @get(
        "/{name:str}",
        opt=needs("read"),
        operation_id="get_run",
        summary="A run in figures, and question by question",
        response_description="The summary of the whole run, then a page of its records",
        responses=problem_specs(400, 404, 503),
    )
    async def get_run(
        self,
        request: Request[Any, Any, Any],
        name: FromPath[str],
        runs: NamedDependency[Runs],
        workers: NamedDependency[Workers],
        limit: Annotated[int, QueryParameter(ge=0, le=1000)] = 100,
        cursor: Cursor = None,
    ) -> RunAnswer:
        """Summarise a run, and give its records in the order of the data set, by page; `limit=0` gives none."""
        compute = partial(workers.run, receive=request.receive)
        return await runs.get(name, limit=limit, cursor=cursor, compute=compute)

    @get(
        "/{name:str}/questions/{question:path}",
        opt=needs("read"),
        operation_id="get_run_question",
        summary="What a run holds about one question",
        response_description="The question, its ranking, judgment and diagnosis",
        responses=problem_specs(400, 404, 503),
    )
    async def get_question(
        self, request: Request[Any, Any, Any], name: FromPath[str], runs: NamedDependency[Runs]
    ) -> RunQuestion:
        """Give the question and all that was found for it. The id is percent-encoded: `a/b` is `a%2Fb`."""
        return await runs.question(name, _question_id(request.scope["raw_path"]))

    @delete(
        "/{name:str}",
        opt=needs("admin"),
        operation_id="delete_run",
        summary="Delete a run",
        response_description="The run and its records are gone",
        responses=problem_specs(400, 404, 503),
    )
    async def delete_run(self, name: FromPath[str], runs: NamedDependency[Runs]) -> None:
        """Delete a run with all of its records, and the data set versions that it alone needed."""
        await runs.delete(name)

    @delete(
        "/{name:str}/questions/{question:path}",
        opt=needs("admin"),
        operation_id="delete_run_question",
        summary="Delete one question from a run",
        response_description="What the run held about the question is gone",
        responses=problem_specs(400, 404, 503),
    )
    async def delete_question(
        self, request: Request[Any, Any, Any], name: FromPath[str], runs: NamedDependency[Runs]
    ) -> None:
        """Delete everything a run holds about one question. The id is percent-encoded: `a/b` is `a%2Fb`."""
        await runs.delete_question(name, _question_id(request.scope["raw_path"]))

    @get(
        "/{name:str}/bundle",
        opt=needs("read"),
        operation_id="export_run",
        summary="A run as one file",
        media_type=BUNDLE,
        response_description="The run with its data set, a JSON document a line",
        responses=problem_specs(400, 404, 503),
    )
    async def export_run(self, name: FromPath[str], runs: NamedDependency[Runs]) -> Stream:
        """Give a run as one file of lines, to be put into another service or kept."""
        lines = await runs.export(name)
        disposition = f'attachment; filename="{name}.befund.ndjson"'
        return Stream(lines, media_type=BUNDLE, headers={"Content-Disposition": disposition})

    @put(
        "/{name:str}/bundle",
        status_code=200,
        opt=needs("admin") | reads_unparsed(BUNDLE),
        operation_id="import_run",
        summary="Store a run that comes as one file",
        response_description="All of it is stored",
        responses={
            200: ResponseSpec(RunImported, generate_examples=False, description="All of it is stored"),
            **problem_specs(400, 408, 409, 413, 422, 503),
        },
    )
    async def import_run(
        self,
        request: Request[Any, Any, Any],
        name: FromPath[str],
        runs: NamedDependency[Runs],
        workers: NamedDependency[Workers],
        replace_run: FromQuery[bool] = False,
    ) -> RunImported:
        """Store the run of a bundle, which `GET /runs/{name}/bundle` gives, under any name.

        It is a write of all its records, as any other: what differs is a conflict.
        """
        read_name(name)
        body = await request.body()
        read = partial(read_bundle, body, content=runs.content)
        bundle = await workers.run(read, receive=request.receive)
        return await runs.put(name, bundle, replace=replace_run)


def _question_id(raw_path: bytes) -> str:
    """The last part of the path as it was sent: routing reads slashes that belong to the id."""
    encoded = raw_path.split(b"/questions/", 1)[1]
    try:
        return unquote(encoded.decode("ascii"), errors="strict")
    except UnicodeDecodeError as error:
        raise MalformedRequestError("The question id is not UTF-8", "Percent-encode it.") from error
