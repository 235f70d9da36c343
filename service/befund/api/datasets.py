"""Stored data sets."""

from functools import partial
from typing import Any

from litestar import Controller, Request, Response, delete, get, put
from litestar.di import NamedDependency
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, JSONBody

from befund.api.auth import needs
from befund.api.body import Encoded
from befund.api.problems import problem_specs
from befund.api.workers import Workers
from befund.contract import Dataset, DatasetDeleted, DatasetList, DatasetPut
from befund.core.datasets import encoded_dataset
from befund.core.names import read_name
from befund.usecases.datasets import Datasets


class DatasetController(Controller):
    """Data sets by name. Each content is a version; a name stands for the one put last, `name@HASH` for a fixed one."""

    path = "/datasets"

    @get(
        "/",
        opt=needs("read"),
        operation_id="list_datasets",
        summary="Which data sets are stored?",
        response_description="Every data set with its versions",
        responses=problem_specs(503),
    )
    async def list_datasets(self, datasets: NamedDependency[Datasets]) -> DatasetList:
        """List the stored data sets by name, each with its versions, the one the name stands for first."""
        return await datasets.every()

    @put(
        "/{name:str}",
        status_code=200,
        opt=needs("admin"),
        operation_id="put_dataset",
        summary="Store a data set",
        response_description="This content was stored under this name already; the name stands for it now",
        responses={
            201: ResponseSpec(DatasetPut, generate_examples=False, description="A new version was stored"),
            **problem_specs(400, 408, 413, 415, 422, 503),
        },
    )
    async def put_dataset(
        self,
        request: Request[Any, Any, Any],
        name: FromPath[str],
        data: JSONBody[Encoded[Dataset]],
        datasets: NamedDependency[Datasets],
        workers: NamedDependency[Workers],
    ) -> Response[DatasetPut]:
        """Check a data set as an evaluation would and store it; the same content again makes no new version."""
        read_name(name)
        body = data.json
        edition = await workers.run(partial(datasets.read, body), receive=request.receive)
        written = await datasets.put(name, edition)
        return Response(written, status_code=201 if written.created else 200)

    @get(
        "/{name:str}",
        opt=needs("read"),
        operation_id="get_dataset",
        summary="A stored data set",
        responses={
            200: ResponseSpec(Dataset, generate_examples=False, description="The data set; its ETag is the version"),
            **problem_specs(400, 404, 503),
        },
    )
    async def get_dataset(self, name: FromPath[str], datasets: NamedDependency[Datasets]) -> Response[bytes]:
        """Give the newest version of `name`, or the fixed one of `name@HASH`, as it was put."""
        edition = await datasets.get(name)
        return Response(
            b"".join(encoded_dataset(edition)),
            media_type="application/json",
            headers={"ETag": f'"{edition.version.hash}"'},
        )

    @delete(
        "/{name:str}",
        status_code=200,
        opt=needs("admin"),
        operation_id="delete_dataset",
        summary="Delete a data set, or one version of it",
        response_description="What was deleted, and what stays for the runs that need it",
        responses=problem_specs(400, 404, 503),
    )
    async def delete_dataset(self, name: FromPath[str], datasets: NamedDependency[Datasets]) -> DatasetDeleted:
        """Delete every version of `name`, or the one of `name@HASH`.

        A version that a run was measured on stays, without its name, until that run is deleted.
        """
        return await datasets.delete(name)
