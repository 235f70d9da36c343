"""How JSON comes in and goes out: media types, decoding, and bodies that stay bytes.

Litestar would decode a body to dictionaries before it converts them; `Json` goes from bytes to the Struct in one step,
or hands the bytes over untouched where the use case decodes them itself (`Encoded`).
"""

import re
from typing import Any, Generic, TypeVar, get_args, get_origin

import msgspec
from litestar import Request
from litestar.dto import AbstractDTO, DTOConfig
from litestar.typing import FieldDefinition
from msgspec import Struct

from befund.api.problems import Refusal
from befund.core.decoding import decode
from befund.core.repeated import refuse_repeated_fields

T = TypeVar("T")

MIB = 1024 * 1024
SMALL_BODY_BYTES = 2 * MIB
"""Limit of the routes that take one item at a time."""

JSON_OF = "json_of"
ALSO_READS = "also_reads"
"""Keys in a route's `opt`: the type of the JSON it reads itself, and a media type beside it."""

ALSO_WRITES = "also_writes"
"""Key in a route's `opt`: a media type beside JSON that it answers in, where `Accept` prefers it."""

_JSON = re.compile(r"application/(?:[\w.!#$&^+-]+\+)?json", re.IGNORECASE)


def reads_itself(kind: type[Struct], also: str) -> dict[str, object]:
    """Mark a route (in its `opt`) as one that reads its body itself: JSON of this type, or another media type."""
    return {JSON_OF: kind, ALSO_READS: also}


class Encoded(Struct, Generic[T], frozen=True):
    """The JSON of a T, not decoded here (a request), or encoded already (an answer)."""

    json: bytes


class Json(AbstractDTO[Any]):
    """The one DTO: `data: JSONBody[T]` is decoded by msgspec, `data: JSONBody[Encoded[T]]` stays bytes.

    An answer of type `Encoded[T]` is sent as it is. In the OpenAPI document both forms are T.
    """

    config = DTOConfig()

    @classmethod
    def is_supported_model_type_field(cls, field_definition: FieldDefinition) -> bool:
        """Take over answers that are encoded already; the others Litestar encodes."""
        return get_origin(field_definition.annotation) is Encoded

    @classmethod
    def create_for_field_definition(cls, *args: Any, **kwargs: Any) -> None:
        """Build nothing: there is no transfer model, msgspec reads the type itself."""

    @classmethod
    def create_openapi_schema(cls, field_definition: FieldDefinition, handler_id: str, schema_creator: Any) -> Any:
        """Describe T, whether or not it travels as bytes."""
        return schema_creator.for_field_definition(FieldDefinition.from_annotation(_wire_type(field_definition)))

    def decode_bytes(self, value: bytes) -> Any:
        """Decode the body, or hand it over."""
        field_definition = self.asgi_connection.route_handler.parsed_data_field
        if get_origin(field_definition.annotation) is Encoded:
            return Encoded(value)
        data = decode(value, msgspec.json.Decoder(field_definition.annotation))
        refuse_repeated_fields(value, field_definition.annotation)
        return data

    def data_to_encodable_type(self, data: Any) -> bytes:
        """Unwrap an answer."""
        answer: Encoded[Any] = data
        return answer.json


def refuse_other_media_types(request: Request[Any, Any, Any]) -> None:
    """Refuse, before it is read, a body that is not plain UTF-8 JSON. One without a media type is taken for JSON."""
    if request.route_handler.parsed_data_field is None and JSON_OF not in request.route_handler.opt:
        return
    media_type, parameters = request.content_type
    also = request.route_handler.opt.get(ALSO_READS)
    codings = ",".join(request.headers.getall("content-encoding", []))
    if media_type and not _JSON.fullmatch(media_type) and media_type.lower() != also:
        reads = "application/json" if also is None else f"application/json and {also}"
        raise Refusal(415, f"The body is {media_type[:100]!r}; this path reads {reads}.")
    if parameters.get("charset", "utf-8").strip('"').lower() not in {"utf-8", "utf8"}:
        raise Refusal(415, "The body is not in UTF-8, the only charset of JSON. Send it in UTF-8.")
    if {coding.strip().lower() for coding in codings.split(",")} - {"", "identity"}:
        raise Refusal(415, "The body is compressed, which is not read here. Send it without Content-Encoding.")


def _wire_type(field_definition: FieldDefinition) -> Any:
    annotation = field_definition.annotation
    return get_args(annotation)[0] if get_origin(annotation) is Encoded else annotation
