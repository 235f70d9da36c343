"""Which of several forms of an answer a caller asks for (RFC 9110, 12.5.1)."""

import re
from collections.abc import Sequence

from litestar.datastructures import Headers
from msgspec import Struct

_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")
_ANY = "*/*"


class _Range(Struct, frozen=True):
    """One range of an `Accept` header: its type, how much it is wanted (0: not at all), its place."""

    type: str
    quality: float
    place: int


def form_asked_for(headers: Headers, forms: Sequence[str]) -> str:
    """The form that `Accept` prefers; the first where it asks for none of them.

    A form is wanted as much as the range says that names it most exactly, and q=0 says not at all. Among forms wanted
    alike the one named exactly comes first, then the one named earlier, then the one that stands earlier in `forms`.
    """
    ranges = _ranges(",".join(headers.getall("accept", [])))
    best, best_rank = forms[0], (0.0, 0, 0)
    for form in forms:
        matching = [each for each in ranges if _exactness(each.type, form)]
        if not matching:
            continue
        said = max(matching, key=lambda each: (_exactness(each.type, form), -each.place))
        rank = (said.quality, _exactness(said.type, form), -said.place)
        if said.quality and rank > best_rank:
            best, best_rank = form, rank
    return best


def _ranges(accept: str) -> list[_Range]:
    found = []
    for place, part in enumerate(accept.split(",")):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = next((each.partition("=")[2].strip() for each in parameters if each.startswith("q=")), "1")
        if _QUALITY.fullmatch(quality):  # a range that cannot be read asks for nothing
            found.append(_Range(kind, float(quality), place))
    return found


def _exactness(asked: str, form: str) -> int:
    """How exactly a range names a form: 0 where it does not."""
    kind = form.partition("/")[0]
    return {form: 3, f"{kind}/*": 2, _ANY: 1}.get(asked, 0)
