"""GET /collections, GET and DELETE /collections/{name}: what the index holds."""

from litestar import Controller, delete, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from befund.api.auth import needs
from befund.api.problems import problem_specs
from befund.contract import CollectionInfo, CollectionList
from befund.ports import Collection
from befund.usecases.search import SearchParts


class CollectionsController(Controller):
    """Collections of chunks."""

    path = "/collections"

    @get(
        opt=needs("read"),
        operation_id="collections",
        summary="List the collections",
        response_description="Every collection, by name",
        responses=problem_specs(503),
    )
    async def every(self, parts: NamedDependency[SearchParts]) -> CollectionList:
        """Describe every collection of the index."""
        return CollectionList(collections=[_described(each) for each in await parts.index.collections()])

    @get(
        "/{name:str}",
        opt=needs("read"),
        operation_id="collection",
        summary="Describe a collection",
        response_description="The collection",
        responses=problem_specs(404, 503),
    )
    async def one(self, name: FromPath[str], parts: NamedDependency[SearchParts]) -> CollectionInfo:
        """Say what a collection holds and how it was made."""
        return _described(await parts.index.collection(name))

    @delete(
        "/{name:str}",
        opt=needs("admin"),
        operation_id="delete_collection",
        summary="Delete a collection",
        response_description="It is gone",
        responses=problem_specs(404, 503),
    )
    async def drop(self, name: FromPath[str], parts: NamedDependency[SearchParts]) -> None:
        """Delete a collection with all of its chunks, a damaged one too."""
        await parts.index.drop(name)


def _described(collection: Collection) -> CollectionInfo:
    return CollectionInfo(
        name=collection.name,
        chunks=collection.count,
        embedder=collection.embedder.name if collection.embedder else None,
        dimension=collection.dimension,
        space=collection.space,
        chunking=collection.chunking,
        corpus=collection.corpus,
        uses_roles=collection.uses_roles,
        damaged=collection.damaged,
    )
