"""Reads what a run already holds about some questions."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from befund.core.datasets import Placed
from befund.core.diagnosis.held import Held, held_of
from befund.core.errors import NotFoundError
from befund.ports import Store

PORTION = 500
"""Questions read at a time."""


async def held_by(store: Store, name: str, places: Sequence[Placed]) -> Mapping[str, Held]:
    """What the run of this name holds about these questions, by id; nothing where there is no such run (any more)."""
    wanted = sorted({place.position for place in places})
    held: dict[str, Held] = {}
    try:
        run = await store.run(name) if wanted else None
        while wanted and run is not None:
            records = await store.records(run, after=wanted[0] - 1, limit=min(PORTION, len(wanted)))
            for position, own in groupby(records, key=lambda record: record.position):
                if position in wanted:
                    parts = list(own)
                    held[parts[0].question_id] = held_of(parts, run.identity.config)
            last = records[-1].position if records else wanted[-1]
            wanted = [position for position in wanted if position > last]
    except NotFoundError:
        pass
    return held
