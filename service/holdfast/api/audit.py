"""Who did what to learners and keys."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query

from holdfast.api.learners import LIST_MAX, Admin, ByAdmin, ServiceDep
from holdfast.errors import Forbidden
from holdfast.store import audit
from holdfast.store.audit import NEWEST, Entry

router = APIRouter(prefix="/v1/audit", tags=["looking inside"])


@router.get("", operation_id="list_acts", dependencies=[Admin], summary="Who did what to learners and keys")
def page(
    by: ByAdmin,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=LIST_MAX)] = LIST_MAX,
    cursor: Annotated[int, Query(ge=1, le=NEWEST)] = NEWEST,
) -> dict[str, Any]:
    """The newest first: learners created, changed and deleted, states imported, keys created and revoked. `actor` is
    the name of the key (`command line` and `local` had none). A key for one learner may not read this.
    """
    if by.learner is not None:
        raise Forbidden("a key for one learner may not read what was done to others")
    with service.database.read() as connection:
        entries = audit.page(connection, cursor, limit)
    return {
        "items": [tell(entry) for entry in entries],
        "next_cursor": str(entries[-1].id) if len(entries) == limit else None,
    }


def tell(entry: Entry) -> dict[str, Any]:
    return entry._asdict() | {"at": entry.at / 1e6, "detail": json.loads(entry.detail)}
